// Package text turns text into index terms, estimates tokens, cuts snippets and judges noise.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/german"
	"golang.org/x/text/unicode/norm"
)

// Analyzer turns text into index terms for one language. It is safe for concurrent use.
type Analyzer struct {
	stem func(*snowballstem.Env) bool
	stop map[string]bool
}

// Token is one indexed word: Surface is the folded word as written, Term its stem, Start and End its byte offsets in the input.
type Token struct {
	Surface, Term string
	Start, End    int
}

// NewAnalyzer returns the analyzer of a language; "" is english.
func NewAnalyzer(language string) (*Analyzer, error) {
	switch language {
	case "", "english":
		return &Analyzer{stem: english.Stem, stop: stopSet("a an the what when where who why how did does do is was are were would could should i you he she it they we her his their my your to of in on at and or for with")}, nil
	case "german":
		return &Analyzer{stem: german.Stem, stop: stopSet("der die das ein eine was wann wo wer ist war ich du er sie es wir und oder")}, nil
	}
	return nil, fmt.Errorf("text: language %q: allowed are %s", language, strings.Join(Languages(), ", "))
}

// Languages lists the names that NewAnalyzer takes.
func Languages() []string { return []string{"english", "german"} }

func stopSet(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// Tokens returns every word of s in order.
func (a *Analyzer) Tokens(s string) []Token { return a.Append(nil, s) }

// Append is Tokens into dst.
func (a *Analyzer) Append(dst []Token, s string) []Token {
	start := -1
	emit := func(end int) {
		if start >= 0 {
			w := Fold(s[start:end])
			env := snowballstem.NewEnv(w)
			a.stem(env)
			dst = append(dst, Token{w, env.Current(), start, end})
			start = -1
		}
	}
	for i, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || start >= 0 && unicode.IsMark(r) {
			if start < 0 {
				start = i
			}
		} else {
			emit(i)
		}
	}
	emit(len(s))
	return dst
}

// QueryTokens is Tokens without stop words, unless nothing would be left, distinct by Term.
func (a *Analyzer) QueryTokens(s string) []Token {
	all := a.Tokens(s)
	pick := func(stops bool) (out []Token) {
		seen := map[string]bool{}
		for _, t := range all {
			if !seen[t.Term] && (stops || !a.IsStop(t.Surface)) {
				seen[t.Term] = true
				out = append(out, t)
			}
		}
		return out
	}
	if out := pick(false); len(out) > 0 {
		return out
	}
	return pick(true)
}

// IsStop reports whether a folded word is a stop word of the language.
func (a *Analyzer) IsStop(surface string) bool { return a.stop[surface] }

// Fold folds case and accents.
func Fold(s string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToValidUTF8(s, "\uFFFD")) {
		if !unicode.Is(unicode.Mn, r) && r != 0 {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return norm.NFC.String(b.String())
}

// EstimateTokens estimates the model tokens of s.
func EstimateTokens(s string) int {
	cjk, rest := 0, 0
	for _, r := range s {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			cjk++
		} else {
			rest++
		}
	}
	return cjk + (rest+3)/4
}

// Snippet returns the best window of width code points around matched words.
func Snippet(s string, terms map[string]bool, a *Analyzer, width int) string { return Clip(s, width) }

// Clip cuts s to width code points at a word boundary, with … where it was cut.
func Clip(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	if width < 1 {
		return ""
	}
	head := string([]rune(s)[:width-1])
	if i := strings.LastIndexByte(head, ' '); i > len(head)/2 {
		head = head[:i]
	}
	return head + "…"
}
