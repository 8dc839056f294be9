package checkpoint

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/conversation"
)

// mostOfProse is how many bytes of an answer that is no object are kept.
const mostOfProse = 4000

// answer is what a model is asked for. Hosts have other names for two of the lists.
type answer struct {
	Summary       string `json:"summary"`
	Topics        lines  `json:"topics"`
	Decisions     lines  `json:"decisions"`
	Questions     lines  `json:"questions"`
	KeyDecisions  lines  `json:"keyDecisions"`
	OpenQuestions lines  `json:"openQuestions"`
}

// lines is a list of strings; what else a model puts in its place is none.
type lines []string

// UnmarshalJSON reads a list, or one string.
func (l *lines) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, (*[]string)(l)) == nil {
		return nil
	}
	*l = nil
	if json.Unmarshal(b, &one) == nil {
		*l = lines{one}
	}
	return nil
}

// parse reads a model's answer: the whole of it as JSON, or else the first balanced object in it, or else all of it is the summary, cut at 4,000 bytes.
func parse(text string, k *Checkpoint) {
	text = strings.TrimSpace(text)
	for _, part := range []string{text, firstObject(text)} {
		var a answer
		if json.Unmarshal([]byte(part), &a) == nil && strings.TrimSpace(a.Summary) != "" {
			k.Summary = strings.TrimSpace(conversation.CleanText(a.Summary))
			k.Topics, k.Decisions, k.Questions = clean(a.Topics), clean(append(a.Decisions, a.KeyDecisions...)), clean(append(a.Questions, a.OpenQuestions...))
			return
		}
	}
	if len(text) > mostOfProse {
		end := mostOfProse
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	k.Summary, k.Topics, k.Decisions, k.Questions = text, []string{}, []string{}, []string{}
}

// firstObject gives the text from the first brace up to the one that closes it; braces in strings don't count. Empty: there is none.
func firstObject(text string) string {
	start := strings.IndexByte(text, '{')
	if start < 0 {
		return ""
	}
	depth, quoted := 0, false
	for i := start; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return text[start : i+1]
			}
		}
	}
	return ""
}
