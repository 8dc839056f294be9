package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold returns s in the spelling that words are compared in: compatibility forms unified (NFKC), lower case, without accents.
// The package comment says which marks stay. Invalid bytes and NUL become U+FFFD. Folding twice changes nothing more.
func Fold(s string) string {
	ascii, folded := true, true
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf || c == 0 {
			ascii = false
			break
		}
		if 'A' <= c && c <= 'Z' {
			folded = false
		}
	}
	if ascii {
		if folded {
			return s
		}
		return strings.ToLower(s)
	}
	// A dropped character can bring two others together that compose, hence the second look. A few rounds always settle it.
	for range 8 {
		next, settled := foldOnce(s)
		if settled || next == s {
			return next
		}
		s = next
	}
	return s
}

// foldOnce folds each character once. Settled means that the result is known to be a fixed point.
func foldOnce(s string) (folded string, settled bool) {
	s = norm.NFKC.String(clean(s))
	var b strings.Builder
	b.Grow(len(s))
	settled = true
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			b.WriteByte(byte(r))
		case r < europeanEnd:
			b.WriteString(european[r])
		case extendedStart <= r && r < extendedEnd:
			b.WriteString(extended[r-extendedStart])
		default:
			settled = false
			if !isIgnorable(r) && !isAccent(r) {
				b.WriteRune(unicode.ToLower(r))
			}
		}
	}
	return b.String(), settled
}

// clean replaces invalid bytes and NUL by U+FFFD, which is what makes a text fit for a database column.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

// The letters of Latin, Greek and Cyrillic stand in two blocks, which are folded by table.
const (
	europeanEnd   = 0x530
	extendedStart = 0x1E00
	extendedEnd   = 0x2000
)

var (
	european = foldTable(0, europeanEnd)
	extended = foldTable(extendedStart, extendedEnd)
)

func foldTable(from, to rune) []string {
	table := make([]string, to-from)
	for r := from; r < to; r++ {
		table[r-from] = foldEuropean(r)
	}
	return table
}

func foldEuropean(r rune) string {
	if isIgnorable(r) {
		return ""
	}
	switch l := unicode.ToLower(r); l {
	case 'й', 'ї', 'ў':
		return string(l)
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(string(r))) {
		if unicode.IsMark(r) {
			continue
		}
		r = unicode.ToLower(r)
		if plain, ok := undecomposed(r); ok {
			b.WriteString(plain)
		} else {
			b.WriteRune(r)
		}
	}
	return norm.NFKC.String(b.String())
}

// undecomposed gives the plain spelling of letters that Unicode does not take apart into a base and a mark.
func undecomposed(r rune) (string, bool) {
	switch r {
	case 'ß':
		return "ss", true
	case 'æ':
		return "ae", true
	case 'œ':
		return "oe", true
	case 'þ':
		return "th", true
	case 'ø':
		return "o", true
	case 'ł':
		return "l", true
	case 'đ', 'ð':
		return "d", true
	case 'ħ':
		return "h", true
	case 'ı':
		return "i", true
	case 'ς':
		return "σ", true
	}
	return "", false
}

// isAccent reports marks outside the two tables that go: combining diacritics and the optional points of Hebrew and Arabic.
func isAccent(r rune) bool {
	switch {
	case 0x0591 <= r && r <= 0x05C7, 0x064B <= r && r <= 0x0652, r == 0x0670:
		return unicode.Is(unicode.Mn, r)
	case 0x1AB0 <= r && r <= 0x1AFF, 0x1DC0 <= r && r <= 0x1DFF, 0x20D0 <= r && r <= 0x20FF, 0xFE20 <= r && r <= 0xFE2F:
		return unicode.IsMark(r)
	}
	return false
}

// isIgnorable reports characters that are written but not read: soft hyphen, joiners, direction marks, tatweel, variation selectors.
// The zero width space is not one of them: it divides words.
func isIgnorable(r rune) bool {
	switch {
	case r == 0x00AD, r == 0x0640, r == 0x034F, r == 0xFEFF,
		0x200C <= r && r <= 0x200F, 0x202A <= r && r <= 0x202E, 0x2060 <= r && r <= 0x2069,
		0xFE00 <= r && r <= 0xFE0F, 0xE0100 <= r && r <= 0xE01EF:
		return true
	}
	return false
}
