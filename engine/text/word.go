package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
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

// startsWord reports letters and digits; marks and what isn't read, such as the tatweel, only continue a word.
func startsWord(r rune) bool {
	if r < utf8.RuneSelf {
		return isASCIIWord(byte(r))
	}
	return (unicode.IsLetter(r) || unicode.IsNumber(r)) && !isApostrophe(r) && !isIgnorable(r)
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
