package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// maxTerm is the most code points of a surface or term.
const maxTerm = 64

// wordEnd returns the end of the word that starts at s[i:].
func (m *memo) wordEnd(s string, i int) int {
	end := i
	for i < len(s) {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case char.InASCIIWord(c):
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
		case char.IsApostrophe(r):
			if m.language.elision || !joinsLetters(s, i, n) {
				return end
			}
			i += n
		case char.IsIgnorable(r):
			i += n
		case char.InWord(r) && !char.IsUnspaced(r):
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
	if at := strings.LastIndexFunc(word, char.IsApostrophe); at > 0 {
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
		case char.InWord(r) && !char.IsApostrophe(r):
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
	return char.First(term, maxTerm)
}

// joinsLetters reports whether the apostrophe of n bytes at s[i:] stands inside a word, before a letter.
func joinsLetters(s string, i, n int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i+n:])
	return char.InWord(before) && !char.IsApostrophe(before) && unicode.IsLetter(after) && !char.IsApostrophe(after) && !char.IsUnspaced(after)
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
