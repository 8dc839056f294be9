package session

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
)

// openClaw reads the sessions of OpenClaw, and of what shares its format: a tree of lines by id and parentId behind a header;
// version 1 has a plain list.
type openClaw struct {
	session string
	parent  string // the session that this one was forked from
	linear  bool   // version 1
	last    string // id of the line before
	byID    map[string]int
	kept    map[int]string // by compaction: the id of the first entry that stays
	keptAt  map[int]int64  // in version 1: its line
	on      []bool         // by entry: it is on the active branch
}

func newOpenClaw(path string) *openClaw {
	return &openClaw{session: stem(path), byID: map[string]int{}, kept: map[int]string{}, keptAt: map[int]int64{}}
}

// openClawLine has those fields of a line that matter here.
type openClawLine struct {
	Type      text            `json:"type"`
	Version   int             `json:"version"`
	ID        text            `json:"id"`
	ParentID  text            `json:"parentId"`
	Timestamp json.RawMessage `json:"timestamp"`
	CWD       text            `json:"cwd"`
	Parent    text            `json:"parentSession"`
	Branched  text            `json:"branchedFrom"`
	Message   openClawMessage `json:"message"`
	Summary   text            `json:"summary"`
	FirstKept text            `json:"firstKeptEntryId"`
	KeptIndex *int64          `json:"firstKeptEntryIndex"`
	Name      text            `json:"name"`
	Content   json.RawMessage `json:"content"`

	Checkpoint struct {
		Summary   text            `json:"summary"`
		Tokens    json.RawMessage `json:"tokensAtCheckpoint"`
		Messages  json.RawMessage `json:"messageCountAtCheckpoint"`
		Topics    json.RawMessage `json:"topics"`
		Decisions json.RawMessage `json:"keyDecisions"`
		Questions json.RawMessage `json:"openQuestions"`
	} `json:"checkpoint"`
}

type openClawMessage struct {
	Role      text            `json:"role"`
	Content   json.RawMessage `json:"content"`
	Timestamp json.RawMessage `json:"timestamp"`
	CallID    text            `json:"toolCallId"`
	Tool      text            `json:"toolName"`
	IsError   flag            `json:"isError"`
	Stop      text            `json:"stopReason"`
	Error     text            `json:"errorMessage"`
	Command   text            `json:"command"`
	Output    text            `json:"output"`
	Exclude   flag            `json:"excludeFromContext"`
	Summary   text            `json:"summary"`
	Usage     json.RawMessage `json:"usage"`
}

func (o *openClaw) scan(t *Transcript, e *entry, raw []byte) error {
	var l openClawLine
	if err := decode(raw, &l); err != nil {
		return err
	}
	if len(t.Threads) == 0 {
		t.Threads = []Thread{{ID: o.session, Key: "openclaw:" + o.session}}
	}
	if at := timeOf(l.Timestamp); !at.IsZero() {
		e.at = at
	}
	if at := timeOf(l.Message.Timestamp); !at.IsZero() {
		e.at = at
	}
	if l.Type == "session" {
		o.header(t, &l)
		o.key(t, e, "session")
		return nil
	}
	i := len(t.entries)
	e.id, e.parent = string(l.ID), string(l.ParentID)
	if e.id == "" && o.linear {
		e.id, e.parent = fmt.Sprintf("v1:%d", e.line), o.last
	}
	if e.id == "" {
		o.key(t, e, t.hashed(string(l.Type), raw))
	} else {
		o.key(t, e, e.id)
		if _, ok := o.byID[e.id]; !ok {
			o.byID[e.id], o.last = i, e.id
		}
	}
	switch l.Type {
	case "compaction":
		e.kind = compaction
		o.kept[i] = string(l.FirstKept)
		if l.KeptIndex != nil {
			o.keptAt[i] = *l.KeptIndex + 1
		}
		return nil
	case "session_info":
		t.Threads[0].Title = string(or(l.Name, text(t.Threads[0].Title)))
	}
	m := l.read()
	if m.SetAside != conversation.AsideEvent {
		e.kind = message
	}
	e.uses(m.Blocks)
	return nil
}

// header takes the facts of the session.
func (o *openClaw) header(t *Transcript, l *openClawLine) {
	v := &t.Threads[0]
	o.session = string(or(l.ID, text(o.session)))
	o.linear = l.Version < 2
	v.ID, v.Key, v.CWD = o.session, "openclaw:"+o.session, string(l.CWD)
	if from := string(or(l.Parent, l.Branched)); from != "" {
		o.parent = or(lastMatch(rolloutID, from), stem(from))
		v.Parent, v.Forked = o.parent, true
	}
}

// key makes the key of a line: the session and the line's id.
func (o *openClaw) key(t *Transcript, e *entry, id string) {
	e.key, e.unique = "openclaw:"+t.Threads[0].ID+":"+id, true
	if o.parent != "" && id != "session" {
		e.twin = "openclaw:" + o.parent + ":" + id
	}
}

// settle walks from the last line with an id to the root.
func (o *openClaw) settle(t *Transcript) {
	leaf := none
	for i, e := range t.entries {
		if e.id != "" {
			leaf = i
		}
	}
	on := make([]bool, len(t.entries))
	for i := leaf; i != none && !on[i]; {
		on[i] = true
		i = o.above(t, i)
	}
	o.answer(t, on)
	o.on = on
	setBranch(t.entries, func(*entry) bool { return true }, on)
	newest := none
	for i, e := range t.entries {
		if on[i] && e.kind == compaction {
			newest = i
		}
	}
	enforce(t, 0, newest, o.firstKept(t, newest, on))
}

// answer puts those results on the active branch that hang on another one, while their calls are on it and have no other result.
func (o *openClaw) answer(t *Transcript, on []bool) {
	open := map[string]bool{}
	for i, e := range t.entries {
		for _, call := range e.calls {
			open[call] = open[call] || on[i]
		}
	}
	for i, e := range t.entries {
		for _, result := range e.results {
			if on[i] {
				delete(open, result)
			}
		}
	}
	for i, e := range t.entries {
		for _, result := range e.results {
			if open[result] {
				on[i] = true
				delete(open, result)
			}
		}
	}
}

// above gives the parent of an entry, or none at the root. One whose parent may have been a line that could not be read goes on
// with the line before it.
func (o *openClaw) above(t *Transcript, i int) int {
	e := t.entries[i]
	if up, ok := o.byID[e.parent]; ok && up < i {
		return up
	}
	if e.parent == "" || len(t.Faults) == 0 || t.Faults[0].Line > e.line {
		return none
	}
	for j := i - 1; j >= 0; j-- {
		if t.entries[j].id != "" {
			return j
		}
	}
	return none
}

// firstKept gives the entry that a compaction says stays first, when it is on the active branch before it, or none.
func (o *openClaw) firstKept(t *Transcript, newest int, on []bool) int {
	if newest == none {
		return none
	}
	if i, ok := o.byID[o.kept[newest]]; ok && on[i] && i < newest {
		return i
	}
	for i := range newest {
		if at := o.keptAt[newest]; at > 1 && t.entries[i].line >= at && on[i] {
			return i
		}
	}
	return none
}

func (o *openClaw) messages(_ *Transcript, _ *entry, raw []byte) ([]conversation.Message, error) {
	var l openClawLine
	if err := decode(raw, &l); err != nil {
		return nil, err
	}
	return []conversation.Message{l.read()}, nil
}

func (o *openClaw) summary(_ *entry, raw []byte) string {
	var l openClawLine
	if decode(raw, &l) != nil {
		return ""
	}
	return strings.TrimSpace(string(l.Summary))
}

// checkpoint gives a checkpoint of the host's on the active branch; nil: the line is none.
func (o *openClaw) checkpoint(i int, raw []byte) *Checkpoint {
	var l openClawLine
	if !o.on[i] || decode(raw, &l) != nil || l.Type != "checkpoint" || strings.TrimSpace(string(l.Checkpoint.Summary)) == "" {
		return nil
	}
	number := func(raw json.RawMessage) (n int) {
		if json.Unmarshal(raw, &n) != nil || n < 0 || n > 1<<30 {
			return 0
		}
		return n
	}
	list := func(raw json.RawMessage) (all []string) {
		var said []text
		_ = json.Unmarshal(raw, &said) // what is no list says nothing
		for _, s := range said {
			all = append(all, string(s))
		}
		return all
	}
	c := &l.Checkpoint
	return &Checkpoint{Summary: string(c.Summary), Tokens: number(c.Tokens), Messages: number(c.Messages), Topics: list(c.Topics), Decisions: list(c.Decisions), Questions: list(c.Questions)}
}

// read gives the line as a message.
func (l *openClawLine) read() conversation.Message {
	switch l.Type {
	case "message":
		return l.Message.read(l.Summary)
	case "custom_message":
		return spokenBy("user", l.Content)
	case "branch_summary":
		if strings.TrimSpace(string(l.Summary)) == "" {
			return eventOf("system", "branch_summary", "")
		}
		return conversation.Message{Role: "user", Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: string(l.Summary)}}}
	case "checkpoint":
		return eventOf("system", "checkpoint", string(l.Checkpoint.Summary))
	}
	return eventOf("system", string(l.Type), string(or(l.Summary, l.Name)))
}

func (m *openClawMessage) read(summary text) conversation.Message {
	switch role := string(m.Role); role {
	case "user", "system", "custom", "hookMessage":
		if role != "system" {
			role = "user"
		}
		return spokenBy(role, m.Content)
	case "assistant":
		said := spokenBy(role, m.Content)
		if said.SetAside != "" && (m.Stop == "error" || m.Stop == "aborted") {
			return eventOf(role, string(m.Stop), string(m.Error))
		}
		said.Usage = usageOf(m.Usage)
		return said
	case "toolResult", "tool":
		output, files := outputOf(m.Content)
		return result(string(m.CallID), string(m.Tool), output, bool(m.IsError), files)
	case "bashExecution":
		said := "$ " + string(m.Command) + "\n" + string(m.Output)
		if m.Exclude {
			return eventOf("user", role, said)
		}
		return conversation.Message{Role: "user", Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: strings.TrimSuffix(said, "\n")}}}
	default:
		return eventOf("system", "message:"+role, string(or(m.Summary, summary)))
	}
}
