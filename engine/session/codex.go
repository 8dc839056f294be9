package session

import (
	"crypto/sha256"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
)

// codex reads the rollouts of Codex: lines in the order of the talk, without ids, wrapped in {timestamp, type, payload} or, in old
// files, bare.
type codex struct {
	file    string    // the session's id, by the file's name
	meta    bool      // the line that names the session has come
	start   time.Time // of a bare file
	bare    bool
	open    int // the entry whose message further items of the assistant belong to, or none
	items   int // response items; with none the events tell what was said
	notes   []codexNote
	title   string
	renamed string
	parent  string // the session that this one was forked from
	said    map[digest]bool
}

// digest stands for what somebody said.
type digest [sha256.Size]byte

// codexNote is what an entry is to the order.
type codexNote struct {
	user    bool // a turn of the user begins here
	spoken  bool // an event that repeats a message
	rolled  bool // rolled back
	said    digest
	left    []digest // of a compaction: the context after it
	summary bool     // likewise: it has a text
}

var rolloutID = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)

func newCodex(path string) *codex {
	return &codex{file: or(lastMatch(rolloutID, path), stem(path)), open: none, said: map[digest]bool{}}
}

// codexLine has those fields of a line that matter here; in a bare file the line is its own payload.
type codexLine struct {
	Timestamp  json.RawMessage `json:"timestamp"`
	Type       text            `json:"type"`
	Payload    json.RawMessage `json:"payload"`
	RecordType text            `json:"record_type"`
}

// codexItem has the fields of all payloads.
type codexItem struct {
	Type      text            `json:"type"`
	ID        text            `json:"id"`
	CallID    text            `json:"call_id"`
	Role      text            `json:"role"`
	Content   json.RawMessage `json:"content"`
	Summary   json.RawMessage `json:"summary"`
	Name      text            `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Output    json.RawMessage `json:"output"`
	Action    json.RawMessage `json:"action"`
	Result    json.RawMessage `json:"result"`
	Tools     json.RawMessage `json:"tools"`
	Message   json.RawMessage `json:"message"`
	Turns     int             `json:"num_turns"`
	Thread    text            `json:"thread_name"`

	CWD        text            `json:"cwd"`
	ForkedFrom text            `json:"forked_from_id"`
	Source     json.RawMessage `json:"source"`
	Timestamp  json.RawMessage `json:"timestamp"`
	History    []codexItem     `json:"replacement_history"`
}

// of reads a line: what it is, and its payload.
func (c *codex) of(raw []byte) (l codexLine, item codexItem, payload json.RawMessage, err error) {
	if err := decode(raw, &l); err != nil {
		return l, item, nil, err
	}
	payload = l.Payload
	if payload == nil {
		payload = raw
	}
	if isObject(payload) {
		err = decode(payload, &item)
	}
	if l.Payload == nil {
		switch {
		case l.RecordType != "":
			l.Type = "record:" + l.RecordType
		case l.Type == "":
			l.Type = "session_meta"
		default:
			l.Type = "response_item"
		}
	}
	return l, item, payload, err
}

func (c *codex) scan(t *Transcript, e *entry, raw []byte) error {
	l, item, payload, err := c.of(raw)
	if err != nil {
		return err
	}
	if len(t.Threads) == 0 {
		t.Threads = []Thread{{ID: c.file, Key: "codex:" + c.file}}
	}
	c.clock(e, l, item)
	var n codexNote
	switch l.Type {
	case "session_meta":
		c.name(t, item)
	case "response_item":
		c.items++
		c.item(t, e, &n, item, payload)
	case "event_msg":
		c.event(t, e, &n, item)
	case "compacted":
		e.kind = compaction
		n.summary = c.compacted(item) != ""
		for _, kept := range item.History {
			n.left = append(n.left, digestOf(kept.says()))
		}
		c.open = none
	}
	if e.key == "" {
		c.give(t, e, string(l.Type), raw)
	}
	c.notes = append(c.notes, n)
	return nil
}

// clock settles the time of a line: its own, or in a bare file that of the session and a microsecond for each line.
func (c *codex) clock(e *entry, l codexLine, item codexItem) {
	at := timeOf(l.Timestamp)
	if l.Type == "session_meta" {
		if at.IsZero() {
			at = timeOf(item.Timestamp)
		}
		if !c.meta && l.Payload == nil {
			c.start, c.bare = at, true
		}
	} else if c.bare && at.IsZero() && !c.start.IsZero() {
		at = c.start.Add(time.Duration(e.line-1) * time.Microsecond)
	}
	if !at.IsZero() {
		e.at = at
	}
}

// name takes the facts of the session from the first line that tells them; a second one is its parent's, copied.
func (c *codex) name(t *Transcript, item codexItem) {
	if c.meta {
		return
	}
	c.meta = true
	v := &t.Threads[0]
	v.ID = or(string(item.ID), c.file)
	v.Key, v.CWD = "codex:"+v.ID, string(item.CWD)
	var spawned struct {
		Subagent struct {
			Spawn struct {
				Parent text `json:"parent_thread_id"`
			} `json:"thread_spawn"`
		} `json:"subagent"`
	}
	if decode(item.Source, &spawned) == nil {
		v.Parent = string(spawned.Subagent.Spawn.Parent)
	}
	if item.ForkedFrom != "" {
		c.parent, v.Parent, v.Forked = string(item.ForkedFrom), string(item.ForkedFrom), true
	}
}

// give makes the key of a line: the session, and the id of the item, or of the call with its type, or a hash.
func (c *codex) give(t *Transcript, e *entry, role string, content []byte) {
	c.key(t, e, t.hashed(role, content))
}

func (c *codex) key(t *Transcript, e *entry, id string) {
	e.key, e.unique = "codex:"+t.Threads[0].ID+":"+id, true
	if c.parent != "" {
		e.twin = "codex:" + c.parent + ":" + id
	}
}

// item notes an item of the talk. What the assistant thinks, says and calls up to the next result or line of the user is one message.
func (c *codex) item(t *Transcript, e *entry, n *codexNote, item codexItem, payload json.RawMessage) {
	m, role := item.message()
	n.said = digestOf(item.says())
	switch {
	case item.ID != "":
		c.key(t, e, string(item.ID))
	case item.CallID != "":
		c.key(t, e, string(item.Type)+":"+string(item.CallID))
	case item.Type == "message":
		c.give(t, e, string(item.Role), item.Content)
	default:
		c.give(t, e, string(item.Type), payload)
	}
	if m.SetAside == conversation.AsideEvent {
		if role == "user" {
			c.open = none
		}
		return
	}
	e.kind = message
	if role == "assistant" {
		if c.open != none {
			e.head = c.open
		} else {
			c.open = len(t.entries)
		}
	} else {
		c.open = none
	}
	n.user = role == "user"
	if n.user && c.title == "" {
		c.title = firstLine(textOf(m.Blocks))
	}
	e.uses(m.Blocks)
	c.said[n.said] = true
}

// event notes a record about the talk.
func (c *codex) event(t *Transcript, e *entry, n *codexNote, item codexItem) {
	switch item.Type {
	case "thread_name_updated":
		c.renamed = string(or(item.Thread, item.Name))
	case "user_message", "agent_message":
		n.spoken, n.user = true, item.Type == "user_message"
	case "thread_rolled_back":
		c.roll(t, item.Turns)
		c.open = none
	}
}

// roll marks the last turns of the user, with all that followed them, as rolled back.
func (c *codex) roll(t *Transcript, turns int) {
	from := len(t.entries)
	for i := len(t.entries) - 1; i >= 0 && turns > 0; i-- {
		if n := c.notes[i]; n.user && !n.rolled && t.entries[i].kind == message {
			from = i
			turns--
		}
	}
	for i := from; i < len(c.notes); i++ {
		c.notes[i].rolled = true
	}
}

// settle finds what was rolled back, the compaction in force and the title.
func (c *codex) settle(t *Transcript) {
	newest := none
	for i, e := range t.entries {
		n := c.notes[i]
		if n.spoken { // events stand for the talk only where there is nothing else
			e.kind = event
			if c.items == 0 {
				e.kind = message
			}
		}
		e.aside = ""
		if e.kind == message && c.notes[e.head].rolled {
			e.aside = conversation.AsideOffBranch
		}
		if e.kind == compaction && !n.rolled && n.summary {
			newest = i
		}
	}
	if newest == none {
		enforce(t, 0, none, none)
	} else {
		enforce(t, 0, newest, c.firstKept(t, newest))
	}
	if len(t.Threads) > 0 {
		t.Threads[0].Title = or(c.renamed, c.title)
	}
}

// firstKept gives the first of the messages right before a compaction that all are in the context it left, or none.
func (c *codex) firstKept(t *Transcript, at int) int {
	left := map[digest]int{}
	for _, said := range c.notes[at].left {
		left[said]++
	}
	first := at
	for i := at - 1; i >= 0; i-- {
		e := t.entries[i]
		if !e.talk() {
			continue
		}
		said := c.notes[i].said
		if left[said] == 0 {
			break
		}
		left[said]--
		first = i
	}
	for i := first; i < at; i++ {
		if e := t.entries[i]; e.talk() && e.head >= first {
			return i
		}
	}
	return none
}

// compacted gives the text of a compaction; where the host keeps that encrypted, what the context has that nobody said.
func (c *codex) compacted(item codexItem) string {
	var said text
	if json.Unmarshal(item.Message, &said); strings.TrimSpace(string(said)) != "" {
		return strings.TrimSpace(string(said))
	}
	for _, kept := range slices.Backward(item.History) {
		m, role := kept.message()
		words := strings.TrimSpace(textOf(m.Blocks))
		if m.SetAside == "" && (role == "user" || role == "assistant") && words != "" && !c.said[digestOf(kept.says())] {
			return words
		}
	}
	return ""
}

func digestOf(said string) digest { return sha256.Sum256([]byte(said)) }
