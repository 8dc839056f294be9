package conversation

import (
	"cmp"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/text/extract"
	"github.com/mallardmem/mallard/engine/text/standin"
)

// Label says when a message was said, and by whom.
func (m *Message) Label(at *time.Location) string {
	return "[" + Moment(m.SaidAt, at) + "] " + cmp.Or(m.Speaker, m.Role)
}

// Moment is a time as models are shown it, in summaries and elsewhere; without a location, in UTC.
func Moment(t time.Time, at *time.Location) string {
	if at == nil {
		at = time.UTC
	}
	return t.In(at).Format(extract.Moment)
}

// Day is the day of a time in the words that a message is found by.
func Day(t time.Time) string { return t.Format("2 January 2006") }

// Source is what a summariser reads of the message: what was said and shown, and what tools were given and gave; no thinking.
func (m *Message) Source() string {
	said := m.Text
	if m.hasMedia() {
		said = standin.StripMedia(said)
	}
	lines := []string{strings.TrimSpace(said)}
	if m.Caption != "" {
		lines = append(lines, "[shown: "+m.Caption+"]")
	}
	for i := range m.Blocks {
		switch b := &m.Blocks[i]; b.Type {
		case ToolCallBlock:
			lines = append(lines, strings.TrimSpace("[calls "+cmp.Or(b.Tool, "a tool")+"] "+standin.OmitEncoded(b.Input)))
		case ToolResultBlock:
			what := "[result of " + cmp.Or(b.Tool, "a tool")
			if b.IsError {
				what += ", an error"
			}
			lines = append(lines, strings.TrimSpace(what+"] "+standin.OmitEncoded(b.Output)))
		}
	}
	kept := lines[:0]
	for _, line := range lines {
		if line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

func (m *Message) hasMedia() bool {
	for i := range m.Blocks {
		if partKinds[m.Blocks[i].Type] == "file" || m.Blocks[i].Type == "snapshot" {
			return true
		}
	}
	return false
}

// Whole is all that a message says: its text, its caption, and what tools were given and gave.
func (m *Message) Whole() string {
	var lines []string
	for _, s := range []string{m.Text, m.Caption, m.ToolText()} {
		if s != "" {
			lines = append(lines, s)
		}
	}
	return strings.Join(lines, "\n")
}
