package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mallardmem/mallard/engine/text/internal/char"
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
	s = norm.NFKC.String(char.Clean(s))
	var b strings.Builder
	b.Grow(len(s))
	settled = true
	for _, r := range s {
		if r < utf8.RuneSelf {
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			b.WriteByte(byte(r))
		} else if folded, ok := char.FoldEuropean(r); ok {
			b.WriteString(folded)
		} else if folded, ok := char.FoldExtended(r); ok {
			b.WriteString(folded)
		} else {
			settled = false
			if !char.IsIgnorable(r) && !isAccent(r) {
				b.WriteRune(unicode.ToLower(r))
			}
		}
	}
	return b.String(), settled
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
