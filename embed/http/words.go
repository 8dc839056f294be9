package remote

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// rareEnough is the weight below which a word of a question is left out.
const rareEnough = 0.2

// unspaced are scripts that put no spaces between words: what stands together is no word, so nobody can weigh it.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// withoutCommon is a question without the words that say too little, or the whole of it where no other word is left.
func withoutCommon(text string, weight func(word string) float64) string {
	if weight == nil {
		return text
	}
	var left strings.Builder
	kept, dropped := false, false
	for rest := text; rest != ""; {
		n := strings.IndexFunc(rest, inWord)
		if n < 0 {
			n = len(rest)
		}
		left.WriteString(rest[:n])
		rest = rest[n:]
		if n = strings.IndexFunc(rest, func(r rune) bool { return !inWord(r) }); n < 0 {
			n = len(rest)
		}
		word := rest[:n]
		rest = rest[n:]
		if word == "" {
			continue
		}
		if term := folded(word); term != "" && !strings.ContainsFunc(term, func(r rune) bool { return unicode.In(r, unspaced...) }) && weight(term) < rareEnough {
			dropped = true
			continue
		}
		kept = true
		left.WriteString(word)
	}
	if !kept || !dropped {
		return text
	}
	return strings.Join(strings.Fields(left.String()), " ")
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// folded is a word in lower case without accents.
func folded(word string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(strings.ToLower(word)))
}
