package text

import (
	_ "embed"
	"strings"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// group is one row of an expansion table: if one of the triggers occurs in a query, the terms are appended.
type group struct{ triggers, terms []string }

// builtinTable is made of the words of software work in Chinese and English.
//
//go:embed expansion.txt
var builtinTable string

var builtin = readGroups(builtinTable)

// readGroups reads a table: a line holds triggers and terms, divided by |, and among themselves by commas. Blank lines and lines that start with # don't
// count.
func readGroups(table string) (groups []group) {
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		triggers, terms, _ := strings.Cut(line, "|")
		groups = append(groups, group{listed(triggers), listed(terms)})
	}
	return groups
}

// maxExpansion is the most terms that a query gets.
const maxExpansion = 5

// Expand returns the query followed by at most five terms of the groups that fire, in the order of the table, each after a space. A
// term that the query contains already is left out. A query of less than two characters comes back as it is.
//
// A group fires on a trigger that has CJK characters wherever it occurs, on any other where it stands as whole words; case doesn't
// matter.
func Expand(query string) string {
	trimmed := strings.TrimSpace(query)
	if utf8.RuneCountInString(trimmed) < 2 {
		return query
	}
	lower := strings.ToLower(query)
	var terms []string
	seen := map[string]bool{}
	for _, g := range builtin {
		if !g.fires(lower) {
			continue
		}
		for _, term := range g.terms {
			key := strings.ToLower(term)
			if len(terms) == maxExpansion || seen[key] || strings.Contains(lower, key) {
				continue
			}
			seen[key] = true
			terms = append(terms, term)
		}
	}
	if len(terms) == 0 {
		return query
	}
	return query + " " + strings.Join(terms, " ")
}

func (g group) fires(lowerQuery string) bool {
	for _, trigger := range g.triggers {
		trigger = strings.ToLower(trigger)
		if hasCJK(trigger) && strings.Contains(lowerQuery, trigger) || !hasCJK(trigger) && containsWords(lowerQuery, trigger) {
			return true
		}
	}
	return false
}

// containsWords reports whether words occur in s with no letter or digit of the same script right before or after. A CJK character is a
// boundary: 用docker部署 has the word docker.
func containsWords(s, words string) bool {
	for from := 0; words != ""; {
		at := strings.Index(s[from:], words)
		if at < 0 {
			return false
		}
		start, end := from+at, from+at+len(words)
		before, _ := utf8.DecodeLastRuneInString(s[:start])
		after, _ := utf8.DecodeRuneInString(s[end:])
		if !continuesWord(before) && !continuesWord(after) {
			return true
		}
		from = end
	}
	return false
}

func continuesWord(r rune) bool {
	return r != utf8.RuneError && (r == '_' || char.InWord(r) && !char.IsUnspaced(r))
}

func listed(s string) []string {
	var items []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
