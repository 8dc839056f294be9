package session

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
)

// boaEvent is an event of a session. Of each type only some of the fields are there.
type boaEvent struct {
	ID        text            `json:"id"`
	Type      text            `json:"type"`
	Created   json.RawMessage `json:"createdAt"`
	Processed json.RawMessage `json:"processedAt"`
	Message   text            `json:"message"`
	Summary   text            `json:"summary"`
	Note      text            `json:"note"`
	Request   text            `json:"requestId"`
	Tool      text            `json:"toolName"`
	Allowed   flag            `json:"allowed"`
	Input     json.RawMessage `json:"input"`
	Output    json.RawMessage `json:"output"`
	Reason    text            `json:"reason"`
	From      text            `json:"fromStatus"`
	To        text            `json:"toStatus"`
	Child     text            `json:"childSessionId"`
	Stop      text            `json:"childStopReason"`
	Goal      text            `json:"outcomeTitle"`
	Name      text            `json:"name"`
	Span      text            `json:"spanKind"`
	Result    text            `json:"result"`
	Outcome   struct {
		Title  text `json:"title"`
		Detail text `json:"detail"`
	} `json:"outcome"`
}

// event notes an event of a session. One that comes again is the same, and the key says so.
func (b *openboa) event(e *entry, i int, l *boaLine) {
	v := &l.Event
	id := string(v.ID)
	if id == "" {
		id = fmt.Sprintf("line:%d", e.line)
	}
	if at := timeOf(v.Created); !at.IsZero() {
		e.at = at
	}
	e.key, e.unique = "openboa:"+string(or(l.SessionID, text(b.session)))+":"+id, true
	if strings.HasPrefix(id, "legacy:") { // brought over from the older log, which may be read as well
		e.key = id
	}
	if v.Processed != nil && !isNull(v.Processed) {
		b.processed[id] = true
	}
	said := v.read()
	if said[0].SetAside == conversation.AsideEvent {
		return
	}
	e.kind, e.pieces = message, len(said)
	b.events[i] = id
	for _, m := range said {
		e.uses(m.Blocks)
	}
}

// The most characters of a note, and of a title or another short part of one.
const (
	boaNote  = 180
	boaShort = 80
)

// boaInline is a text as a part of a note: on one line, and of at most so many characters.
func boaInline(s text, most int) string {
	line := []rune(strings.Join(strings.Fields(string(s)), " "))
	switch {
	case len(line) == 0:
		return "empty"
	case len(line) > most:
		return strings.TrimRight(string(line[:most-3]), " ") + "..."
	}
	return string(line)
}

// read gives the event: talk, a tool's call and its result, a note of at most 180 characters about what the host did, or a record that says nothing to a model.
func (v *boaEvent) read() []conversation.Message {
	switch v.Type {
	case "user.message":
		return []conversation.Message{boaSaid("user", v.Message)}
	case "agent.message":
		return []conversation.Message{boaSaid("assistant", or(v.Message, v.Summary))}
	case "agent.tool_use", "agent.custom_tool_use":
		return v.used()
	case "user.custom_tool_result":
		output, files := outputOf(v.Output)
		return []conversation.Message{result(v.call(), string(v.Tool), output, false, files)}
	}
	if note := v.note(); note != "" {
		role := "assistant"
		if strings.HasPrefix(string(v.Type), "user.") {
			role = "user"
		}
		return []conversation.Message{{Role: role, Text: boaInline(text(note), boaNote), SourceKind: "event"}}
	}
	return []conversation.Message{eventOf("system", string(v.Type), "")}
}

// call is the id that joins a tool's call and its result.
func (v *boaEvent) call() string { return string(or(v.Request, v.ID)) }

// used is a tool's call, and what it gave where the event says so.
func (v *boaEvent) used() []conversation.Message {
	call := conversation.Message{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, CallID: v.call(), Tool: string(v.Tool), Input: jsonText(orNull(v.Input))}}}
	if v.Output == nil || isNull(v.Output) {
		return []conversation.Message{call}
	}
	output, files := outputOf(v.Output)
	return []conversation.Message{call, result(v.call(), string(v.Tool), output, false, files)}
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// note is what the event is to a reader, or "".
func (v *boaEvent) note() string {
	short := func(s text) string { return boaInline(s, boaShort) }
	switch v.Type {
	case "user.define_outcome":
		return "outcome wanted: " + short(v.Outcome.Title) + ": " + short(v.Outcome.Detail)
	case "user.interrupt":
		return "interrupted: " + short(v.Note)
	case "user.tool_confirmation":
		verdict := "refused"
		if v.Allowed {
			verdict = "allowed"
		}
		return verdict + " the tool " + short(v.Tool) + ": " + short(v.Note)
	case "session.child_created":
		return "child session for " + short(v.Goal) + ": " + boaInline(v.Message, boaNote)
	case "session.child_idle":
		return "child session came to rest (" + short(v.Stop) + "): " + boaInline(v.Summary, boaNote)
	case "session.status_changed":
		return "status from " + short(v.From) + " to " + short(v.To) + ": " + short(v.Reason)
	case "session.status_idle":
		return "came to rest (" + short(v.Reason) + "): " + boaInline(v.Summary, boaNote)
	case "span.completed":
		return short(v.Span) + " " + short(v.Name) + " ended in " + short(v.Result) + ": " + boaInline(v.Summary, boaNote)
	}
	return ""
}
