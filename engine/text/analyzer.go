package text

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
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
		case !startsWord(r):
			i += n
		case isUnspaced(r):
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

const (
	maxTerm   = 64      // code points of a surface or term
	maxKey    = 64      // bytes of a word worth remembering
	maxMemory = 1 << 14 // words remembered
)

// memo remembers the words met lately, by their spelling in the text, and owns a stemmer. It changes speed, never results. One
// goroutine has it at a time.
type memo struct {
	language *language
	env      *snowballstem.Env
	words    map[string]entry
	wholes   map[string]entry
}

type entry struct{ surface, term string }

func newMemo(l *language) *memo {
	return &memo{language: l, env: snowballstem.NewEnv(""), words: map[string]entry{}, wholes: map[string]entry{}}
}

// keep remembers an entry. A full map starts over, which is rare and needs no order of use.
func keep(entries map[string]entry, raw string, e entry) {
	if len(raw) > maxKey {
		return
	}
	if len(entries) >= maxMemory {
		clear(entries)
	}
	entries[strings.Clone(raw)] = e
}

// appendWord appends the word s[start:end] unless nothing of it is left when folded.
func (m *memo) appendWord(dst []Token, s string, start, end int) []Token {
	raw := s[start:end]
	e, ok := m.words[raw]
	if !ok {
		e.surface = foldWord(raw)
		e.term = m.stem(e.surface)
		keep(m.words, raw, e)
	}
	if e.surface == "" {
		return dst
	}
	return append(dst, Token{e.surface, e.term, start, end})
}

// stem returns the stem of a folded word; what isn't letters alone is its own stem.
func (m *memo) stem(surface string) string {
	if m.language.stem == nil || !isLetters(surface) {
		return surface
	}
	m.env.SetCurrent(m.language.accented(surface))
	m.language.stem(m.env)
	if term := Fold(m.env.Current()); term != "" {
		return term
	}
	return surface
}

// wordEnd returns the end of the word that starts at s[i:].
func (m *memo) wordEnd(s string, i int) int {
	end := i
	for i < len(s) {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case isASCIIWord(c):
				i++
				end = i
			case c == '\'' && !m.language.elision && joinsLetters(s, i, 1):
				i++
			case c == ',' && groupsDigits(s, i):
				i++
			default:
				return end
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case isApostrophe(r):
			if m.language.elision || !joinsLetters(s, i, n) {
				return end
			}
			i += n
		case isIgnorable(r):
			i += n
		case isWordRune(r) && !isUnspaced(r):
			i += n
			end = i
		default:
			return end
		}
	}
	return end
}

// foldWord folds a word and takes out what isn't written in its surface: clitics, apostrophes, digit commas, invisible characters,
// and the signs that some compatibility characters unfold to.
func foldWord(raw string) string {
	if len(raw) > 8*maxTerm {
		raw = raw[:8*maxTerm]
	}
	word := Fold(strings.Clone(raw))
	if at := strings.LastIndexFunc(word, isApostrophe); at > 0 {
		_, n := utf8.DecodeRuneInString(word[at:])
		switch word[at+n:] {
		case "s", "m", "re", "ve", "ll", "d":
			word = word[:at]
		}
	}
	return cut(strings.Map(func(r rune) rune {
		switch {
		case r == '\u2044': // the slash of ½
			return '/'
		case isWordRune(r) && !isApostrophe(r):
			return r
		}
		return -1
	}, word))
}

// cut keeps the first maxTerm code points.
func cut(term string) string {
	if len(term) <= maxTerm {
		return term
	}
	return firstRunes(term, maxTerm)
}

func isASCIIWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// startsWord reports letters and digits; marks only continue a word.
func startsWord(r rune) bool {
	if r < utf8.RuneSelf {
		return isASCIIWord(byte(r))
	}
	return (unicode.IsLetter(r) || unicode.IsNumber(r)) && !isApostrophe(r)
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return isASCIIWord(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

func isApostrophe(r rune) bool {
	return r == '\'' || r == '’' || r == 'ʼ' || r == '＇'
}

// joinsLetters reports whether the apostrophe of n bytes at s[i:] stands inside a word, before a letter.
func joinsLetters(s string, i, n int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i+n:])
	return isWordRune(before) && !isApostrophe(before) && unicode.IsLetter(after) && !isApostrophe(after) && !isUnspaced(after)
}

// groupsDigits reports whether the comma at s[i:] stands before a group of exactly three digits, and after at most three.
func groupsDigits(s string, i int) bool {
	digits := func(s string) int {
		n := 0
		for n < len(s) && n < 4 && '0' <= s[n] && s[n] <= '9' {
			n++
		}
		return n
	}
	before := 0
	for before < 4 && before < i && '0' <= s[i-1-before] && s[i-1-before] <= '9' {
		before++
	}
	return 1 <= before && before <= 3 && digits(s[i+1:]) == 3
}

// isLetters reports a word of letters and marks alone, which is what a stemmer may touch.
func isLetters(word string) bool {
	for _, r := range word {
		if 'a' <= r && r <= 'z' {
			continue
		}
		if !unicode.IsLetter(r) && !unicode.IsMark(r) {
			return false
		}
	}
	return true
}
