package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/internal/texttest"
)

func TestParseGrep(t *testing.T) {
	tests := []struct {
		in   string
		want text.GrepQuery
	}{
		{"", text.GrepQuery{}},
		{" \t\"\" - * ", text.GrepQuery{}},
		{"database migrations", text.GrepQuery{Words: []string{"database", "migrations"}}},
		{"error-code 42", text.GrepQuery{Phrases: []string{"error-code"}, Words: []string{"42"}}},
		{`hello "world"`, text.GrepQuery{Words: []string{"hello", "world"}}},
		{`"Foo  Bar" baz, baz`, text.GrepQuery{Phrases: []string{"Foo Bar"}, Words: []string{"baz"}}},
		{"a:b src/main.go (x)", text.GrepQuery{Phrases: []string{"a:b", "src/main.go"}, Words: []string{"x"}}},
		{"“blue car” and „rotes Auto”", text.GrepQuery{Phrases: []string{"blue car", "rotes Auto"}, Words: []string{"and"}}},
		{`data* OR don't "open end`, text.GrepQuery{Words: []string{"data", "OR", "don't", "open", "end"}}},
		{"数据库 迁移", text.GrepQuery{Words: []string{"数据库", "迁移"}}},
		{"bad\xffbyte", text.GrepQuery{Phrases: []string{"bad\uFFFDbyte"}}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, text.ParseGrep(test.in)); diff != "" {
			t.Errorf("%q: %s", test.in, diff)
		}
	}
}

func TestMatchPhrase(t *testing.T) {
	const log = "Run the migration again and log error-code 42 of src/main.go, as Müller's team said: well done."
	tests := []struct {
		text, phrase string
		want         bool
	}{
		{log, "error-code", true},
		{log, "error code", true},
		{log, "ERROR CODES 42", true},
		{log, "code error", false},
		{log, "error 42", false},
		{log, "migrations again", true},
		{log, "main.go", true},
		{log, "src/main.go", true},
		{log, "src main go as", true},
		{log, "src.go", false},
		{log, "muller team", true},
		{log, "said well", true},
		{log, "done", true},
		{log, "", false},
		{log, "--", false},
		{"", "error", false},
		{"数据库迁移完成", "数据库迁移", true},
		{"数据库迁移完成", "据库", true},
		{"数据库迁移完成", "迁移数据", false},
		{"测试 环境", "测试环境", true},
		{"DB-42 is done", "db 42 is", true},
	}
	a := analyzer(t, "")
	for _, test := range tests {
		if got := a.MatchPhrase(test.text, test.phrase); got != test.want {
			t.Errorf("%q in %q: %v", test.phrase, test.text, got)
		}
	}
}

func TestMatchSnippet(t *testing.T) {
	s := strings.Repeat("0123456789", 5) + "needle" + strings.Repeat("abcdefghij", 5)
	tests := []struct {
		name, in   string
		start, end int
		want       string
		match      string
	}{
		{"inside", s, 50, 56, "...678901234567890123456789needleabcdefghijabcdefghijabcdefghijabcdefghij...", "needle"},
		{"start", s, 0, 2, "01" + "23456789012345678901234567890123456789" + "01...", "01"},
		{"end", s, len(s) - 1, len(s), "..." + s[len(s)-25:], "j"},
		{"whole", "database", 0, 8, "database", "database"},
		{"one line", "a\n\nb\tneedle  c", 5, 11, "a b needle c", "needle"},
		{"characters", strings.Repeat("ä", 30) + "x" + strings.Repeat("用", 50), 60, 61, "..." + strings.Repeat("ä", 24) + "x" + strings.Repeat("用", 40) + "...", "x"},
		{"long match", strings.Repeat("x", 300), 0, 300, strings.Repeat("x", 130) + "...", strings.Repeat("x", 130)},
		{"space around", "a \n... \n b", 1, 8, "a ... b", "..."},
		{"nothing but space", "a \n b", 1, 4, "a b", ""},
		{"long match with an end like a cut", strings.Repeat("x", 300) + "...", 0, 303, strings.Repeat("x", 130) + "...", strings.Repeat("x", 130)},
		{"outside", "abc", -5, 99, "abc", "abc"},
		{"backwards", "abc", 2, 1, "abc", ""},
		{"nothing", "", 0, 0, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			line, first, last := text.MatchSnippet(test.in, test.start, test.end)
			if diff := cmp.Diff([]string{test.want, test.match}, []string{line, line[first:last]}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzGrep(f *testing.F) {
	for _, s := range texttest.Seeds {
		f.Add(s, s, 3, 9)
	}
	a := analyzer(f, "")
	f.Fuzz(func(t *testing.T, s, pattern string, start, end int) {
		q := text.ParseGrep(pattern)
		for _, part := range append(q.Phrases, q.Words...) {
			if len(a.Tokens(part)) > 0 && !a.MatchPhrase("before "+part+" after", part) {
				t.Errorf("%q doesn't match itself", part)
			}
			a.MatchPhrase(s, part)
		}
		got, first, last := text.MatchSnippet(s, start, end)
		if n := utf8.RuneCountInString(got); n > 200 || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\x00") {
			t.Errorf("%d characters: %q", n, got)
		}
		if match := got[first:last]; !utf8.ValidString(match) || strings.TrimSpace(match) != match {
			t.Errorf("%q at %d to %d of %q", match, first, last, got)
		}
	})
}
