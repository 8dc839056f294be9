package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// GrepQuery is what a full-text pattern asks for. Its parts are as written but for quotation marks and punctuation at the edges; no sign
// and no word is an operator.
type GrepQuery struct {
	Phrases []string // words that must stand side by side: what was quoted, and words joined by punctuation, such as error-code
	Words   []string // single words, and runs of a script without spaces
}

// ParseGrep reads a pattern. A quotation mark that isn't closed is left out. What is named twice comes once, and a blank pattern asks for
// nothing.
func ParseGrep(s string) GrepQuery {
	var q GrepQuery
	s = strings.Map(func(r rune) rune {
		switch r {
		case '“', '”', '„', '«', '»', '＂':
			return '"'
		}
		return r
	}, char.Clean(s))
	quoted := strings.Split(s, `"`)
	for i, part := range quoted {
		if i%2 == 1 && i < len(quoted)-1 {
			q.add(strings.Join(strings.Fields(part), " "))
			continue
		}
		for _, word := range strings.Fields(part) {
			q.add(word)
		}
	}
	return q
}

// add adds a word or phrase to where it belongs.
func (q *GrepQuery) add(s string) {
	s = strings.TrimFunc(s, func(r rune) bool { return !char.InWord(r) })
	list := &q.Words
	if strings.ContainsFunc(s, func(r rune) bool { return !char.InWord(r) && !char.IsApostrophe(r) && !char.IsIgnorable(r) }) {
		list = &q.Phrases
	}
	if s != "" && !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

// MatchPhrase reports whether text has the words of phrase side by side, whatever punctuation or space is between them. Words are
// compared by their terms, so case, accents and endings don't count. A phrase without a word matches nothing.
func (a *Analyzer) MatchPhrase(text, phrase string) bool {
	want := a.Words(phrase)
	return len(want) > 0 && IndexWords(a.Words(text), want) >= 0
}

// Words returns the tokens of s without those that contain others: identifiers and pairs.
func (a *Analyzer) Words(s string) []Token { return plainWords(a.Tokens(s)) }

// IndexWords is where some words stand side by side among others, by their terms: the number of the first, or -1.
func IndexWords(words, wanted []Token) int {
	for i := 0; i+len(wanted) <= len(words); i++ {
		if slices.EqualFunc(wanted, words[i:i+len(wanted)], func(x, y Token) bool { return x.Term == y.Term }) {
			return i
		}
	}
	return -1
}

// plainWords leaves out the tokens that contain others: identifiers and pairs.
func plainWords(tokens []Token) []Token {
	kept := tokens[:0]
	for i, t := range tokens {
		if i+1 == len(tokens) || tokens[i+1].End > t.End || tokens[i+1].Start >= t.End {
			kept = append(kept, t)
		}
	}
	return kept
}

// In code points: the width of a snippet, and what it shows before a match of a regular expression, of the match, and after it.
const (
	grepWidth  = 200
	grepBefore = 24
	grepMatch  = grepWidth - grepBefore - grepAfter - 2*len(grepCut)
	grepAfter  = 40
	grepCut    = "..."
)

// MatchSnippet returns the match s[start:end] with 24 code points before and 40 after it as one line, with ... where something was cut, and
// where in that line the match stands: first is last where nothing of it can be seen. Of a match of more than 130 code points only the
// beginning is shown. Bounds outside s are moved into it.
func MatchSnippet(s string, start, end int) (line string, first, last int) {
	start = min(max(start, 0), len(s))
	end = min(max(end, start), len(s))
	from, until, to := start, end, end
	if shown := char.First(s[start:end], grepMatch); len(shown) < end-start {
		until = start + len(shown)
		to = until
	} else {
		for n := 0; n < grepAfter && to < len(s); n++ {
			_, size := utf8.DecodeRuneInString(s[to:])
			to += size
		}
	}
	for n := 0; n < grepBefore && from > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(s[:from])
		from -= size
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString(grepCut)
	}
	written, space := false, false
	write := func(part string) (first, last int) {
		first = -1
		for _, r := range char.Clean(part) {
			if unicode.IsSpace(r) {
				space = written
				continue
			}
			if space {
				b.WriteByte(' ')
			}
			if first < 0 {
				first = b.Len()
			}
			b.WriteRune(r)
			written, space = true, false
		}
		if first < 0 {
			first = b.Len()
		}
		return first, b.Len()
	}
	write(s[from:start])
	first, last = write(s[start:until])
	write(s[until:to])
	if to < len(s) {
		b.WriteString(grepCut)
	}
	return b.String(), first, last
}
