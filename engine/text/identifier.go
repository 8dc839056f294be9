package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// span is one word of a compound, as byte offsets in the text.
type span struct{ start, end int }

// compound appends the terms of the word at s[i:] and of everything joined to it without a space, and returns where that ends.
func (m *memo) compound(dst []Token, s string, i int) ([]Token, int) {
	end := m.wordEnd(s, i)
	join := joinLength(s, end)
	if join == 0 {
		if n := suffixLength(s[i:end], s[end:]); n > 0 {
			dst = m.appendWhole(dst, s, []span{{i, end + n}})
		}
		return m.appendWord(dst, s, i, end), end
	}
	var few [8]span
	words := append(few[:0], span{i, end})
	for join > 0 {
		start := end + join
		end = m.wordEnd(s, start)
		words = append(words, span{start, end})
		join = joinLength(s, end)
	}
	if isAcronym(s, words) {
		return m.appendWord(dst, s, i, end), end
	}
	isWhole := isIdentifier(s, words)
	if isWhole {
		dst = m.appendWhole(dst, s, words)
	}
	for from := 0; from < len(words); {
		to := segmentEnd(s, words, from)
		segment := words[from:to]
		if len(segment) > 1 && len(segment) < len(words) && isIdentifier(s, segment) {
			dst = m.appendWhole(dst, s, segment)
		}
		for _, w := range segment {
			dst = m.appendWord(dst, s, w.start, w.end)
		}
		from = to
	}
	return dst, end
}

// appendWhole appends an identifier as one term: its words folded and what joins them. Identifiers are not stemmed.
func (m *memo) appendWhole(dst []Token, s string, words []span) []Token {
	start, end := words[0].start, words[len(words)-1].end
	raw := s[start:end]
	e, ok := m.wholes[raw]
	if !ok {
		surface := foldWhole(raw)
		e = entry{surface, m.stem(surface)} // what is cut off may leave letters alone
		keep(m.wholes, raw, e)
	}
	if e.surface == "" {
		return dst
	}
	return append(dst, Token{e.surface, e.term, start, end})
}

// foldWhole folds an identifier. Only its start can matter once it is cut, and four bytes a character is the most there is.
func foldWhole(raw string) string {
	if len(raw) > 8*maxTerm {
		raw = raw[:8*maxTerm]
	}
	return cut(strings.Map(func(r rune) rune {
		switch {
		case r == '\u2010': // U+2011 folds to it
			return '-'
		case char.InWord(r) && !char.IsApostrophe(r), strings.ContainsRune("_-.&/\\@:#+", r):
			return r
		}
		return -1
	}, Fold(strings.Clone(raw))))
}

// joinLength returns the bytes of the join at s[i:] between two words, 0 if there is none.
func joinLength(s string, i int) int {
	if i >= len(s) {
		return 0
	}
	n := 0
	switch s[i] {
	case '_':
		for n = 1; i+n < len(s) && s[i+n] == '_'; n++ {
		}
	case ':':
		n = 1
		if strings.HasPrefix(s[i:], "::") {
			n = 2
		}
	case '-', '.', '&', '/', '\\', '@', '#':
		n = 1
	case 0xE2:
		if strings.HasPrefix(s[i:], "\u2010") || strings.HasPrefix(s[i:], "\u2011") {
			n = 3
		}
	}
	if n == 0 || i+n >= len(s) {
		return 0
	}
	if r, _ := utf8.DecodeRuneInString(s[i+n:]); !char.StartsWord(r) || char.IsUnspaced(r) {
		return 0
	}
	return n
}

// suffixLength returns the length of the ++ or # that makes a word a name of its own.
func suffixLength(word, rest string) int {
	n := 0
	switch {
	case strings.HasPrefix(rest, "++"):
		n = 2
	case strings.HasPrefix(rest, "#") && len(word) == 1:
		n = 1
	default:
		return 0
	}
	if !char.AreLetters(word) {
		return 0
	}
	if r, _ := utf8.DecodeRuneInString(rest[n:]); char.InWord(r) || r == '+' || r == '#' {
		return 0
	}
	return n
}

// segmentEnd returns the index after the last word that is joined to words[from] by tight joins only.
func segmentEnd(s string, words []span, from int) int {
	for i := from + 1; i < len(words); i++ {
		switch s[words[i-1].end] {
		case '/', '\\', '@', ':', '#':
			return i
		}
	}
	return len(words)
}

func isIdentifier(s string, words []span) bool {
	slashes := 0
	if start := words[0].start; start > 0 && (s[start-1] == '/' || s[start-1] == '\\') {
		slashes++
	}
	for i, w := range words {
		if strings.IndexFunc(s[w.start:w.end], unicode.IsDigit) >= 0 {
			return true
		}
		if i == 0 {
			continue
		}
		switch s[words[i-1].end] {
		case '_', '.', '&', '@', ':':
			return true
		case '/', '\\':
			slashes++
		}
	}
	return slashes > 1
}

// isAcronym reports single letters joined by points, such as U.S.A
func isAcronym(s string, words []span) bool {
	for i, w := range words {
		r, n := utf8.DecodeRuneInString(s[w.start:])
		if n != w.end-w.start || !unicode.IsLetter(r) || i > 0 && s[words[i-1].end] != '.' {
			return false
		}
	}
	return true
}
