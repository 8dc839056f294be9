package text

import (
	"strings"
	"unicode/utf8"
)

// SkipRecall reports whether a prompt needs no recall; a positive minLength replaces the usual minimum length.
func SkipRecall(prompt string, minLength int) bool {
	p := strings.TrimSpace(prompt)
	n := utf8.RuneCountInString(p)
	if n < 5 || IsRecallNoise(p) {
		return true
	}
	if strings.ContainsAny(p, "?？") {
		return false
	}
	if minLength > 0 {
		return n < minLength
	}
	return n < 15
}
