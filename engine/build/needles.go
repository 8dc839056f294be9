package build

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text"
)

// needle is something to be found in a text: words that stand side by side, or one.
type needle struct {
	what  string // whole, phrase, path, identifier or word
	said  string
	words []text.Token
	score int
}

// Needles of the kinds.
const (
	wholeNeedle      = "whole"
	phraseNeedle     = "phrase"
	pathNeedle       = "path"
	identifierNeedle = "identifier"
	wordNeedle       = "word"
)

// quoted is a phrase in quotation marks of 2 to 160 characters.
var quoted = regexp.MustCompile(`"([^"\n]{2,160})"`)

// quotes makes plain quotation marks of all others.
var quotes = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`)

// needlesOf reads what is asked: each part whole, then its phrases, and of what is left paths, which have a slash, dot or colon, identifiers, which have a hyphen, an underscore or letters
// and digits, and plain words but stop words. What is named twice counts once.
func (h *Hints) needlesOf(a *text.Analyzer, parts []string) (all []needle) {
	seen := map[string]bool{}
	add := func(what, said string, words []text.Token, score int) {
		key := what
		for _, w := range words {
			key += "\x00" + w.Term
		}
		if len(words) > 0 && score > 0 && !seen[key] {
			seen[key] = true
			all = append(all, needle{what, said, words, score})
		}
	}
	for _, part := range parts {
		part = quotes.Replace(part)
		if whole := a.Words(part); slices.ContainsFunc(whole, func(w text.Token) bool { return !a.IsStop(w.Surface) }) {
			add(wholeNeedle, line(part, 60), whole, h.Whole)
		}
		for _, m := range quoted.FindAllStringSubmatch(part, -1) {
			add(phraseNeedle, m[1], a.Words(m[1]), h.Phrase)
		}
		for _, field := range strings.Fields(quoted.ReplaceAllString(part, " ")) {
			field = strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
			switch {
			case strings.ContainsAny(field, "/.:"):
				add(pathNeedle, field, a.Words(field), h.Path)
			case isIdentifier(field):
				add(identifierNeedle, field, a.Words(field), h.Identifier)
			default:
				for _, w := range outermost(a.Tokens(field)) {
					if !a.IsStop(w.Surface) {
						add(wordNeedle, w.Surface, []text.Token{w}, h.Word)
					}
				}
			}
		}
	}
	return all
}

func isIdentifier(s string) bool {
	return strings.ContainsAny(s, "_-") || strings.ContainsFunc(s, unicode.IsLetter) && strings.ContainsFunc(s, unicode.IsDigit)
}

// outermost leaves out tokens that lie within another, as the single characters of a pair do.
func outermost(tokens []text.Token) (all []text.Token) {
	for _, t := range tokens {
		if n := len(all); n > 0 && t.Start >= all[n-1].Start && t.End <= all[n-1].End {
			continue
		}
		all = append(all, t)
	}
	return all
}

// found is what of the needles a text has.
type found struct {
	score int
	first int      // byte of the text where the first of them begins; -1: it has none
	why   []string // each with what it counts
}

// find looks for needles in a text, which is one line. Of parts that it says whole one counts.
func find(a *text.Analyzer, said string, needles []needle) found {
	f := found{first: -1}
	tokens := a.Tokens(said)
	at := map[string]int{} // where a word stands first
	for _, t := range slices.Backward(tokens) {
		at[t.Term] = t.Start
	}
	words := a.Words(said)
	whole := false
	for _, n := range needles {
		start, ok := 0, false
		if n.what == wordNeedle {
			start, ok = at[n.words[0].Term]
		} else if i := text.IndexWords(words, n.words); i >= 0 && !(n.what == wholeNeedle && whole) {
			start, ok = words[i].Start, true
			whole = whole || n.what == wholeNeedle
		}
		if !ok {
			continue
		}
		if f.first < 0 || start < f.first {
			f.first = start
		}
		f.score += n.score
		f.why = append(f.why, fmt.Sprintf("%s %q +%d", n.what, n.said, n.score))
	}
	return f
}

// hasAll reports whether a text has all words of another but its stop words, and one at least.
func hasAll(a *text.Analyzer, tokens []text.Token, of string) bool {
	wanted := 0
	for _, w := range outermost(a.Tokens(of)) {
		if a.IsStop(w.Surface) {
			continue
		}
		wanted++
		if !slices.ContainsFunc(tokens, func(t text.Token) bool { return t.Term == w.Term }) {
			return false
		}
	}
	return wanted > 0
}

// around is the stretch of a text of so many characters that begins so many before a byte of it, in bytes.
func around(s string, first, chars, before int) (from, to int) {
	from = max(first, 0)
	for ; before > 0 && from > 0; before-- {
		_, size := utf8.DecodeLastRuneInString(s[:from])
		from -= size
	}
	if from > 0 && utf8.RuneCountInString(s) <= chars { // all of it has room
		from = 0
	}
	for to = from; chars > 0 && to < len(s); chars-- {
		_, size := utf8.DecodeRuneInString(s[to:])
		to += size
	}
	return from, to
}

// stretch is what is shown of a line, with dots where something is left out.
func stretch(s string, from, to int) string {
	shown := strings.TrimSpace(s[from:to])
	if from > 0 {
		shown = "..." + shown
	}
	if to < len(s) {
		shown += "..."
	}
	return shown
}
