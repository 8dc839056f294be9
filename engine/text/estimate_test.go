package text_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/text"
)

func TestEstimator(t *testing.T) {
	tests := []struct {
		in               string
		chars4, weighted int
	}{
		{"", 0, 0},
		{"a", 1, 1},
		{"abcd", 1, 1},
		{"abcde", 2, 2},
		{"hello there", 3, 3},
		{"äöüß", 1, 1},
		{strings.Repeat("x", 3001), 751, 751},
		{"用", 1, 2},
		{"用户", 1, 3},
		{"用户。", 1, 5},
		{"ガス", 1, 3},
		{"한국어", 1, 5},
		{"ＡＢ", 1, 3},
		{"用 a", 1, 2},
		{"😀", 1, 2},
		{"😀😀", 1, 4},
		{"𠀀𪜀", 1, 3},
		{"𐍈𐍈𐍈", 2, 6},
		{"\u2FFF\u3100\u4DC0\uA000\uD7B0\uFEFF", 2, 2},
		{"\u3000\u30FF\u3400\u4DBF\u4E00\u9FFF\uAC00\uD7AF\uFF00\uFFEF", 3, 15},
		{"\U0002A6DF\U0002A6E0\U0002EBEF\U0002EBF0", 2, 7},
		{"\xff\xfe\xfd", 1, 1},
		{strings.Repeat("\x80", 9), 3, 3},
		{"abcdefgh\xe7\x94", 3, 3},
		{"long ASCII, then 用 and ASCII again", 9, 10},
	}
	for _, test := range tests {
		for name, want := range map[string]int{"chars4": test.chars4, "weighted": test.weighted} {
			e, err := text.NewEstimator(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Tokens(test.in); got != want {
				t.Errorf("%s of %+q = %d, want %d", name, test.in, got, want)
			}
		}
	}
}

func TestNewEstimator(t *testing.T) {
	if diff := cmp.Diff([]string{"chars4", "weighted"}, text.Estimators()); diff != "" {
		t.Error(diff)
	}
	for _, name := range append(text.Estimators(), "") {
		e, err := text.NewEstimator(name)
		if err != nil {
			t.Fatal(err)
		}
		if want := name; want != "" && e.String() != want {
			t.Errorf("estimator %q is named %q", want, e)
		}
	}
	if e, err := text.NewEstimator(""); err != nil || e != (text.Estimator{}) || e.String() != "chars4" {
		t.Errorf("default is %q, %v", e, err)
	}
	_, err := text.NewEstimator("cl100k")
	if want := `text: estimator "cl100k": allowed are chars4, weighted`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestEstimatorAllocatesNothing(t *testing.T) {
	s := strings.Repeat("words, Wörter, 言葉, 😀 and \xff ", 100)
	for _, name := range text.Estimators() {
		e, err := text.NewEstimator(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(10, func() { e.Tokens(s) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkEstimator(b *testing.B) {
	for name, s := range map[string]string{
		"english": strings.Repeat(turn+" ", 100),
		"chinese": strings.Repeat("昨天玛丽亚告诉我她三月份要搬到柏林去，因为公司给了她一个新项目。", 100),
	} {
		for _, estimator := range text.Estimators() {
			b.Run(name+"/"+estimator, func(b *testing.B) {
				e, err := text.NewEstimator(estimator)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(s)))
				for b.Loop() {
					e.Tokens(s)
				}
			})
		}
	}
}
