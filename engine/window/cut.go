package window

import (
	"fmt"
	"unicode/utf8"
)

// Cut shortens a text to at most maxTokens by estimate, which must not fall as a text grows. It keeps the beginning, up to a rune, and
// says so in a last line: "[Capped from 500 tokens to ~300]", "[Capped to ~300]" or "[Capped]", the first that leaves room for some of
// the text, or nothing. A text that has exactly maxTokens or fewer comes back as it is.
func Cut(text string, maxTokens int, estimate func(string) int) string {
	tokens := estimate(text)
	if tokens <= maxTokens {
		return text
	}
	for _, marker := range []string{
		fmt.Sprintf("\n[Capped from %d tokens to ~%d]", tokens, maxTokens),
		fmt.Sprintf("\n[Capped to ~%d]", maxTokens),
		"\n[Capped]",
		"",
	} {
		if head := longest(text, func(head string) bool { return estimate(head+marker) <= maxTokens }); head != "" {
			return head + marker
		}
	}
	return ""
}

// longest is the longest beginning of a text that fits, by halving.
func longest(text string, fits func(string) bool) string {
	least, most := 0, len(text) // what fits, what need not be tried beyond
	for least < most {
		middle := (least + most + 1) / 2
		if fits(text[:wholeRunes(text, middle)]) {
			least = middle
		} else {
			most = middle - 1
		}
	}
	return text[:wholeRunes(text, least)]
}

// wholeRunes is the index at or before end that does not split a rune.
func wholeRunes(text string, end int) int {
	for i := end; i > end-utf8.UTFMax && i >= 0; i-- {
		if i == len(text) || utf8.RuneStart(text[i]) {
			return i
		}
	}
	return end // not UTF-8: cut anywhere
}
