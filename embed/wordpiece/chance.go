package wordpiece

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The cosines that texts which have nothing to do with a question seldom
// reach, for all-MiniLM-L6-v2 and the table made from it. Of sixteen everyday
// questions from elsewhere and the texts of the demo history, one pair in a
// hundred lies above 0.20 (table; 0.19 to 0.22 with either, for memories and
// messages); right answers in other words lie above 0.2 but for a few. A
// question of made-up words is another matter: of scraps the model makes
// anything, one such pair in a thousand lies above 0.35 (0.28 to 0.37), and
// the best of 50 texts above 0.23 in every second case.
const (
	chanceOfWords  = 0.20
	chanceOfScraps = 0.35
)

// measured begins the names of the models that the cosines are known of.
var measured = []string{"all-MiniLM-L6-v2", "static-minilm"}

// Chance gives the cosine that a text which has nothing to do with a question
// seldom reaches, for the model of that name with this tokenizer; 0 where
// nobody measured it. words are those of the question that say something:
// where none of them is in the vocabulary, the model has only scraps to go by.
func (t *Tokenizer) Chance(model string, words []string) float64 {
	switch {
	case !slices.ContainsFunc(measured, func(name string) bool { return strings.HasPrefix(model, name) }):
		return 0
	case slices.ContainsFunc(words, t.whole):
		return chanceOfWords
	}
	return chanceOfScraps
}

// whole reports whether a word is one token of its own. Abbreviations of one
// or two letters and numbers say too little to count.
func (t *Tokenizer) whole(word string) bool {
	if utf8.RuneCountInString(word) < 3 || !strings.ContainsFunc(word, unicode.IsLetter) {
		return false
	}
	var e Encoding
	t.Tokenize(&e, word, 0)
	return len(e.IDs) == 1 && e.IDs[0] != t.unknown
}
