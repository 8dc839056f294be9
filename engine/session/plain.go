package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
)

// plain reads lines such as {"role": "user", "content": "…", "time": "…"}, in the order of the talk. A line may be wrapped in an
// object as its "message", and may name its session, its speaker and a key of its own.
type plain struct {
	path string
	said map[string]string // by thread and id of a line: what it says
}

func newPlain(path string) *plain { return &plain{path, map[string]string{}} }

type plainLine struct {
	Role    text            `json:"role"`
	Content json.RawMessage `json:"content"`
	Text    json.RawMessage `json:"text"`
	Time    json.RawMessage `json:"time"`
	Stamp   json.RawMessage `json:"timestamp"`
	Created json.RawMessage `json:"created_at"`
	ID      text            `json:"id"`
	Key     text            `json:"key"`
	Session text            `json:"session"`
	Speaker text            `json:"speaker"`
	Name    text            `json:"name"`
	Title   text            `json:"title"`

	CallID  text            `json:"tool_call_id"`
	Calls   []plainCall     `json:"tool_calls"`
	Message json.RawMessage `json:"message"`
}

// plainCall is a call of a tool beside the content, as chat interfaces have it.
type plainCall struct {
	ID       text `json:"id"`
	Function struct {
		Name      text            `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// of reads a line, and what is wrapped in it.
func (p *plain) of(raw []byte) (l plainLine, err error) {
	if err := decode(raw, &l); err != nil {
		return l, err
	}
	if l.Role == "" && isObject(l.Message) {
		outer := l
		l = plainLine{}
		if err := decode(outer.Message, &l); err != nil {
			return l, err
		}
		l.ID, l.Key, l.Session, l.Title = or(l.ID, outer.ID), or(l.Key, outer.Key), or(l.Session, outer.Session), or(l.Title, outer.Title)
		for _, f := range []struct{ inner, outer *json.RawMessage }{{&l.Time, &outer.Time}, {&l.Stamp, &outer.Stamp}, {&l.Created, &outer.Created}} {
			if *f.inner == nil {
				*f.inner = *f.outer
			}
		}
	}
	if l.Content == nil {
		l.Content = l.Text
	}
	switch l.Role {
	case "toolResult", "function":
		l.Role = "tool"
	case "developer":
		l.Role = "system"
	}
	if !slices.Contains(conversation.Roles(), string(l.Role)) {
		return l, fmt.Errorf("role is %q; allowed: %s", l.Role, strings.Join(conversation.Roles(), ", "))
	}
	return l, nil
}

func (p *plain) scan(t *Transcript, e *entry, raw []byte) error {
	l, err := p.of(raw)
	if err != nil {
		return err
	}
	m := l.read()
	if m.SetAside != "" {
		return errors.New("content is empty")
	}
	e.kind = message
	e.thread = t.thread(string(or(l.Session, text(stem(p.path)))))
	v := &t.Threads[e.thread]
	if v.Key = "plain:" + string(l.Session); l.Session == "" {
		v.Key = "plain:" + p.path
	}
	v.Title = string(or(l.Title, text(v.Title)))
	e.key = p.key(t, e, &l, raw) // also of a line that is left out: those after it keep theirs
	at, err := l.saidAt()
	if err != nil {
		return err
	}
	if !at.IsZero() {
		e.at = at
	}
	e.uses(m.Blocks)
	return nil
}

// saidAt is what the first of the fields for it tells; zero: there is none, or it is null or blank. A time that can't be read is an error: what was
// said then would be taken for said with the line before.
func (l *plainLine) saidAt() (time.Time, error) {
	for _, f := range []struct {
		name string
		raw  json.RawMessage
	}{{"time", l.Time}, {"timestamp", l.Stamp}, {"created_at", l.Created}} {
		if told := string(f.raw); told == "" || told == "null" || told == `""` {
			continue
		}
		if at := timeOf(f.raw); at.Year() > 1 {
			return at, nil
		}
		return time.Time{}, fmt.Errorf("%s is %s; allowed: RFC 3339, or seconds or milliseconds since 1970, in the years 2 to 9999", f.name, shortened(f.raw))
	}
	return time.Time{}, nil
}

// shortened is a value for a message.
func shortened(raw json.RawMessage) string {
	const most = 60
	if runes := []rune(string(raw)); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(raw)
}

// key is the line's own, or its id. One that comes again with other words is not the line's alone, and the words make a key of it.
func (p *plain) key(t *Transcript, e *entry, l *plainLine, raw []byte) string {
	id := string(or(l.Key, l.ID))
	if id == "" {
		return t.hashed(string(l.Role), l.Content)
	}
	sum, of := hashOf(canonical(raw)), fmt.Sprintf("%d %s", e.thread, id)
	if first, ok := p.said[of]; ok && first != sum {
		return id + "#" + sum
	}
	p.said[of] = sum
	return id
}

// settle has nothing to do: there are no branches and no compactions.
func (p *plain) settle(*Transcript) {}

func (p *plain) summary(*entry, []byte) string { return "" }

func (p *plain) messages(_ *Transcript, _ *entry, raw []byte) ([]conversation.Message, error) {
	l, err := p.of(raw)
	if err != nil {
		return nil, err
	}
	return []conversation.Message{l.read()}, nil
}

func (l *plainLine) read() conversation.Message {
	if l.Role == "tool" && l.CallID != "" {
		output, files := outputOf(l.Content)
		m := result(string(l.CallID), string(l.Name), output, false, files)
		m.Speaker = string(l.Speaker)
		return m
	}
	m := spokenBy(string(l.Role), l.Content)
	for i, c := range l.Calls {
		if i == 0 && m.SetAside != "" {
			m = conversation.Message{Role: string(l.Role)}
		}
		m.Blocks = append(m.Blocks, conversation.Block{Type: conversation.ToolCallBlock, CallID: string(c.ID), Tool: string(c.Function.Name), Input: jsonText(c.Function.Arguments)})
	}
	m.Speaker = string(or(l.Speaker, l.Name))
	return m
}
