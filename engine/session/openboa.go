package session

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
)

// openboa reads what openboa appends to: the events of a session, which count once they are processed; the older log of an agent's turns; and
// the ledger of chat rooms, in which a message may be edited and redacted.
type openboa struct {
	session   string
	processed map[string]bool   // events, by their ids
	events    map[int]string    // by entry: the event that it is
	names     map[string]string // of participants of the chat, by id
	chat      map[string][]int  // by message of the ledger: its revisions, as entries
	revision  map[int]int64     // by entry
	redacted  map[string]bool   // messages of the ledger
}

func newOpenboa(path string) *openboa {
	session := stem(path)
	if session == "events" {
		session = filepath.Base(filepath.Dir(path))
	}
	return &openboa{session: session, processed: map[string]bool{}, events: map[int]string{}, names: map[string]string{}, chat: map[string][]int{},
		revision: map[int]int64{}, redacted: map[string]bool{}}
}

// The kinds of lines. Those of the ledger have a dot after the first of its nouns.
const (
	boaAppended  = "session.event.appended"
	boaProcessed = "session.event.processed"
	boaTurn      = "turn.completed"
	boaLearning  = "runtime.learning.captured"
)

// boaLedger are the nouns that the ledger's lines begin with.
var boaLedger = []string{"conversation.upserted", "conversation.membership.", "authorization.grant-binding.", "conversation.cursor.", "conversation.attachment.",
	"participant.upserted", "message.posted", "message.edited", "message.redacted", "message.reaction."}

// boaKind is the kind of a line of openboa's, or "": the first of the words that is one.
func boaKind(words ...text) string {
	for _, word := range words {
		kind := string(word)
		if slices.Contains([]string{boaAppended, boaProcessed, boaTurn, boaLearning}, kind) ||
			slices.ContainsFunc(boaLedger, func(noun string) bool { return strings.HasPrefix(kind, noun) }) {
			return kind
		}
	}
	return ""
}

// boaLine has those fields of a line that matter here.
type boaLine struct {
	Kind      text            `json:"kind"`
	Type      text            `json:"type"`
	EventType text            `json:"eventType"`
	SessionID text            `json:"sessionId"`
	EventID   text            `json:"eventId"`
	AgentID   text            `json:"agentId"`
	Created   json.RawMessage `json:"createdAt"`
	Processed json.RawMessage `json:"processedAt"`

	Event boaEvent `json:"event"` // of a session

	ConversationID text `json:"conversationId"` // of a turn, and of the ledger
	Request        text `json:"requestMessage"`
	Response       text `json:"responseMessage"`
	Checkpoint     struct {
		ID      text            `json:"checkpointId"`
		Created json.RawMessage `json:"createdAt"`
	} `json:"checkpoint"`
}

// of reads a line.
func (b *openboa) of(raw []byte) (l boaLine, kind string, err error) {
	if err := decode(raw, &l); err != nil {
		return l, "", err
	}
	return l, boaKind(l.Kind, l.Type, l.EventType), nil
}

func (b *openboa) scan(t *Transcript, e *entry, raw []byte) error {
	l, kind, err := b.of(raw)
	if err != nil {
		t.refused = fmt.Sprintf("line %d: %s; a log of openboa is read to its end or not at all, so mend the line or remove it", e.line, err)
		return err
	}
	t.byTime = true
	i := len(t.entries)
	if at := timeOf(l.Created); !at.IsZero() {
		e.at = at
	}
	switch kind {
	case boaAppended, boaProcessed, "":
		b.thread(t, e, l.SessionID)
	}
	switch kind {
	case boaAppended:
		b.event(e, i, &l)
	case boaProcessed:
		b.processed[string(l.EventID)] = true
		e.key, e.unique = "openboa:"+t.Threads[e.thread].ID+":"+t.hashed(kind, raw), true
	case boaTurn:
		b.turn(t, e, &l, raw)
	case "", boaLearning:
		e.key, e.unique = "openboa:"+t.Threads[e.thread].ID+":"+t.hashed(kind, raw), true
	default:
		return b.ledger(t, e, i, kind, raw)
	}
	return nil
}

// thread puts an entry into that of a session.
func (b *openboa) thread(t *Transcript, e *entry, session text) {
	id := strings.TrimSpace(string(or(session, text(b.session))))
	e.thread = t.thread(id)
	t.Threads[e.thread].Key = "openboa:" + id
}

// turn takes a line of the older log: what was asked and what was answered, under the ids that openboa itself gives them when it brings them into a session.
func (b *openboa) turn(t *Transcript, e *entry, l *boaLine, raw []byte) {
	b.thread(t, e, or(l.SessionID, l.ConversationID))
	if at := timeOf(l.Checkpoint.Created); !at.IsZero() {
		e.at = at
	}
	id := string(l.Checkpoint.ID)
	if id == "" {
		id = t.hashed(boaTurn, raw)
	}
	e.kind, e.unique, e.pieces = message, true, 2
	e.key = "legacy:" + id + ":user"
	e.names = []string{e.key, "legacy:" + id + ":agent"}
}

// settle finds what is processed, and which revision of a message of the ledger counts.
func (b *openboa) settle(t *Transcript) {
	for i, id := range b.events {
		t.entries[i].withheld = !b.processed[id]
	}
	for id, revisions := range b.chat {
		newest := revisions[0]
		for _, i := range revisions[1:] {
			if b.revision[i] >= b.revision[newest] {
				newest = i
			}
		}
		for _, i := range revisions {
			e := t.entries[i]
			e.redacted = b.redacted[id]
			if e.aside = ""; i != newest {
				e.aside = conversation.AsideOffBranch
			}
		}
	}
}

func (b *openboa) summary(*entry, []byte) string { return "" }

func (b *openboa) messages(_ *Transcript, e *entry, raw []byte) ([]conversation.Message, error) {
	l, kind, err := b.of(raw)
	if err != nil {
		return nil, err
	}
	switch kind {
	case boaAppended:
		return l.Event.read(), nil
	case boaTurn:
		return []conversation.Message{boaSaid("user", l.Request), boaSaid("assistant", l.Response)}, nil
	case "message.posted", "message.edited":
		return b.posted(e, raw)
	}
	return []conversation.Message{eventOf("system", or(kind, string(or(l.Kind, l.Type))), "")}, nil
}

// boaSaid is a text as a message; an empty one is an event.
func boaSaid(role string, said text) conversation.Message {
	if strings.TrimSpace(string(said)) == "" {
		return eventOf(role, "empty", "")
	}
	return conversation.Message{Role: role, Text: string(said)}
}
