package window_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/window"
)

// chars4 counts as vectors do: four UTF-16 code units are a token.
func chars4(s string) int {
	units := 0
	for _, r := range s {
		units++
		if r > 0xFFFF {
			units++
		}
	}
	return (units + 3) / 4
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		label string
		text  string
		max   int
		want  string
	}{
		{"fits", "hello", 2, "hello"},
		{"G6: exactly the most", strings.Repeat("x", 1200), 300, strings.Repeat("x", 1200)},
		{"G5: long", strings.Repeat("x", 2000), 300, strings.Repeat("x", 1167) + "\n[Capped from 500 tokens to ~300]"},
		{"medium", strings.Repeat("x", 2000), 7, strings.Repeat("x", 13) + "\n[Capped to ~7]"},
		{"short", strings.Repeat("x", 2000), 3, strings.Repeat("x", 3) + "\n[Capped]"},
		{"G7: none", strings.Repeat("x", 1200), 2, strings.Repeat("x", 8)},
		{"runes stay whole", strings.Repeat("é", 20), 1, "éééé"},
		{"beyond U+FFFF", strings.Repeat("🦆", 20), 1, "🦆🦆"},
		{"not even one", strings.Repeat("x", 20), 0, ""},
		{"less than none", "x", -1, ""},
		{"empty", "", 0, ""},
	} {
		got := window.Cut(c.text, c.max, chars4)
		if got != c.want {
			t.Errorf("%s: got %d characters ending in %q, want %d ending in %q", c.label, len(got), end(got), len(c.want), end(c.want))
		}
	}
	if got := window.Cut(strings.Repeat("x", 2000), 300, chars4); len(got) != 1200 || chars4(got) != 300 {
		t.Errorf("G5: %d characters, %d tokens; want 1200 and 300", len(got), chars4(got))
	}
}

func end(s string) string { return s[max(0, len(s)-40):] }

func FuzzCut(f *testing.F) {
	f.Add("hello world, this is a text of some length", 4)
	f.Add(strings.Repeat("🦆é", 50), 9)
	f.Add("\xff\xfe\x80\x80\x80\x80\x80\x80", 1)
	f.Fuzz(func(t *testing.T, text string, most int) {
		got := window.Cut(text, most, chars4)
		if n := chars4(got); n > max(0, most) {
			t.Fatalf("Cut(%q, %d) = %q has %d tokens", text, most, got, n)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("Cut(%q, %d) = %q splits a rune", text, most, got)
		}
		if chars4(text) <= most && got != text {
			t.Fatalf("Cut(%q, %d) = %q though it fits", text, most, got)
		}
	})
}
