package text

import (
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
)

// language is what differs between languages besides the stop words.
type language struct {
	name string
	stem func(*snowballstem.Env) bool // nil: words are their own terms
	// elision: an apostrophe divides words.
	elision bool
	// accents restores endings that the stemmer knows only with their accents, as pairs of plain and accented ending, longest first.
	// Folding comes before stemming, so that a word typed without accents has the same term as the word typed with them.
	accents []string
}

var languages = []language{
	{name: "danish", stem: danish.Stem},
	{name: "dutch", stem: dutch.Stem},
	{name: "english", stem: english.Stem},
	{name: "finnish", stem: finnish.Stem},
	{name: "french", stem: french.Stem, elision: true, accents: []string{
		"ees", "ées", "ee", "ée", "ites", "ités", "ite", "ité"}},
	{name: "german", stem: german.Stem},
	{name: "italian", stem: italian.Stem, elision: true, accents: []string{"ita", "ità"}},
	{name: "none"},
	{name: "norwegian", stem: norwegian.Stem},
	{name: "portuguese", stem: portuguese.Stem, accents: []string{
		"acoes", "ações", "icoes", "ições", "ucoes", "uções", "acao", "ação", "icao", "ição", "ucao", "ução"}},
	{name: "russian", stem: russian.Stem},
	{name: "spanish", stem: spanish.Stem, accents: []string{
		"acion", "ación", "ucion", "ución", "logia", "logía", "iamos", "íamos", "ian", "ían", "ias", "ías", "ia", "ía"}},
	{name: "swedish", stem: swedish.Stem},
}

// accented puts the accents back on the ending of a folded word.
func (l *language) accented(word string) string {
	for i := 0; i < len(l.accents); i += 2 {
		if strings.HasSuffix(word, l.accents[i]) {
			return word[:len(word)-len(l.accents[i])] + l.accents[i+1]
		}
	}
	return word
}
