package session

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
)

// claude reads the transcripts of Claude Code: a tree of lines by uuid and parentUuid, several lines for one answer, and
// sub-agents as threads of their own, in the same file or in one beside it.
type claude struct {
	file    string                   // the session's or the agent's id, by the file's name
	folder  string                   // that the file is in
	byID    map[string]int           // entries by uuid
	answers map[string]int           // by thread and id of the answer, the entry that it begins in
	notes   map[int]*claudeNote      // of entries, what settle wants to know
	titles  map[string][]claudeTitle // by kind, in their order
	own     int                      // the session's thread, or none
	named   bool                     // by a line
}

// claudeNote is what an entry is to the tree.
type claudeNote struct {
	side     bool   // a sub-agent's
	turn     bool   // a line of the user or the assistant: a branch may end here
	logical  string // the parent across a compaction
	kept     string // of a boundary: the uuid of the first line that the host kept
	severed  bool   // lines before it could not be read, and one of them may have been its parent
	injected bool
}

// claudeTitle is a title, and the uuid of the line that it is about; empty: the session is.
type claudeTitle struct{ said, leaf string }

func newClaude(path string) *claude {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	return &claude{file: strings.TrimPrefix(name, "agent-"), folder: filepath.Dir(path), byID: map[string]int{}, answers: map[string]int{}, notes: map[int]*claudeNote{},
		titles: map[string][]claudeTitle{}, own: none}
}

// claudeLine has those fields of a line that matter here.
type claudeLine struct {
	Type       text            `json:"type"`
	Subtype    text            `json:"subtype"`
	UUID       text            `json:"uuid"`
	Parent     text            `json:"parentUuid"`
	Logical    text            `json:"logicalParentUuid"`
	SessionID  text            `json:"sessionId"`
	AgentID    text            `json:"agentId"`
	CWD        text            `json:"cwd"`
	Timestamp  json.RawMessage `json:"timestamp"`
	Sidechain  flag            `json:"isSidechain"`
	Meta       flag            `json:"isMeta"`
	IsSummary  flag            `json:"isCompactSummary"`
	APIError   flag            `json:"isApiErrorMessage"`
	ForkedFrom claudeFork      `json:"forkedFrom"`
	Message    claudeMessage   `json:"message"`
	Compact    claudeCompact   `json:"compactMetadata"`
	Summary    text            `json:"summary"`
	LeafUUID   text            `json:"leafUuid"`
	AITitle    text            `json:"aiTitle"`
	Custom     text            `json:"customTitle"`
	Content    json.RawMessage `json:"content"` // of a system line
}

type claudeFork struct {
	SessionID text `json:"sessionId"`
	Message   text `json:"messageUuid"`
}

type claudeMessage struct {
	ID      text            `json:"id"`
	Role    text            `json:"role"`
	Model   text            `json:"model"`
	Content json.RawMessage `json:"content"`
	Usage   json.RawMessage `json:"usage"`
}

type claudeCompact struct {
	Preserved struct {
		Head text `json:"headUuid"`
	} `json:"preservedSegment"`
}

// decode reads a line; a field of another type than ours is as if it were absent.
func decode(raw []byte, v any) error {
	if !isObject(raw) {
		if json.Valid(raw) {
			return errors.New("no JSON object")
		}
		return errors.New("no JSON")
	}
	err := json.Unmarshal(raw, v)
	if errors.As(err, new(*json.UnmarshalTypeError)) {
		return nil
	}
	if err != nil {
		return errors.New("no JSON: " + err.Error())
	}
	return nil
}

func (c *claude) scan(t *Transcript, e *entry, raw []byte) error {
	var l claudeLine
	if err := decode(raw, &l); err != nil {
		return err
	}
	i := len(t.entries)
	n := &claudeNote{side: bool(l.Sidechain), logical: string(l.Logical), kept: string(l.Compact.Preserved.Head), severed: len(t.Faults) > 0}
	c.notes[i] = n
	e.id, e.parent = string(l.UUID), string(l.Parent)
	if at := timeOf(l.Timestamp); !at.IsZero() {
		e.at = at
	}
	c.seat(t, e, n, &l)
	if v := &t.Threads[e.thread]; v.CWD == "" {
		v.CWD = string(l.CWD)
	}
	if e.id == "" {
		e.key = "claude:" + t.hashed(string(l.Type), raw)
	} else {
		e.key, e.unique = "claude:"+e.id, true
		if l.ForkedFrom.Message != "" {
			e.key = "claude:" + string(l.ForkedFrom.Message)
		}
		if _, ok := c.byID[e.id]; !ok {
			c.byID[e.id] = i
		}
	}
	for kind, title := range map[string]text{"summary": l.Summary, "ai-title": l.AITitle, "custom-title": l.Custom} {
		if string(l.Type) == kind && title != "" {
			c.titles[kind] = append(c.titles[kind], claudeTitle{string(title), string(l.LeafUUID)})
		}
	}
	if l.Type != "user" && l.Type != "assistant" {
		return nil
	}
	n.turn = true
	c.note(t, e, n, &l)
	return nil
}

// note fills in what a line of the user or the assistant is.
func (c *claude) note(t *Transcript, e *entry, n *claudeNote, l *claudeLine) {
	if l.IsSummary {
		e.kind = compaction
		return
	}
	messages := c.read(l)
	e.kind = message
	switch {
	case len(messages) == 1 && messages[0].SetAside == conversation.AsideEvent:
		e.kind, n.injected = event, true
		return
	case len(messages) > 1:
		e.pieces = len(messages)
	}
	for _, m := range messages {
		for _, b := range m.Blocks {
			switch {
			case b.CallID == "":
			case b.Type == conversation.ToolCallBlock:
				e.calls = append(e.calls, b.CallID)
			case b.Type == conversation.ToolResultBlock && m.Role == "tool":
				e.results = append(e.results, b.CallID)
			}
		}
	}
	if l.Type == "assistant" && l.Message.ID != "" {
		answer := t.Threads[e.thread].ID + "\n" + string(l.Message.ID)
		if first, ok := c.answers[answer]; ok {
			e.head = first
		} else {
			c.answers[answer] = len(t.entries)
		}
	}
}

// seat finds the thread of a line: the session's, one of its sub-agents, or of a forked session the one that the line was copied from.
func (c *claude) seat(t *Transcript, e *entry, n *claudeNote, l *claudeLine) {
	session := string(l.SessionID)
	switch parent, known := c.byID[e.parent]; {
	case n.side:
		agent := string(l.AgentID)
		if agent == "" && known && c.notes[parent].side {
			e.thread = t.entries[parent].thread
			return
		}
		e.thread = t.thread(or(agent, or(e.id, c.file)))
		v := &t.Threads[e.thread]
		v.Key, v.Parent = "claude:agent:"+v.ID, or(v.Parent, session)
	case l.ForkedFrom.SessionID != "":
		own := c.main(t, session)
		e.thread = t.thread(string(l.ForkedFrom.SessionID))
		origin := &t.Threads[e.thread]
		origin.Key = "claude:" + origin.ID
		v := &t.Threads[own]
		v.Parent, v.Forked = or(v.Parent, origin.ID), true
	case session != "" || len(t.Threads) == 0:
		e.thread = c.main(t, session)
	}
}

// main gives the session's own thread. A session that was resumed in a new file may begin with lines that have its old id: the
// file's name decides, where it is one of them.
func (c *claude) main(t *Transcript, session string) int {
	if c.own == none {
		t.Threads = append(t.Threads, Thread{ID: c.file})
		c.own, t.Own = len(t.Threads)-1, len(t.Threads)-1
	}
	v := &t.Threads[c.own]
	if session != "" && (!c.named || session == c.file) {
		v.ID, c.named = session, true
	}
	v.Key = "claude:" + v.ID
	return c.own
}

func (c *claude) summary(_ *entry, raw []byte) string {
	var l claudeLine
	if decode(raw, &l) != nil {
		return ""
	}
	return strings.TrimSpace(textOf(blocksOf(l.Message.Content)))
}

func (c *claude) messages(t *Transcript, _ *entry, raw []byte) ([]conversation.Message, error) {
	var l claudeLine
	if err := decode(raw, &l); err != nil {
		return nil, err
	}
	messages := c.read(&l)
	for i := range messages {
		for j := range messages[i].Blocks {
			if b := &messages[i].Blocks[j]; b.Type == conversation.ToolResultBlock {
				c.complete(b, t.Redact)
			}
		}
	}
	return messages, nil
}

// read gives the messages of a line.
func (c *claude) read(l *claudeLine) []conversation.Message {
	role := string(l.Type)
	if role != "user" && role != "assistant" {
		kind := strings.Trim(string(l.Type)+":"+string(l.Subtype), ":")
		return []conversation.Message{eventOf("system", kind, jsonText(l.Content))}
	}
	blocks, results := blocksOf(l.Message.Content), []conversation.Message(nil)
	if role == "user" {
		blocks, results = apart(blocks)
	}
	switch {
	case bool(l.IsSummary):
		return []conversation.Message{eventOf("system", "compaction", textOf(blocks))}
	case bool(l.APIError), l.Message.Model == "<synthetic>":
		return []conversation.Message{eventOf(role, "api_error", textOf(blocks))}
	case role == "assistant":
		if len(blocks) == 0 {
			return []conversation.Message{eventOf(role, "empty", "")}
		}
		return []conversation.Message{{Role: role, Blocks: blocks, Usage: usageOf(l.Message.Usage)}}
	}
	all := blocks
	blocks = spoken(blocks)
	if len(blocks) > 0 && !bool(l.Meta) {
		return append(results, conversation.Message{Role: role, Blocks: blocks})
	}
	switch {
	case len(results) > 0:
	case len(all) == 0:
		return []conversation.Message{eventOf(role, "empty", "")}
	default:
		return []conversation.Message{eventOf(role, "injected", textOf(all))}
	}
	return results
}

// apart takes the results of tools, each with the pictures and files that belong to it, out of what the user said.
func apart(blocks []conversation.Block) (said []conversation.Block, results []conversation.Message) {
	for _, b := range blocks {
		last := len(results) - 1
		switch {
		case b.Type == conversation.ToolResultBlock:
			results = append(results, result(b.CallID, b.Tool, withoutReminders(b.Output), b.IsError, nil))
		case b.CallID != "" && last >= 0 && results[last].Blocks[0].CallID == b.CallID:
			results[last].Blocks = append(results[last].Blocks, b)
		default:
			said = append(said, b)
		}
	}
	return said, results
}

var (
	reminder     = regexp.MustCompile(`(?s)\s*<system-reminder>.*?</system-reminder>\s*`)
	shellMarks   = regexp.MustCompile(`</?bash-(?:input|stdout|stderr)>`)
	injectedHead = regexp.MustCompile(`^(?:<command-name>|<command-message>|<command-args>|<local-command-|Caveat: The messages below were generated by )`)
)

// withoutReminders leaves out what the host told the model in passing.
func withoutReminders(s string) string {
	if !strings.Contains(s, "<system-reminder>") {
		return s
	}
	return strings.TrimSpace(reminder.ReplaceAllString(s, "\n"))
}

// spoken gives the blocks that the user brought, without what the host put between; the user's own shell commands are theirs.
func spoken(blocks []conversation.Block) (kept []conversation.Block) {
	for _, b := range blocks {
		if b.Type == conversation.TextBlock {
			plain := strings.TrimSpace(withoutReminders(b.Text))
			switch {
			case plain == "" || injectedHead.MatchString(plain):
				continue
			case strings.HasPrefix(plain, "<bash-input>"):
				b.Text = "$ " + shellMarks.ReplaceAllString(plain, "")
			case strings.HasPrefix(plain, "<bash-stdout>"), strings.HasPrefix(plain, "<bash-stderr>"):
				if b.Text = strings.TrimSpace(shellMarks.ReplaceAllString(plain, "")); b.Text == "" {
					continue
				}
			case plain != strings.TrimSpace(b.Text):
				b.Text = plain
			}
		}
		kept = append(kept, b)
	}
	return kept
}
