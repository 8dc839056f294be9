package llm

import (
	"regexp"
	"strings"
)

// Local servers leave the thinking of some models in the text: in front of the answer, between tags. Where the chat template itself
// opens the first one, only the closing tag shows, on a line of its own.
var (
	thought      = regexp.MustCompile(`(?is)^<think(?:ing)?>.*?(?:</think(?:ing)?>|\z)`)
	thoughtsOpen = regexp.MustCompile(`(?i)<think(?:ing)?>`)
	thoughtsEnd  = regexp.MustCompile(`(?im)^[ \t]*</think(?:ing)?>[ \t]*\r?$`)
)

// answer is a model's text without the thinking in front and without white space around it.
func answer(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if end := thoughtsEnd.FindStringIndex(text); end != nil && !thoughtsOpen.MatchString(text[:end[0]]) {
		text = strings.TrimSpace(text[end[1]:])
	}
	for {
		block := thought.FindString(text)
		if block == "" {
			return text
		}
		text = strings.TrimSpace(text[len(block):])
	}
}
