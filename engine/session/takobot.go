package session

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
)

// takobot reads the transcripts of Takobot: a header, and after it rows of role, text and time that have no ids. A row is known by its line.
type takobot struct {
	session string
}

func newTakobot(path string) *takobot { return &takobot{stem(path)} }

type takobotLine struct {
	Type    text            `json:"type"`
	Session text            `json:"session_id"`
	Key     text            `json:"session_key"`
	Role    text            `json:"role"`
	Text    text            `json:"text"`
	Created json.RawMessage `json:"created_at"`
}

func (b *takobot) scan(t *Transcript, e *entry, raw []byte) error {
	var l takobotLine
	if err := decode(raw, &l); err != nil {
		return err
	}
	if len(t.Threads) == 0 {
		t.Threads = []Thread{{ID: b.session, Key: takobotKey(b.session)}}
	}
	if at := timeOf(l.Created); !at.IsZero() {
		e.at = at
	}
	if l.Type == "session" && len(t.entries) == 0 {
		b.session = strings.TrimSpace(string(or(l.Session, text(b.session))))
		t.Threads[0] = Thread{ID: b.session, Key: takobotKey(string(or(l.Key, text(b.session))))}
	}
	e.key, e.unique = fmt.Sprintf("tako:%s:%d", b.session, e.line), true
	if l.read().SetAside == "" {
		e.kind = message
	}
	return nil
}

// takobotKey is the key of the conversation that all sessions of one of Takobot's keys go on in.
func takobotKey(key string) string { return "takobot:" + strings.TrimSpace(key) }

// settle has nothing to do: there are no branches and no compactions.
func (b *takobot) settle(*Transcript) {}

func (b *takobot) summary(*entry, []byte) string { return "" }

func (b *takobot) messages(_ *Transcript, _ *entry, raw []byte) ([]conversation.Message, error) {
	var l takobotLine
	if err := decode(raw, &l); err != nil {
		return nil, err
	}
	return []conversation.Message{l.read()}, nil
}

// read gives the row as a message, its white space joined as Takobot does before it stores anything.
func (l *takobotLine) read() conversation.Message {
	said := strings.Join(strings.Fields(string(l.Text)), " ")
	switch role := string(l.Role); {
	case l.Type != "message" || role != "user" && role != "assistant" && role != "system":
		return eventOf("system", string(l.Type), said)
	case said == "":
		return eventOf(role, "empty", "")
	default:
		return conversation.Message{Role: role, Text: said, Fallback: role == "assistant" && takobotFallback(said)}
	}
}

// takobotFallback reports whether a reply is what Takobot says when its model failed.
func takobotFallback(said string) bool {
	said = strings.ToLower(said)
	for _, words := range []string{"inference is unavailable", "replying in fallback mode", "diagnostic status only"} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return strings.Contains(said, "last inference error:") && strings.Contains(said, "detailed command logs:")
}

// takobotRows reports whether the first line of a file that can be read is a row of Takobot's.
func takobotRows(ctx context.Context, in io.ReaderAt, size int64) (yes bool) {
	_, _ = eachLine(ctx, in, 0, size, 1, func(l line) error {
		var v takobotLine
		if decode(stripped(l.text), &v) != nil {
			return nil
		}
		yes = v.Type == "message" && v.Role != "" && v.Created != nil
		return io.EOF
	})
	return yes
}
