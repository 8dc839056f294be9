package char

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// InWord reports letters, digits and marks, of which words are made.
func InWord(r rune) bool {
	if r < utf8.RuneSelf {
		return InASCIIWord(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// InASCIIWord is InWord for a byte, of which those above ASCII are in no word.
func InASCIIWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// StartsWord reports letters and digits; marks and what isn't read, such as the tatweel, only continue a word.
func StartsWord(r rune) bool {
	if r < utf8.RuneSelf {
		return InASCIIWord(byte(r))
	}
	return (unicode.IsLetter(r) || unicode.IsNumber(r)) && !IsApostrophe(r) && !IsIgnorable(r)
}

// IsApostrophe reports the signs that are written for an apostrophe. One of them is a letter to Unicode, and so to InWord.
func IsApostrophe(r rune) bool {
	return r == '\'' || r == '’' || r == 'ʼ' || r == '＇'
}

// IsIgnorable reports characters that are written but not read: soft hyphen, joiners, direction marks, tatweel, variation selectors.
// The zero width space is not one of them: it divides words.
func IsIgnorable(r rune) bool {
	switch {
	case r == 0x00AD, r == 0x0640, r == 0x034F, r == 0xFEFF,
		0x200C <= r && r <= 0x200F, 0x202A <= r && r <= 0x202E, 0x2060 <= r && r <= 0x2069,
		0xFE00 <= r && r <= 0xFE0F, 0xE0100 <= r && r <= 0xE01EF:
		return true
	}
	return false
}

// IsUnspaced reports letters of scripts that don't divide words by spaces, which are indexed by characters and pairs.
func IsUnspaced(r rune) bool {
	if r < 0x0E00 || !unicode.IsLetter(r) && !unicode.Is(unicode.Nl, r) {
		return false
	}
	switch r {
	case 'ー', 'ｰ', 'ﾞ', 'ﾟ': // shared by both kana, so no script claims them
		return true
	}
	return unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// AreLetters reports a word of letters and marks alone, which is what a stemmer may touch.
func AreLetters(word string) bool {
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

// Clean replaces invalid bytes and NUL by U+FFFD, which is what makes a text fit for a database column.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

// First returns the first n code points of s.
func First(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
