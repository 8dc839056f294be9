package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// TagTokens returns the tags in a query, as written and in order: one of the prefixes in any case, a colon, and one or more letters,
// digits, _ or -. Nothing need stand before the prefix, and of two prefixes that fit the longer wins. A query with tags is
// answered from the lexical channel alone.
func TagTokens(query string, prefixes []string) []string {
	var tags []string
	for i := 0; i < len(query); {
		if n := tagLength(query[i:], prefixes); n > 0 {
			tags = append(tags, query[i:i+n])
			i += n
			continue
		}
		_, n := utf8.DecodeRuneInString(query[i:])
		i += n
	}
	return tags
}

// tagLength returns the length of the tag that s starts with, 0 if there is none.
func tagLength(s string, prefixes []string) int {
	longest := 0
	for _, p := range prefixes {
		if len(p) > longest && len(s) > len(p)+1 && s[len(p)] == ':' && strings.EqualFold(s[:len(p)], p) {
			longest = len(p)
		}
	}
	if longest == 0 {
		return 0
	}
	value := s[longest+1:]
	n := strings.IndexFunc(value, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && r != '_' && r != '-'
	})
	if n < 0 {
		n = len(value)
	}
	if n == 0 {
		return 0
	}
	return longest + 1 + n
}
