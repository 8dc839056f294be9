package text_test

import (
	"testing"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text"
)

func TestSnippet(t *testing.T) {
	a := analyzer(t, "")
	long := "The first part says nothing much at all. Maria moved to Berlin in March, as she told us. Then there is a long tail about Berlin weather."
	tests := []struct {
		name, in, query string
		width           int
		want            string
	}{
		{"short", "Maria moved.", "moving", 40, "Maria moved."},
		{"one line", "Maria\n\n moved\tto  town.", "moving", 40, "Maria moved to town."},
		{"most terms", long, "Maria moves Berlin", 40, "…at all. Maria moved to Berlin in March…"},
		{"start", long, "first part", 40, "The first part says nothing much at all…"},
		{"end", long, "weather", 40, "…is a long tail about Berlin weather."},
		{"no match", long, "zebra", 24, "The first part says…"},
		{"narrow", long, "Berlin", 2, "…"},
		{"nothing", long, "Berlin", 0, ""},
		{"han", "今天天气很好我们去公园散步然后玛丽亚搬到柏林去了", "柏林", 8, "…亚搬到柏林去了"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			terms := map[string]bool{}
			for _, token := range a.QueryTokens(test.query) {
				terms[token.Term] = true
			}
			got := text.Snippet(test.in, terms, a, test.width)
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if n := utf8.RuneCountInString(got); n > test.width {
				t.Errorf("%d code points, width %d", n, test.width)
			}
		})
	}
	if got := text.Snippet(long, nil, nil, 10); got != "The first…" {
		t.Errorf("without analyzer: %q", got)
	}
}

func TestClip(t *testing.T) {
	tests := []struct {
		in    string
		width int
		want  string
	}{
		{"", 5, ""},
		{"hello", 5, "hello"},
		{"hello world", 11, "hello world"},
		{"hello world", 10, "hello…"},
		{"hello world", 6, "hello…"},
		{"abcdefghijkl", 6, "abcde…"},
		{"a bcdefghijkl", 8, "a bcdef…"},
		{"今天天气很好", 4, "今天天…"},
		{"cafe\u0301s and more", 5, "caf…"},
		{"bad\xff bytes", 20, "bad\uFFFD bytes"},
		{"hello", 1, "…"},
		{"hello", 0, ""},
		{"hello", -1, ""},
	}
	for _, test := range tests {
		if got := text.Clip(test.in, test.width); got != test.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", test.in, test.width, got, test.want)
		}
	}
}
