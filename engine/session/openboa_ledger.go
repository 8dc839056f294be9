package session

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
)

// boaChat is a line of the ledger: what was said, about whom and where. Its fields stand in the line itself or in an object in it.
type boaChat struct {
	Message     text            `json:"messageId"`
	Revision    int64           `json:"revision"`
	Chat        text            `json:"conversationId"`
	Room        text            `json:"roomId"`
	Participant text            `json:"participantId"`
	ID          text            `json:"id"`
	Title       text            `json:"title"`
	Name        text            `json:"name"`
	Display     text            `json:"displayName"`
	Content     json.RawMessage `json:"content"`
	Body        json.RawMessage `json:"body"`
	Created     json.RawMessage `json:"createdAt"`
	Edited      json.RawMessage `json:"editedAt"`
	Related     text            `json:"relatedMessageId"`
	MessageKind text            `json:"messageKind"`
	Author      struct {
		Kind text `json:"kind"`
		ID   text `json:"id"`
	} `json:"author"`
}

// boaChatOf reads a line of the ledger.
func boaChatOf(raw []byte) (c boaChat, err error) {
	if err := decode(raw, &c); err != nil {
		return c, err
	}
	var within map[string]json.RawMessage
	if err := decode(raw, &within); err != nil {
		return c, err
	}
	for _, name := range []string{"payload", "event", "data", "message", "conversation", "participant"} {
		if isObject(within[name]) {
			if err := decode(within[name], &c); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

// boaMessageKey is the key of a message of the ledger.
func boaMessageKey(id text) string { return "openboa:message:" + string(id) }

// ledger takes a line of the ledger.
func (b *openboa) ledger(t *Transcript, e *entry, i int, kind string, raw []byte) error {
	c, err := boaChatOf(raw)
	if err != nil {
		return err
	}
	for _, told := range []json.RawMessage{c.Edited, c.Created} {
		if at := timeOf(told); !at.IsZero() {
			e.at = at
			break
		}
	}
	chat := or(c.Chat, c.Room)
	switch {
	case chat == "" && kind == "conversation.upserted":
		chat = c.ID
	case chat == "" && len(t.Threads) > 0: // it goes with what is around it
		chat = text(t.Threads[e.thread].ID)
	}
	e.thread = t.thread(strings.TrimSpace(string(or(chat, text(b.session)))))
	v := &t.Threads[e.thread]
	v.Key = "openboa:chat:" + v.ID
	e.key, e.unique = v.Key+":"+t.hashed(kind, raw), true
	switch kind {
	case "conversation.upserted":
		v.Title = string(or(or(c.Title, c.Name), text(v.Title)))
	case "participant.upserted":
		b.names[string(or(c.Participant, c.ID))] = string(or(c.Display, c.Name))
	case "message.redacted":
		b.redacted[string(c.Message)] = true
	case "message.posted", "message.edited":
		if c.Message == "" {
			return nil
		}
		if e.key = boaMessageKey(c.Message); kind == "message.edited" {
			e.key += "@" + fmt.Sprint(or(c.Revision, e.line))
		}
		if c.read(b.names).SetAside == "" {
			e.kind = message
		}
		b.chat[string(c.Message)] = append(b.chat[string(c.Message)], i)
		b.revision[i] = c.Revision
	}
	return nil
}

// posted gives what a line of the ledger says; nothing of what was redacted.
func (b *openboa) posted(e *entry, raw []byte) ([]conversation.Message, error) {
	c, err := boaChatOf(raw)
	if err != nil {
		return nil, err
	}
	if e.redacted {
		return []conversation.Message{eventOf("system", "redacted", "")}, nil
	}
	return []conversation.Message{c.read(b.names)}, nil
}

// read gives the line as a message. What the system says in a room is no turn of talk.
func (c *boaChat) read(names map[string]string) conversation.Message {
	said := c.Body
	if said == nil || isNull(said) {
		said = c.Content
	}
	role := "user"
	switch c.Author.Kind {
	case "agent", "assistant":
		role = "assistant"
	case "system":
		role = "system"
	}
	m := spokenBy(role, said)
	if c.MessageKind == "system-event" && m.SetAside == "" {
		m = eventOf("system", string(c.MessageKind), textOf(m.Blocks))
	}
	m.Speaker = or(names[string(c.Author.ID)], string(c.Author.ID))
	if c.Related != "" {
		m.ReplyTo = boaMessageKey(c.Related)
	}
	return m
}
