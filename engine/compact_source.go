package engine

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/window"
)

// summaryInput reads what items of a context say, and what a summary of them will have to know. Items that refer to nothing are missing
// among its sources.
func (e *Engine) summaryInput(ctx context.Context, c *connection, v *Conversation, items []window.Item) (*summaryInput, error) {
	in := &summaryInput{conversation: v, kind: window.Leaf}
	if items[0].Summary {
		in.kind, in.depth = window.Condensed, items[0].Depth+1
		return in, e.readSummaries(ctx, c, in, items)
	}
	return in, e.readMessages(ctx, c, in, items)
}

// readMessages takes messages as sources.
func (e *Engine) readMessages(ctx context.Context, c *connection, in *summaryInput, items []window.Item) error {
	wanted := make(map[string]bool, len(items))
	for _, i := range items {
		wanted[i.Ref] = true
	}
	var messages []*Message
	err := c.each(ctx, "message_range", func(rows *sql.Rows) error {
		m, _, _, err := scanMessage(rows)
		if wanted[m.ID] {
			messages = append(messages, m)
		}
		return err
	}, sql.Named("conversation_id", in.conversation.ID), sql.Named("from", int64(items[0].Position)), sql.Named("to", int64(items[len(items)-1].Position)))
	if err != nil {
		return err
	}
	if err := fillBlocks(ctx, c, messages); err != nil {
		return err
	}
	at := e.opts.Conversation.location()
	for _, m := range messages {
		in.span(m.Seq, m.Seq, m.SaidAt, m.SaidAt)
		in.sources = append(in.sources, Source{MessageKind, m.ID})
		in.stored += m.Tokens
		in.sourceTokens += m.Tokens
		in.messages++
		if said := m.source(); said != "" {
			in.passages = append(in.passages, text.Passage{Label: m.label(at), Text: said})
		}
		in.refer(m.Text, m.toolText())
	}
	return nil
}

// readSummaries takes summaries as sources.
func (e *Engine) readSummaries(ctx context.Context, c *connection, in *summaryInput, items []window.Item) error {
	var ids []string
	for _, i := range items {
		ids = append(ids, i.Ref)
	}
	at := e.opts.Conversation.location()
	return c.each(ctx, "summaries_by_id", func(rows *sql.Rows) error {
		s, _, err := scanSummary(rows)
		if err != nil {
			return err
		}
		in.note(s)
		in.span(s.FirstSeq, s.LastSeq, s.EarliestAt, s.LatestAt)
		in.sources = append(in.sources, Source{SummaryKind, s.ID})
		in.stored += s.Tokens
		in.sourceTokens += s.SourceTokens
		in.messages += s.Messages
		in.descendants += s.Descendants + 1
		in.descendantTokens += s.DescendantTokens + s.Tokens
		in.passages = append(in.passages, text.Passage{Label: "[" + moment(s.EarliestAt, at) + " - " + moment(s.LatestAt, at) + "]", Text: s.Text})
		in.refer(append(s.FileIDs, s.Text)...)
		return nil
	}, sql.Named("ids", ids))
}

// refer notes the large files that texts refer to.
func (in *summaryInput) refer(texts ...string) {
	for _, s := range texts {
		for _, id := range text.ParseFileIDs(s) {
			if !slices.Contains(in.fileIDs, id) {
				in.fileIDs = append(in.fileIDs, id)
			}
		}
	}
}

// source joins the passages, each below its label; that of a user without a name has only the time.
func (in *summaryInput) source() string {
	parts := make([]string, len(in.passages))
	for i, p := range in.passages {
		parts[i] = strings.TrimSuffix(p.Label, "] user")
		if parts[i] != p.Label {
			parts[i] += "]"
		}
		parts[i] += "\n" + p.Text
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}

// rarity tells the extractive summariser how rare a term is, as the index has it. Of summaries nil: their own words count.
func (e *Engine) rarity(ctx context.Context, in *summaryInput) (func(string) float64, error) {
	if in.kind != window.Leaf {
		return nil, nil
	}
	rarity := map[string]float64{}
	err := e.read(ctx, "term rarity", func(c *connection) error {
		return c.each(ctx, "term_rarity", func(rows *sql.Rows) error {
			var term string
			var idf float64
			err := rows.Scan(&term, &idf)
			rarity[term] = max(idf, 0)
			return err
		}, sql.Named("conversation_id", in.conversation.ID), sql.Named("from", int64(in.firstSeq)), sql.Named("to", int64(in.lastSeq)))
	})
	if err != nil || len(rarity) == 0 {
		return nil, err
	}
	return func(term string) float64 { return rarity[term] }, nil
}

// label says when a message was said, and by whom.
func (m *Message) label(at *time.Location) string {
	return "[" + moment(m.SaidAt, at) + "] " + cmp.Or(m.Speaker, m.Role)
}

// moment is a time as summaries give it.
func moment(t time.Time, at *time.Location) string { return t.In(at).Format("2006-01-02 15:04 MST") }

// source is what a summariser reads of the message: what was said and shown, and what tools were given and gave; no thinking.
func (m *Message) source() string {
	said := m.Text
	if m.hasMedia() {
		said = text.StripMedia(said)
	}
	lines := []string{strings.TrimSpace(said)}
	if m.Caption != "" {
		lines = append(lines, "[shown: "+m.Caption+"]")
	}
	for i := range m.Blocks {
		switch b := &m.Blocks[i]; b.Type {
		case ToolCallBlock:
			lines = append(lines, strings.TrimSpace("[calls "+cmp.Or(b.Tool, "a tool")+"] "+text.OmitEncoded(b.Input)))
		case ToolResultBlock:
			what := "[result of " + cmp.Or(b.Tool, "a tool")
			if b.IsError {
				what += ", an error"
			}
			lines = append(lines, strings.TrimSpace(what+"] "+text.OmitEncoded(b.Output)))
		}
	}
	kept := lines[:0]
	for _, line := range lines {
		if line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

func (m *Message) hasMedia() bool {
	for i := range m.Blocks {
		if partKinds[m.Blocks[i].Type] == "file" || m.Blocks[i].Type == "snapshot" {
			return true
		}
	}
	return false
}
