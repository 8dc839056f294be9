package text

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// isCJK reports Han, kana and hangul together with the punctuation and full-width forms that go with them.
func isCJK(r rune) bool {
	if r < 0x1100 {
		return false
	}
	switch {
	case r <= 0x11FF, 0x2E80 <= r && r <= 0x9FFF, 0xA960 <= r && r <= 0xA97F, 0xAC00 <= r && r <= 0xD7FF,
		0xF900 <= r && r <= 0xFAFF, 0xFF00 <= r && r <= 0xFFEF, 0x20000 <= r && r <= 0x3FFFF:
		return true
	}
	return false
}

// hasCJK reports whether s has a CJK letter; punctuation doesn't count.
func hasCJK(s string) bool {
	for _, r := range s {
		if isCJK(r) && unicode.IsLetter(r) {
			return true
		}
	}
	return false
}

// unspaced appends the terms of the run of unspaced letters at s[i:] and returns where the run ends. A character is one letter
// with all that composes with it or marks it, so that half-width ｶﾞ and full-width ガ are the same.
func (m *memo) unspaced(dst []Token, s string, i int) ([]Token, int) {
	previous := -1
	for i < len(s) {
		r, _ := utf8.DecodeRuneInString(s[i:])
		if !char.IsUnspaced(r) {
			break
		}
		end := characterEnd(s, i)
		if previous >= 0 {
			dst = m.appendWord(dst, s, previous, end)
		}
		dst = m.appendWord(dst, s, i, end)
		previous, i = i, end
	}
	return dst, i
}

// maxMarks bounds a character: what has more marks is no writing.
const maxMarks = 30

func characterEnd(s string, i int) int {
	n := norm.NFKC.NextBoundaryInString(s[i:min(len(s), i+4*maxMarks)], true)
	if n <= 0 {
		_, n = utf8.DecodeRuneInString(s[i:])
	}
	i += n
	for range maxMarks {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !unicode.IsMark(r) && !char.IsIgnorable(r) {
			break
		}
		i += n
	}
	return i
}
