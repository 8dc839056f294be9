package char

import "unicode"

// Invisible stands for a character inside a word that isn't read.
const Invisible = -1

// LowerInWord returns a letter, digit or mark in lower case, Invisible for what isn't read, and 0 for what ends a word.
func LowerInWord(r rune) rune {
	if r < europeanEnd {
		return lowerEuropean[r]
	}
	return lowerInWord(r)
}

// lowerEuropean keeps the properties of the letters of the listed languages, whose look-up costs more than all the rest.
var lowerEuropean = func() (table [europeanEnd]rune) {
	for r := range table {
		table[r] = lowerInWord(rune(r))
	}
	return table
}()

func lowerInWord(r rune) rune {
	switch {
	case IsIgnorable(r):
		return Invisible
	case IsApostrophe(r) || !InWord(r) || IsUnspaced(r):
		return 0
	}
	return unicode.ToLower(r)
}

// IsUpper reports capitals.
func IsUpper(r rune) bool {
	if r < europeanEnd {
		return lowerEuropean[r] != 0 && lowerEuropean[r] != Invisible && lowerEuropean[r] != r
	}
	return unicode.IsUpper(r)
}

// IsLower reports letters that are no capitals and have them.
func IsLower(r rune) bool {
	return 'a' <= r && r <= 'z' || r >= 0x80 && unicode.IsLower(r)
}
