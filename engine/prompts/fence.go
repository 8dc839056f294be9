package prompts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
)

// none stands for absent material.
const none = "(none)"

// fence puts material between tags: <segment-0a1b2c3d4e5f6a7b> and </segment-0a1b2c3d4e5f6a7b>. The mark in the tags is a digest of all
// material of the prompt, so that a text which holds its own closing tag can't be made. What merely looks like a tag is taken
// apart as well, since a model reads more loosely than a parser.
type fence struct {
	// Mark is 16 hexadecimal digits.
	Mark string
}

// newFence makes the fence of one prompt; material is everything that will stand in it.
func newFence(material ...string) fence {
	digest := sha256.New()
	for _, text := range material {
		fmt.Fprintf(digest, "%d:", len(text))
		io.WriteString(digest, text)
	}
	return fence{hex.EncodeToString(digest.Sum(nil))[:16]}
}

// Wrap returns text in its fence; "(none)" stands for a blank text. The name is one of those in lookAlike.
func (f fence) Wrap(name, text string) string {
	return f.WrapID(name, "", text)
}

// WrapID is Wrap with an id in the opening tag.
func (f fence) WrapID(name, id, text string) string {
	text = strings.Trim(neutral(text), "\n")
	if strings.TrimSpace(text) == "" {
		text = none
	}
	if id != "" {
		id = fmt.Sprintf(" id=%q", plainID(id))
	}
	return fmt.Sprintf("<%[1]s-%[2]s%[3]s>\n%[4]s\n</%[1]s-%[2]s>", name, f.Mark, id, text)
}

var (
	// lookAlike is the start of a tag of ours, in any of the brackets that pass for one.
	lookAlike = regexp.MustCompile(`(?i)(?:[<＜﹤‹〈⟨]|&lt;|&#0*60;|&#x0*3c;)` +
		`([\s\p{Z}\p{Cf}/\\]*(?:segment|summaries|previous|operator|file_details|file_text|excerpt|question|turn|draft|memory))`)
	// control is the start of a chat template's token, such as <|end|>, which some servers obey wherever it stands.
	control = regexp.MustCompile(`<([|｜][^\s<])`)
)

// neutral is text as it may stand in a fence: clean, without look-alikes of tags and without control tokens.
func neutral(text string) string {
	return control.ReplaceAllString(lookAlike.ReplaceAllString(clean(text), "($1"), "($1")
}

// clean leaves valid UTF-8 with line feeds and tabs, and nothing else that a reader wouldn't see, except the joiners that emoji and
// some scripts need.
func clean(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d':
			return r
		case r == '\r' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, text)
}

// line is text on one line, of at most 160 characters.
func line(text string) string {
	runes := []rune(strings.Join(strings.Fields(clean(text)), " "))
	if len(runes) > 160 {
		runes = append(runes[:159], '…')
	}
	return string(runes)
}

// plainID is an id with everything that none of ours holds replaced.
func plainID(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
}
