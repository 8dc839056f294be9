package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// Snippet returns the part of s that shows most of the given terms, as one line of at most width code points with … where it was
// cut. Among equals the window with more matches wins, then the earlier one. Terms are those of the analyzer's tokens; without a
// match, or without an analyzer, it is the beginning of s.
func Snippet(s string, terms map[string]bool, a *Analyzer, width int) string {
	s = strings.Join(strings.Fields(char.Clean(s)), " ")
	if fits(s, width) {
		return s
	}
	room := width - 2 // for an … on either side
	if room < 1 || a == nil || len(terms) == 0 {
		return Clip(s, width)
	}
	runes := []rune(s)
	first, last, found := bestWindow(a.matches(s, terms), room)
	if !found {
		return Clip(s, width)
	}
	last = min(last, first+room)
	spare := room - (last - first)
	from := max(0, min(first-spare/2, len(runes)-room-1))
	to := min(len(runes), from+room)
	switch {
	case from == 0:
		to = min(len(runes), room+1)
	case to >= len(runes)-1:
		to = len(runes)
	}
	for from < first && !isBoundary(runes, from) {
		from++
	}
	for to > last && !isBoundary(runes, to) {
		to--
	}
	cut := strings.TrimSpace(string(runes[from:to]))
	if from > 0 {
		cut = "…" + cut
	}
	if to < len(runes) {
		cut += "…"
	}
	return cut
}

// Clip returns the beginning of s, at most width code points including the … that marks the cut. It cuts between words, unless
// that would leave less than half the width.
func Clip(s string, width int) string {
	s = char.Clean(s)
	if fits(s, width) {
		return s
	}
	if width < 1 {
		return ""
	}
	runes := []rune(char.First(s, width))
	end := width - 1
	for end > (width-1)/2 && !isBoundary(runes, end) {
		end--
	}
	if !isBoundary(runes, end) {
		end = width - 1
		for end > 1 && unicode.IsMark(runes[end]) {
			end--
		}
	}
	return strings.TrimRightFunc(string(runes[:end]), unicode.IsSpace) + "…"
}

// match is a token that was asked for, in code points from the start of the text.
type match struct {
	term       string
	start, end int
}

func (a *Analyzer) matches(s string, terms map[string]bool) []match {
	var found []match
	bytes, runes := 0, 0
	for _, t := range a.Tokens(s) {
		if !terms[t.Term] {
			continue
		}
		runes += utf8.RuneCountInString(s[bytes:t.Start])
		bytes = t.Start
		found = append(found, match{t.Term, runes, runes + utf8.RuneCountInString(s[t.Start:t.End])})
	}
	return found
}

// bestWindow returns the bounds of the run of matches within room code points that has most distinct terms, then most matches.
func bestWindow(matches []match, room int) (first, last int, found bool) {
	counts := map[string]int{}
	bestDistinct, bestCount := 0, 0
	left := 0
	for right, m := range matches {
		counts[m.term]++
		for left < right && m.end-matches[left].start > room {
			if counts[matches[left].term]--; counts[matches[left].term] == 0 {
				delete(counts, matches[left].term)
			}
			left++
		}
		count := right - left + 1
		if len(counts) > bestDistinct || len(counts) == bestDistinct && count > bestCount {
			bestDistinct, bestCount = len(counts), count
			first, last, found = matches[left].start, m.end, true
		}
	}
	return first, last, found
}

// isBoundary reports whether a text may be cut before runes[i].
func isBoundary(runes []rune, i int) bool {
	if i <= 0 || i >= len(runes) {
		return true
	}
	before, after := runes[i-1], runes[i]
	if unicode.IsMark(after) || char.IsIgnorable(after) || char.IsIgnorable(before) {
		return false
	}
	return !char.InWord(before) || !char.InWord(after) || char.IsUnspaced(before) || char.IsUnspaced(after)
}

func fits(s string, width int) bool {
	return len(s) <= width || utf8.RuneCountInString(s) <= width
}
