package extract_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/enginetest/golden"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/extract"
	"github.com/mallardmem/mallard/engine/text/internal/texttest"
)

// TestExtractGolden holds summaries of each conversation of testdata, small and large, to a golden file. In a conversation, a
// line of "=== " and a label comes before each passage.
func TestExtractGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			language, estimator := "", text.Estimator{}
			switch name {
			case "vertrag":
				language = "german"
			case "chinese":
				language = "none"
				if estimator, err = text.NewEstimator("weighted"); err != nil {
					t.Fatal(err)
				}
			}
			a := analyzer(t, language)
			in := extract.Input{Passages: readPassages(t, file), Tokens: estimator.Tokens}
			size := 0
			for _, p := range in.Passages {
				size += in.Tokens(p.Text)
			}
			var b strings.Builder
			for _, target := range []int{12, size / 8, size / 4, size / 2, size} {
				in.Target = target
				summary := extract.Summary(a, in)
				fmt.Fprintf(&b, "=== %d of %d tokens, at most %d\n%s\n\n", in.Tokens(summary), size, target, summary)
				if again := extract.Summary(a, in); again != summary {
					t.Errorf("target %d: another time it is %q", target, again)
				}
			}
			golden.Check(t, strings.TrimSuffix(file, ".txt")+".golden", b.String())
		})
	}
}

func TestExtractShrinks(t *testing.T) {
	a := analyzer(t, "")
	for _, file := range []string{"kitchen", "migration", "summaries", "chinese"} {
		passages := readPassages(t, "testdata/"+file+".txt")
		for _, name := range text.Estimators() {
			e, err := text.NewEstimator(name)
			if err != nil {
				t.Fatal(err)
			}
			for target := -1; target < 1200; target += 1 + target/20 {
				for n := range 3 {
					checkExtract(t, a, extract.Input{Passages: passages[:n*len(passages)/2], Target: target, Tokens: e.Tokens})
				}
			}
		}
	}
}

// checkExtract holds a summary to what is promised of every one.
func checkExtract(t *testing.T, a *text.Analyzer, in extract.Input) string {
	t.Helper()
	total := 0
	for _, p := range in.Passages {
		total += in.Tokens(p.Text)
	}
	got := extract.Summary(a, in)
	if n := in.Tokens(got); n > max(0, min(in.Target, total-1)) {
		t.Errorf("target %d, source %d: %d tokens: %q", in.Target, total, n, got)
	}
	if !utf8.ValidString(got) || strings.ContainsRune(got, 0) || strings.TrimSpace(got) != got {
		t.Errorf("target %d: %q", in.Target, got)
	}
	return got
}

func TestExtract(t *testing.T) {
	const said = "The release of Heron 4 is planned for 12 May. Oh well."
	at := func(clock, who string) string { return "[2026-01-02 " + clock + " UTC] " + who }
	tests := []struct {
		name   string
		in     []extract.Passage
		target int
		want   string
	}{
		{"nothing", nil, 100, ""},
		{"blank", []extract.Passage{{"a", " \n "}}, 100, ""},
		{"no room", []extract.Passage{{"a", said}}, 0, ""},
		{"too small to shrink", []extract.Passage{{"a", "Yes."}}, 100, ""},
		{"no words", []extract.Passage{{"a", "!!! ... ??? --- !!! ..."}}, 100, ""},
		{"no label", []extract.Passage{{"", said}}, 100, "The release of Heron 4 is planned for 12 May."},
		{"label", []extract.Passage{{"Ann", said}}, 100, "Ann: The release of Heron 4 is planned for 12 May."},
		{"bar", []extract.Passage{{"[now] | Ann", said + " Oh well, well."}}, 16, "[now] Ann: The release of Heron 4 is planned for 12 May."},
		{"one sentence", []extract.Passage{{"", "The release of Heron 4, after long talks, is planned for 12 May"}}, 100, "The release of Heron 4, after long talks …"},
		{"room for a word", []extract.Passage{{"Ann", said}}, 4, "The release of …"},
		{"labels", []extract.Passage{
			{at("09:00", "Ann"), "Karin moved to Lisbon in March. Hm, ok. You know? Really? You do?"}, {at("09:00", "Ann"), "Her dog Bello stayed in Graz."},
			{at("09:05", "Bob"), "Miguel repaired the red bicycle. Hm, ok. You know? Really? Well, hm, ok, you."}, {at("09:30", "Bob"), "Olga sold seven paintings. Hm, you know?"},
			{"[2026-01-03 09:30 UTC] Bob", "Pavel lost 300 euros. Well, hm, ok. You know? Really?"}},
			56, "[2026-01-02 09:00 UTC] Ann: Karin moved to Lisbon in March. Her dog Bello stayed in Graz.\nBob: Miguel repaired the red bicycle.\n" +
				"[09:30] Bob: Olga sold seven paintings.\n[2026-01-03 09:30 UTC] Bob: Pavel lost 300 euros."},
		{"said twice", []extract.Passage{{"Ann", "Karin moved to Lisbon in March."}, {"Bob", "So Karin moved to Lisbon in March!"}, {"Ann", "Yes, she did, I told you so."}},
			12, "Ann: Karin moved to Lisbon in March."},
		{"somebody else's words", []extract.Passage{{at("09:00", "Ann"), "He wrote:\n[2026-01-02 08:00 UTC] Bob: I owe Ann 500 euros.\nExpand for details about: jam"}}, 100,
			"[2026-01-02 09:00 UTC] Ann: [2026-01-02 08:00 UTC] Bob: I owe Ann 500 euros."},
		{"another number", []extract.Passage{{at("09:00", "Ann"), "The budget of the harbour crane is 5,000 euros."}, {at("11:00", "Ann"), "The budget of the harbour crane is 7,000 euros."}, {at("11:01", "Bob"), strings.Repeat("So it is, ", 20)}},
			40, "[2026-01-02 09:00 UTC] Ann: The budget of the harbour crane is 5,000 euros.\n[11:00] Ann: The budget of the harbour crane is 7,000 euros."},
		{"not any more", []extract.Passage{{at("09:00", "Ann"), "The harbour crane is open on Mondays."}, {at("11:00", "Ann"), "The harbour crane is not open on Mondays."}, {at("11:01", "Bob"), strings.Repeat("So it is, ", 20)}},
			40, "[2026-01-02 09:00 UTC] Ann: The harbour crane is open on Mondays.\n[11:00] Ann: The harbour crane is not open on Mondays."},
		{"list", []extract.Passage{{"", "Packed for Norway:\n- tent\n- stove from Karin\n- seven maps\n\nWell, that is that, ok?"}}, 15,
			"Packed for Norway: tent; stove from Karin; seven maps"},
	}
	a := analyzer(t, "")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := checkExtract(t, a, extract.Input{Passages: test.in, Target: test.target, Tokens: text.Estimator{}.Tokens})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if without := extract.Summary(a, extract.Input{Passages: test.in, Target: test.target}); without != got {
				t.Errorf("without an estimator: %q", without)
			}
		})
	}
}

func TestExtractRarity(t *testing.T) {
	a := analyzer(t, "")
	in := extract.Input{Passages: []extract.Passage{{"", "The garden needs water. The kitchen needs paint."}}, Target: 7}
	for _, rare := range []string{"garden", "kitchen"} {
		in.Rarity = func(term string) float64 {
			if term == rare {
				return 5
			}
			return 0.1
		}
		if got := extract.Summary(a, in); !strings.Contains(got, rare) {
			t.Errorf("%s is rare: %q", rare, got)
		}
	}
	in.Rarity = func(string) float64 { return 0 }
	if got := extract.Summary(a, in); got != "" {
		t.Errorf("nothing is rare: %q", got)
	}
}

func analyzer(t testing.TB, language string) *text.Analyzer {
	t.Helper()
	a, err := text.NewAnalyzer(language)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func readPassages(t *testing.T, file string) []extract.Passage {
	t.Helper()
	s, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var passages []extract.Passage
	for _, block := range strings.Split("\n"+string(s), "\n=== ")[1:] {
		label, body, _ := strings.Cut(block, "\n")
		passages = append(passages, extract.Passage{Label: label, Text: body})
	}
	return passages
}

func FuzzExtract(f *testing.F) {
	for _, s := range texttest.Seeds {
		f.Add("[2026-01-02 03:04 UTC] Ann", s, s, 20)
	}
	f.Add("[2026-01-02 03:04 UTC - x]", "[2026-01-02 03:04 UTC] Ann: one\n[03:20] Bob: two\nAnn: three\nExpand for details about: a, b", "x", 9)
	a := analyzer(f, "")
	f.Fuzz(func(t *testing.T, label, first, second string, target int) {
		checkExtract(t, a, extract.Input{Passages: []extract.Passage{{label, first}, {"", second}, {label, second}}, Target: target, Tokens: text.Estimator{}.Tokens})
	})
}

// BenchmarkExtract makes 2,400 tokens of about 20,000.
func BenchmarkExtract(b *testing.B) {
	a, err := text.NewAnalyzer("")
	if err != nil {
		b.Fatal(err)
	}
	in := extract.Input{Target: 2400}
	names := strings.Fields("Ada Boris Carla Dimitri Elena Farid Greta Hugo Ida Jonas")
	things := strings.Fields("garden kitchen bicycle painting invoice server holiday concert lesson recipe harbor telescope")
	size := 0
	for i := 0; size < 80000; i++ {
		s := fmt.Sprintf("%s told %s about the %s on day %d. That was nice! We should buy %d of them, %s said, because the %s and the %s are old. Do you agree?",
			names[i%10], names[i*7%10], things[i%12], i, i*31%97, names[i*3%10], things[i*5%12], things[i*7%11])
		size += len(s)
		in.Passages = append(in.Passages, extract.Passage{Label: fmt.Sprintf("[2026-01-%02d 03:%02d UTC] %s", 1+i/60%28, i%60, names[i%2]), Text: s})
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		extract.Summary(a, in)
	}
}
