package standin

import (
	"regexp"
	"strings"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// What stands for media in the text of a message.
const (
	omittedMedia  = "[embedded media omitted]"
	mediaOnly     = "[Media attachment]"
	besidesMedia  = "[with media attachment]"
	minEncoded    = 256 // characters of base64 that are data, not words
	minEncodedRow = 60  // characters of a row that goes on in the next one
)

var (
	dataURL   = regexp.MustCompile(`(?i)data:[a-z0-9.+-]+/[a-z0-9.+-]+(?:;[a-z0-9=.+-]+)*,[^\s"'<>)\]]*`)
	mediaLine = regexp.MustCompile(`(?m)^[ \t]*MEDIA:[ \t]*/[^\n]*\n?`)
)

// StripMedia returns the text of a message that has media, fit for a summariser: data URLs become "[embedded media omitted]", lines
// "MEDIA:/path" and stretches of base64 go, and "[with media attachment]" comes behind. Where no text is left it is
// "[Media attachment]". Stripping twice changes nothing more. A stretch of base64 has 256 characters or more, a multiple of four, and may
// be broken into rows of 60 or more.
func StripMedia(s string) string {
	s = OmitEncoded(mediaLine.ReplaceAllLiteralString(s, ""))
	s = strings.TrimSpace(strings.TrimSuffix(s, besidesMedia))
	if strings.TrimSpace(strings.ReplaceAll(s, omittedMedia, "")) == "" || s == mediaOnly {
		return mediaOnly
	}
	return s + " " + besidesMedia
}

// OmitEncoded returns a text without what nobody reads: data URLs become "[embedded media omitted]", and stretches of base64 go.
func OmitEncoded(s string) string {
	return strings.TrimSpace(dropEncoded(dataURL.ReplaceAllLiteralString(s, omittedMedia)))
}

// dropEncoded leaves out the stretches of base64.
func dropEncoded(s string) string {
	var b strings.Builder
	kept := 0
	for i := 0; i < len(s); {
		end, characters := encodedEnd(s, i)
		if characters >= minEncoded && characters%4 == 0 {
			b.WriteString(s[kept:i])
			kept = end
		}
		i = max(end, i+1)
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

// encodedEnd returns the end of the characters of base64 at s[i:], over the ends of full rows, and their number. A row after the first
// belongs to them if it makes the number a multiple of four.
func encodedEnd(s string, i int) (end, characters int) {
	wholeEnd, whole := 0, 0 // at the end of the last row with a multiple of four
	row := 0
	for end = i; end < len(s); end++ {
		switch c := s[end]; {
		case char.InASCIIWord(c) || c == '+' || c == '/':
			row++
			characters++
			continue
		case c == '=' && row > 0:
			padding := 1
			if strings.HasPrefix(s[end:], "==") {
				padding = 2
			}
			return end + padding, characters + padding
		}
		if characters%4 == 0 {
			wholeEnd, whole = end, characters
		}
		next := strings.TrimPrefix(s[end:min(len(s), end+2)], "\r")
		if row < minEncodedRow || !strings.HasPrefix(next, "\n") {
			break
		}
		end, row = end+len(s[end:min(len(s), end+2)])-len(next), 0
	}
	if characters%4 != 0 && whole > 0 {
		return wholeEnd, whole
	}
	return end, characters
}
