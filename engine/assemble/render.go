package assemble

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/window"
)

// AssembledMessage is one message of an assembled context, in no provider's form. Every call of a tool has its result in the message
// right after it, and no message is empty.
type AssembledMessage struct {
	Role    string    `json:"role"`              // user, assistant or tool; what the system said and summaries are a user's
	ID      string    `json:"id,omitempty"`      // of the message or summary that it shows
	Speaker string    `json:"speaker,omitempty"` // of a message
	SaidAt  time.Time `json:"said_at,omitzero"`  // of a message, in the time zone of the request
	// Blocks are text, images with their Data, calls of an assistant, and of a tool results alone.
	Blocks []conversation.Block `json:"blocks"`
}

// noResult answers a call that has no result, for models refuse one without.
const noResult = "[There is no result of this call.]"

// renderLive makes messages of those that a host has, with texts as they would have been stored.
func renderLive(live []conversation.Message, zone *time.Location) []AssembledMessage {
	shown := make([]shownMessage, len(live))
	for i, m := range live {
		m.Text, m.Caption, m.Speaker = conversation.CleanText(m.Text), conversation.CleanText(m.Caption), conversation.CleanText(m.Speaker)
		m.Blocks = slices.Clone(m.Blocks)
		for j := range m.Blocks {
			m.Blocks[j].Clean()
		}
		shown[i] = showMessage(&m, shownBlocks(&m))
	}
	return repaired(shown, zone)
}

// Show gives messages as a model is shown them, in an order that models accept. Before the fresh tail, the message tail, a call that nothing answers is taken off.
func Show(messages []*conversation.Message, tail int, zone *time.Location) []AssembledMessage {
	shown := make([]shownMessage, len(messages))
	for i, m := range messages {
		shown[i] = showMessage(m, shownBlocks(m))
		shown[i].old = i < tail
	}
	return repaired(shown, zone)
}

// TextOf is what a model reads of a message, as plain text.
func TextOf(m *conversation.Message) string { return plainText(shownBlocks(m)) }

// shownMessage is a message taken apart, into what a model is shown of it.
type shownMessage struct {
	message *conversation.Message
	role    string
	old     bool // before the fresh tail
	calls   []conversation.Block
	results []conversation.Block
	rest    []conversation.Block
}

// showMessage takes a message apart of which blocks are shown.
func showMessage(m *conversation.Message, blocks []conversation.Block) shownMessage {
	s := shownMessage{message: m, role: cmp.Or(m.Role, window.User)}
	if !slices.ContainsFunc(blocks, func(b conversation.Block) bool {
		return b.Type == conversation.ToolCallBlock || b.Type == conversation.ToolResultBlock
	}) {
		s.rest = blocks
		return s
	}
	for _, b := range blocks {
		switch {
		case b.Type == conversation.ToolCallBlock && b.CallID != "" && s.role == window.Assistant:
			s.calls = append(s.calls, b)
		case b.Type == conversation.ToolResultBlock && b.CallID != "":
			s.results = append(s.results, b)
		case b.Type == conversation.ToolCallBlock || b.Type == conversation.ToolResultBlock:
			s.rest = append(s.rest, conversation.Block{Type: conversation.TextBlock, Text: plainText([]conversation.Block{b})})
		default:
			s.rest = append(s.rest, b)
		}
	}
	return s
}

// shownBlocks gives what a model sees of a message: no thinking, no records of the host, nothing blank.
func shownBlocks(m *conversation.Message) (shown []conversation.Block) {
	add := func(text string) {
		if strings.TrimSpace(text) != "" {
			shown = append(shown, conversation.Block{Type: conversation.TextBlock, Text: text})
		}
	}
	if !slices.ContainsFunc(m.Blocks, func(b conversation.Block) bool { return b.Said() != "" }) {
		add(m.Text)
	}
	for _, b := range m.Blocks {
		switch {
		case b.Said() != "":
			add(b.Text)
		case b.Type == conversation.ToolCallBlock || b.Type == conversation.ToolResultBlock || b.Type == conversation.ImageBlock:
			shown = append(shown, b)
		case b.Type == conversation.FileBlock:
			add(attached(&b))
		}
	}
	if m.Caption != "" {
		add("[shown: " + m.Caption + "]")
	}
	return shown
}

// attached is what stands for a file or an image: the reference that it was stored with, or else a line, and under it what a file says.
func attached(b *conversation.Block) string {
	if b.FileID != "" && b.Text != "" {
		return b.Text
	}
	fields, below := []string{b.FileName, b.MIME, b.FileID, b.Text}, ""
	if b.Type == conversation.FileBlock && b.Text != "" {
		fields, below = fields[:3], "\n"+b.Text
	}
	line := "[" + string(b.Type)
	for _, s := range fields {
		if s != "" {
			line += " | " + s
		}
	}
	return line + "]" + below
}

// repaired puts messages in order, so that every call is followed by its result.
func repaired(shown []shownMessage, zone *time.Location) []AssembledMessage {
	turns := make([]window.Turn, len(shown))
	for i, s := range shown {
		turns[i] = window.Turn{Index: i, Role: s.role, Calls: callIDs(s.calls), Results: callIDs(s.results), Blank: len(s.rest) == 0, Old: s.old}
	}
	all := []AssembledMessage{}
	add := func(s *shownMessage, role string, blocks []conversation.Block) {
		if len(blocks) > 0 {
			m := s.message
			all = append(all, AssembledMessage{Role: role, ID: m.ID, Speaker: m.Speaker, SaidAt: m.SaidAt.In(zone), Blocks: blocks})
		}
	}
	for _, t := range window.Repair(turns) {
		s := &shown[t.Index]
		switch {
		case t.Synthetic:
			call := withIDs(s.calls, t.Results)[0]
			add(&shownMessage{message: &conversation.Message{}}, window.Tool, []conversation.Block{{Type: conversation.ToolResultBlock, CallID: call.CallID, Tool: call.Tool, Output: noResult, IsError: true}})
		case t.Role == window.Tool:
			results := withIDs(s.results, t.Results)
			if s.role == window.Tool && len(s.rest) > 0 { // a tool says nothing but results
				results[0].Output = strings.TrimSpace(plainText(s.rest) + "\n" + results[0].Output)
				s.rest = nil
			}
			add(s, window.Tool, results)
		default:
			add(s, t.Role, append(slices.Clip(s.rest), withIDs(s.calls, t.Calls)...))
			add(s, window.Tool, withIDs(s.results, t.Results))
		}
	}
	return all
}

func callIDs(blocks []conversation.Block) (ids []string) {
	for i := range blocks {
		ids = append(ids, blocks[i].CallID)
	}
	return ids
}

// withIDs gives the first block of each id, in the order of the ids.
func withIDs(blocks []conversation.Block, ids []string) (all []conversation.Block) {
	for _, id := range ids {
		if i := slices.IndexFunc(blocks, func(b conversation.Block) bool { return b.CallID == id }); i >= 0 {
			all = append(all, blocks[i])
		}
	}
	return all
}

// plainText is what blocks say, as text.
func plainText(blocks []conversation.Block) string {
	if len(blocks) == 1 && blocks[0].Type == conversation.TextBlock {
		return blocks[0].Text
	}
	lines := make([]string, len(blocks))
	for i := range blocks {
		switch b := &blocks[i]; b.Type {
		case conversation.TextBlock:
			lines[i] = b.Text
		case conversation.ToolCallBlock:
			lines[i] = strings.TrimSpace(fmt.Sprintf("[calls %s %s] %s", cmp.Or(b.Tool, "tool"), b.CallID, b.Input))
		case conversation.ToolResultBlock:
			word := "result"
			if b.IsError {
				word = "error"
			}
			lines[i] = strings.TrimSpace(fmt.Sprintf("[%s of %s %s] %s", word, cmp.Or(b.Tool, "tool"), b.CallID, b.Output))
		default:
			lines[i] = attached(b)
		}
	}
	return strings.Join(lines, "\n")
}

// Byline is who said a message, on one line: a name with line breaks would pass for a message of its own.
func Byline(speaker, role string) string {
	return cmp.Or(strings.Join(strings.Fields(speaker), " "), role)
}

// heading says whose a message is, and when it was said.
func (m *AssembledMessage) heading() string {
	line := m.Role
	if speaker := Byline(m.Speaker, ""); speaker != "" {
		line += " (" + speaker + ")"
	}
	if !m.SaidAt.IsZero() {
		line += ", " + conversation.Moment(m.SaidAt, m.SaidAt.Location())
	}
	return line + ":"
}
