package wordpiece_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mallardmem/mallard/embed/wordpiece"
)

func TestWords(t *testing.T) {
	tokenizer := bert(t, wordpiece.Options{})
	var e wordpiece.Encoding
	tokenizer.Encode(&e, "Zoë's unaffordability [SEP]\xff!", 0)
	var words, pieces []string
	for i, id := range e.IDs {
		word := ""
		if e.Words[i] >= 0 {
			word = string(e.Word(e.Words[i]))
		}
		words = append(words, word)
		pieces = append(pieces, tokenizer.Vocab()[id])
	}
	wantPieces := []string{"[CLS]", "zoe", "'", "s", "una", "##ff", "##ord", "##ability", "[SEP]", "!", "[SEP]"}
	if diff := cmp.Diff(wantPieces, pieces); diff != "" {
		t.Errorf("pieces (-want +got):\n%s", diff)
	}
	long := "unaffordability"
	wantWords := []string{"", "zoe", "'", "s", long, long, long, long, "[SEP]", "!", ""}
	if diff := cmp.Diff(wantWords, words); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
	if e.WordCount() != 6 {
		t.Errorf("WordCount is %d: want 6", e.WordCount())
	}
}

func TestTerm(t *testing.T) {
	tokenizer := bert(t, wordpiece.Options{KeepCase: true, KeepAccents: true})
	var e wordpiece.Encoding
	tokenizer.Tokenize(&e, "Zoë's €20= ?! ÀB [SEP]", 0)
	var terms []string
	for i := range e.WordCount() {
		terms = append(terms, string(e.Term(int32(i))))
	}
	want := []string{"zoe", "", "s", "20", "", "", "", "ab", "sep"}
	if diff := cmp.Diff(want, terms); diff != "" {
		t.Errorf("terms (-want +got):\n%s", diff)
	}
}

func TestLimit(t *testing.T) {
	tokenizer := bert(t, wordpiece.Options{})
	for _, test := range []struct{ limit, want int }{{0, 12}, {12, 12}, {11, 11}, {3, 3}, {2, 2}, {1, 2}, {-1, 12}} {
		var e wordpiece.Encoding
		tokenizer.Encode(&e, "one two three unaffordability four five six", test.limit)
		if len(e.IDs) != test.want || e.IDs[len(e.IDs)-1] != tokenizer.End() {
			t.Errorf("limit %d: ids %v: want %d, the last %d", test.limit, e.IDs, test.want, tokenizer.End())
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		vocab   []string
		options wordpiece.Options
		want    string
	}{
		"empty":    {nil, wordpiece.Options{}, `no "[UNK]"`},
		"no end":   {[]string{"[UNK]", "[CLS]"}, wordpiece.Options{}, `no "[SEP]"`},
		"twice":    {[]string{"[UNK]", "[CLS]", "[SEP]", "a", "a"}, wordpiece.Options{}, `"a" stands twice`},
		"special":  {[]string{"[UNK]", "[CLS]", "[SEP]"}, wordpiece.Options{Specials: []string{"<x>"}}, `no special token "<x>"`},
		"max word": {[]string{"[UNK]", "[CLS]", "[SEP]"}, wordpiece.Options{MaxWord: -1}, `MaxWord is -1`},
	} {
		_, err := wordpiece.New(test.vocab, test.options)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v: want %q", name, err, test.want)
		}
	}
}

func FuzzEncode(f *testing.F) {
	for _, seed := range []string{"", "Hello, World!", "[CLS][SEP", "naïve\u0301 中文 한국", "\xff\xfe\x00", strings.Repeat("x", 200)} {
		f.Add(seed, 7)
	}
	tokenizer := bert(f, wordpiece.Options{})
	f.Fuzz(func(t *testing.T, text string, limit int) {
		var all, cut wordpiece.Encoding
		tokenizer.Tokenize(&all, text, 0)
		if limit%100 <= 0 {
			return
		}
		limit %= 100
		tokenizer.Tokenize(&cut, text, limit)
		want := all.IDs[:min(limit, len(all.IDs))]
		if diff := cmp.Diff(append([]int32{}, want...), append([]int32{}, cut.IDs...)); diff != "" {
			t.Fatalf("limit %d isn't a prefix of all (-want +got):\n%s", limit, diff)
		}
		for i, w := range cut.Words {
			if got, want := string(cut.Word(w)), string(all.Word(all.Words[i])); got != want {
				t.Fatalf("token %d is of word %q with a limit, %q without", i, got, want)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	tokenizer := bert(b, wordpiece.Options{})
	for name, text := range map[string]string{
		"english": "Yesterday Caroline told me that she'd finally adopted two rescue puppies from the shelter near her grandmother's farmhouse.",
		"mixed":   "Ça coûte 25 €: 東京 to Zürich via https://example.org/a_b?x=1, unbelievable! Привет 👋 naïve café",
	} {
		b.Run(name, func(b *testing.B) {
			var e wordpiece.Encoding
			b.ReportAllocs()
			for b.Loop() {
				tokenizer.Encode(&e, text, 256)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "texts/s")
			b.ReportMetric(float64(len(e.IDs)), "tokens/text")
		})
	}
}

// TestChanceOfAModelThatNobodyMeasured: its cosines may be anything.
func TestChanceOfAModelThatNobodyMeasured(t *testing.T) {
	tokenizer := bert(t, wordpiece.Options{})
	for model, want := range map[string]float64{"all-MiniLM-L6-v2": 0.2, "e5-small": 0} {
		if got := tokenizer.Chance(model, []string{"crane"}); got != want {
			t.Errorf("%s: %v, want %v", model, got, want)
		}
	}
}
