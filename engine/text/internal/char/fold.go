package char

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

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
		table[r-from] = fold(r)
	}
	return table
}

// FoldEuropean returns a character in the spelling that words are compared in: in lower case, without accents, in more than one letter or none;
// and false for what stands behind the first of the two blocks.
func FoldEuropean(r rune) (string, bool) {
	if r < europeanEnd {
		return european[r], true
	}
	return "", false
}

// FoldExtended is FoldEuropean for the second block: letters with two marks, and ancient Greek.
func FoldExtended(r rune) (string, bool) {
	if extendedStart <= r && r < extendedEnd {
		return extended[r-extendedStart], true
	}
	return "", false
}

// fold folds a letter of the two blocks. й, ї and ў are letters in their own right.
func fold(r rune) string {
	if IsIgnorable(r) {
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
