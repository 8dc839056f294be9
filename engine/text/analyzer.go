package text

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// Analyzer turns text into index terms for one language. It is safe for concurrent use.
type Analyzer struct {
	language language
	stop     map[string]bool
	memos    sync.Pool // of *memo: each call owns one, so that neither stemmer nor memo needs a lock
}

// Token is one indexed word. Surface is the folded word as written, Term its stem; Start and End are byte offsets in the input.
// Tokens come by ascending Start, an identifier before its words.
type Token struct {
	Surface, Term string
	Start, End    int
}

// NewAnalyzer returns the analyzer of a language, english if the name is empty. Any name that Languages doesn't list is an error.
// "none" neither stems nor has stop words.
func NewAnalyzer(name string) (*Analyzer, error) {
	if name == "" {
		name = "english"
	}
	for _, l := range languages {
		if l.name != name {
			continue
		}
		a := &Analyzer{language: l}
		if l.stem != nil {
			stop, err := readStopwords(name)
			if err != nil {
				return nil, err
			}
			a.stop = stop
		}
		a.memos.New = func() any { return newMemo(&a.language) }
		return a, nil
	}
	return nil, fmt.Errorf("text: language %q: allowed are %s", name, strings.Join(Languages(), ", "))
}

// Languages lists the names that NewAnalyzer takes, in alphabetical order.
func Languages() []string {
	names := make([]string, len(languages))
	for i, l := range languages {
		names[i] = l.name
	}
	return names
}

// Tokens returns every word of s, in order. The package comment states the rules.
func (a *Analyzer) Tokens(s string) []Token {
	return a.Append(nil, s)
}

// Append appends the tokens of s to dst and returns the longer slice. The tokens keep no part of s alive.
func (a *Analyzer) Append(dst []Token, s string) []Token {
	m := a.memos.Get().(*memo)
	defer a.memos.Put(m)
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case !char.StartsWord(r):
			i += n
		case char.IsUnspaced(r):
			dst, i = m.unspaced(dst, s, i)
		default:
			dst, i = m.compound(dst, s, i)
		}
	}
	return dst
}

// QueryTokens returns the tokens of a query: without stop words unless nothing would be left, distinct by Term, in order of first
// use.
func (a *Analyzer) QueryTokens(s string) []Token {
	all := a.Tokens(s)
	if kept := a.distinct(all, false); len(kept) > 0 {
		return kept
	}
	return a.distinct(all, true)
}

// IsStop reports whether a surface is a stop word: an article, question word, auxiliary, pronoun, preposition and the like.
func (a *Analyzer) IsStop(surface string) bool {
	return a.stop[surface]
}

func (a *Analyzer) distinct(tokens []Token, withStopwords bool) []Token {
	var kept []Token
	seen := make(map[string]bool, len(tokens))
	for _, t := range tokens {
		if !seen[t.Term] && (withStopwords || !a.IsStop(t.Surface)) {
			seen[t.Term] = true
			kept = append(kept, t)
		}
	}
	return kept
}
