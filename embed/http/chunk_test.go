package remote

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestChunking: the parameters of models with little and much room, for Latin and CJK text.
func TestChunking(t *testing.T) {
	for _, c := range []struct {
		limit int
		cjk   bool
		want  chunking
	}{
		{8192, false, chunking{5734, 409, 819}},
		{512, true, chunking{200, 10, 100}},
		{512, false, chunking{358, 25, 100}},
		{8192, true, chunking{2293, 163, 327}},
		{100, false, chunking{200, 5, 100}},
	} {
		if got := chunkingFor(c.limit, c.cjk); got != c.want {
			t.Errorf("limit %d, CJK %t: %+v, want %+v", c.limit, c.cjk, got, c.want)
		}
	}
}

func TestChunks(t *testing.T) {
	lengths := func(pieces []string) (all []int) {
		for _, p := range pieces {
			all = append(all, utf8.RuneCountInString(p))
		}
		return all
	}
	sentence := strings.Repeat("word ", 39) + "end. " // 200 characters
	line := strings.Repeat("word ", 19) + "word\n"
	for name, c := range map[string]struct {
		text  string
		limit int
		want  []int
	}{
		"2000 Latin letters":            {strings.Repeat("x", 2000), 512, []int{358, 358, 358, 358, 358, 335}},
		"behind sentences":              {strings.Repeat(sentence, 3), 512, []int{199, 224, 224}},
		"behind lines, without a dot":   {strings.Repeat(line, 5), 512, []int{299, 224}},
		"behind words":                  {strings.Repeat("word ", 100), 512, []int{354, 169}},
		"a dot within a number":         {strings.Repeat("x", 150) + "3.5" + strings.Repeat("x", 300), 512, []int{358, 120}},
		"a dot that comes too early":    {strings.Repeat("x", 50) + ". " + strings.Repeat("x", 350), 512, []int{358, 69}},
		"what fits":                     {"one. two.", 512, []int{9}},
		"Chinese":                       {strings.Repeat("今天天气很好。", 50), 512, []int{196, 164}},
		"Chinese without ends":          {strings.Repeat("字", 500), 512, []int{200, 200, 120}},
		"a little Chinese among Latin":  {strings.Repeat("字xxx", 100), 512, []int{358, 67}},
		"60 lines that fit":             {strings.Repeat("aaaa\n", 60), 512, []int{299}},
		"50 lines of what is too long":  {strings.Repeat("aaaa\n", 90), 512, []int{249, 224}},
		"white space alone has nothing": {strings.Repeat(" ", 900), 512, nil},
	} {
		if diff := cmp.Diff(c.want, lengths(chunks(c.text, c.limit, mostPieces))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if pieces := chunks(strings.Repeat("x", 5_000_000), 512, mostPieces); len(pieces) != mostPieces {
		t.Errorf("%d pieces of a very long text, want %d", len(pieces), mostPieces)
	}
}

// TestChunksCover: no piece is longer than it may be, each goes on where the one before was, and together they have the whole text.
func TestChunksCover(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("One sentence. And a question? ", 200), strings.Repeat("a\n", 3000), strings.Repeat("文字が続く、まだ続く。", 300), strings.Repeat("x", 4000),
		strings.Repeat(strings.Repeat("y", 97)+"\n\n", 40),
	} {
		for _, limit := range []int{100, 512, 1500} {
			rule := chunkingFor(limit, manyCJK([]rune(text)))
			pieces := chunks(text, limit, 1000)
			at := 0
			for i, p := range pieces {
				if n := utf8.RuneCountInString(p); n > rule.max {
					t.Fatalf("piece %d has %d characters, at most %d are allowed", i, n, rule.max)
				}
				from := strings.Index(text[max(0, at-4*rule.overlap-8):], p)
				if from < 0 {
					t.Fatalf("piece %d is not where it should be: %q", i, p)
				}
				at = max(0, at-4*rule.overlap-8) + from + len(p)
			}
			if first, last := pieces[0], pieces[len(pieces)-1]; !strings.HasPrefix(text, first) || !strings.HasSuffix(strings.TrimSpace(text), last) {
				t.Errorf("pieces of %q… don't reach from its beginning to its end", text[:10])
			}
		}
	}
}

// TestDivide: what is cut to almost itself is halved, and there is an end to it.
func TestDivide(t *testing.T) {
	c := &Client{config: Config{MaxChars: 8192}}
	for _, test := range []struct {
		length, depth int
		want          string
	}{
		{6000, 0, "[5734 675]"}, {5000, 0, "[2500]"}, {5000, 2, "[2500]"}, {5000, 3, "[]"}, {200, 0, "[100]"}, {199, 0, "[]"}, {50, 0, "[]"},
	} {
		lengths := []int{}
		for _, p := range c.divide(strings.Repeat("x", test.length), test.depth) {
			lengths = append(lengths, len(p))
		}
		if got := fmt.Sprint(lengths); got != test.want {
			t.Errorf("%d characters, cut %d times: %s, want %s", test.length, test.depth, got, test.want)
		}
	}
}
