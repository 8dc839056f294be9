package faulttest

import (
	"fmt"
	"strconv"
	"strings"
)

// modelled gives what a file says to a user, in words that follow from what was asked for. Rows of a conversation that the engine makes by itself
// are the last four.
const modelled = `
SELECT 'memory ' || id, concat_ws('|', text, round(importance * 100)::INT, retired_at IS NOT NULL, coalesce(superseded_by, ''), coalesce(supersedes, ''), epoch_us(created_at)) FROM memories
UNION ALL SELECT 'message ' || m.caller_key, concat_ws('|', c.name, m.seq, m.role, m.text, epoch_us(m.said_at)) FROM messages AS m JOIN conversations AS c ON c.id = m.conversation_id
UNION ALL SELECT name, value ->> 'pool' FROM settings WHERE starts_with(name, 'weights:')
UNION ALL SELECT name, value ->> '$.definitions.team' FROM settings WHERE name = 'scopes' AND (value ->> '$.definitions.team') IS NOT NULL
UNION ALL SELECT 'cursor ' || path, lines::VARCHAR FROM cursors
UNION ALL SELECT 'conversation ' || name, hash(c)::VARCHAR FROM (SELECT * EXCLUDE (last_session_no) FROM conversations) AS c
UNION ALL SELECT 'summary ' || c.name || ' ' || s.id, hash(s)::VARCHAR FROM (SELECT * EXCLUDE (doc_no) FROM summaries) AS s JOIN conversations AS c ON c.id = s.conversation_id
UNION ALL SELECT 'source ' || c.name || ' ' || s.id || ' ' || u.ordinal, u.source FROM summary_sources AS u JOIN summaries AS s ON s.id = u.summary_id JOIN conversations AS c ON c.id = s.conversation_id
UNION ALL SELECT 'item ' || c.name || ' ' || i.position, i.ref FROM context_items AS i JOIN conversations AS c ON c.id = i.conversation_id`

// memory is what the model knows of one.
type kept struct {
	text                     string
	importance               int // in hundredths
	forgotten                bool
	supersededBy, supersedes string
	createdAt                int64 // microseconds
}

func (m kept) String() string {
	return fmt.Sprintf("%s|%d|%t|%s|%s|%d", m.text, m.importance, m.forgotten, m.supersededBy, m.supersedes, m.createdAt)
}

// readMemory reads what String wrote.
func readMemory(row string) (m kept) {
	parts := strings.Split(row, "|")
	m.text, m.forgotten, m.supersededBy, m.supersedes = parts[0], parts[2] == "true", parts[3], parts[4]
	m.importance, _ = strconv.Atoi(parts[1])
	m.createdAt, _ = strconv.ParseInt(parts[5], 10, 64)
	return m
}

// step is what a phase says of what it does, in one line.
type step struct {
	mark
	Act     string `json:",omitempty"` // that failed, or that was looked at
	Unknown bool   `json:",omitempty"` // it failed, and may have been done all the same
}

// story is what must be in the file, as far as it is told.
type story struct {
	Is content
	// Pending are acts by name that may have been done, wholly or not at all, or of which it is not known what the engine made beside.
	Pending map[string]mark
	Copies  map[string]copied // of the file, by name
}

// copied is what is in a copy.
type copied struct {
	Is  content
	May bool // there is none, perhaps
}

func newStory() story {
	return story{Is: content{}, Pending: map[string]mark{}, Copies: map[string]copied{}}
}

// hear goes on with the story.
func (y *story) hear(s step) {
	_, copy, copies := strings.Cut(s.Begin+s.Done, copying)
	switch {
	case s.Begin != "":
		y.Pending[s.Begin] = s.mark
		if copies {
			y.Copies[copy] = copied{y.Is, true}
		}
	case s.Done != "":
		m := y.Pending[s.Done]
		y.Is = y.Is.with(m.Changed)
		delete(y.Pending, s.Done)
		if m.Passes { // it made something beside that
			y.Pending[s.Done] = mark{Passes: true}
		}
		if copies {
			y.Copies[copy] = copied{y.Copies[copy].Is, false}
		}
	case s.Failed != "":
		if m := y.Pending[s.Act]; !s.Unknown && !(m.Passes && len(m.Changed) == 0) {
			delete(y.Pending, s.Act)
		}
	case s.Act != "":
		y.Is = y.Is.with(s.Changed)
		delete(y.Pending, s.Act)
	}
}

// settle compares the story with the file, which says what was done of what is pending.
func (y *story) settle(got content) (fault string) {
	now := y.Is
	for name, m := range y.Pending {
		done := len(m.Changed) > 0
		for key, value := range m.Changed {
			done = done && got[key] == value
		}
		if done {
			now = now.with(m.Changed)
		}
		if m.Passes {
			now = now.with(made(now, name).changes(made(got, name)))
		}
	}
	if fault := (expected{before: now}).fault(got); fault != "" {
		for key := range now.changes(got) { // one of them
			return fmt.Sprintf("%s; %s is %q, not %q", fault, key, got[key], now[key])
		}
	}
	y.Is, y.Pending = got, map[string]mark{}
	return ""
}

// made are the rows that the engine makes by itself in the conversation of an act's actor.
func made(c content, act string) content {
	actor, _, _ := strings.Cut(act, " ")
	rows := content{}
	for key, value := range own(c, actor) {
		if derived(key) {
			rows[key] = value
		}
	}
	return rows
}

// own are the rows of an actor.
func own(c content, actor string) content {
	rows := content{}
	for key, value := range c {
		if strings.Contains(key, actor) {
			rows[key] = value
		}
	}
	return rows
}
