package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/internal/texttest"
)

func FuzzTokens(f *testing.F) {
	texttest.Seed(f)
	var analyzers []*text.Analyzer
	for _, language := range text.Languages() {
		analyzers = append(analyzers, analyzer(f, language))
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, a := range analyzers {
			last := 0
			terms := map[string]string{}
			for _, token := range a.Tokens(s) {
				if token.Start < last || token.End <= token.Start || token.End > len(s) {
					t.Fatalf("offsets %d:%d after %d of %d", token.Start, token.End, last, len(s))
				}
				last = token.Start
				for _, word := range []string{token.Surface, token.Term} {
					if word == "" || !utf8.ValidString(word) || strings.ContainsRune(word, 0) || utf8.RuneCountInString(word) > 64 {
						t.Fatalf("%q gives %q", s[token.Start:token.End], word)
					}
				}
				if term, ok := terms[token.Surface]; ok && term != token.Term {
					t.Fatalf("surface %q has terms %q and %q", token.Surface, term, token.Term)
				}
				terms[token.Surface] = token.Term
			}
			if len(terms) > 0 && len(a.QueryTokens(s)) == 0 {
				t.Fatal("tokens, but no query tokens")
			}
		}
	})
}

func FuzzFold(f *testing.F) {
	texttest.Seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		once := text.Fold(s)
		if !utf8.ValidString(once) || strings.ContainsRune(once, 0) {
			t.Fatalf("%q folds to %q", s, once)
		}
		if twice := text.Fold(once); twice != once {
			t.Fatalf("%q folds to %q, then to %q", s, once, twice)
		}
	})
}

func FuzzSnippet(f *testing.F) {
	for _, s := range texttest.Seeds {
		f.Add(s, "words", 10)
	}
	a := analyzer(f, "")
	f.Fuzz(func(t *testing.T, s, query string, width int) {
		terms := map[string]bool{}
		for _, token := range a.QueryTokens(query) {
			terms[token.Term] = true
		}
		for _, got := range []string{text.Snippet(s, terms, a, width), text.Clip(s, width)} {
			if n := utf8.RuneCountInString(got); n > max(width, 0) || !utf8.ValidString(got) || strings.ContainsRune(got, 0) {
				t.Fatalf("width %d: %d code points, %q", width, n, got)
			}
		}
	})
}

func FuzzSkipRecall(f *testing.F) {
	for _, s := range texttest.Seeds {
		f.Add(s, 0)
	}
	f.Fuzz(func(t *testing.T, s string, minLength int) {
		if text.SkipRecall(s, minLength) && strings.Contains(s, "remember me") && utf8.ValidString(s) && !strings.HasPrefix(s, "[") && len(s) < 20 {
			t.Fatalf("%q speaks of remembering", s)
		}
		text.IsRecallNoise(s)
		if got := text.Expand(s); !strings.HasPrefix(got, s) {
			t.Fatalf("%q expands to %q", s, got)
		}
	})
}

func FuzzTagTokens(f *testing.F) {
	for _, s := range texttest.Seeds {
		f.Add(s, "proj")
	}
	f.Fuzz(func(t *testing.T, s, prefix string) {
		for _, tag := range text.TagTokens(s, []string{prefix, "env"}) {
			if !strings.Contains(s, tag) || !strings.Contains(tag, ":") || strings.HasSuffix(tag, ":") {
				t.Fatalf("%q with prefix %q has tag %q", s, prefix, tag)
			}
		}
	})
}
