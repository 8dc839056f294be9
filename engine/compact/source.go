package compact

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/text/extract"
	"github.com/mallardmem/mallard/engine/text/standin"
	"github.com/mallardmem/mallard/engine/window"
)

// summaryInput reads what items of a context say, and what a summary of them will have to know. Items that refer to nothing are missing
// among its sources.
func (cp *Compactor) summaryInput(ctx context.Context, c *duck.Conn, v *conversation.Conversation, items []window.Item) (*summaryInput, error) {
	if items[0].Summary {
		in := &summaryInput{conversation: v, kind: window.Condensed, depth: items[0].Depth + 1}
		return in, cp.readSummaries(ctx, c, in, items)
	}
	messages, err := conversation.Said(ctx, c, v.ID, items[0].Position, items[len(items)-1].Position)
	if err != nil {
		return nil, err
	}
	return cp.leafInput(v, messages, items), nil
}

// leafInput takes those messages as sources that are among the items.
func (cp *Compactor) leafInput(v *conversation.Conversation, messages []*conversation.Message, items []window.Item) *summaryInput {
	in := &summaryInput{conversation: v, kind: window.Leaf}
	wanted := make(map[string]bool, len(items))
	for _, i := range items {
		wanted[i.Ref] = true
	}
	at := cp.opts.Conversation.Location()
	for _, m := range messages {
		if !wanted[m.ID] {
			continue
		}
		in.span(m.Seq, m.Seq, m.SaidAt, m.SaidAt)
		in.sources = append(in.sources, Source{kinds.Message, m.ID})
		in.stored += m.Tokens
		in.sourceTokens += m.Tokens
		in.messages++
		if said := m.Source(); said != "" {
			in.passages = append(in.passages, extract.Passage{Label: m.Label(at), Text: said})
		}
		in.refer(m.Text, m.ToolText())
	}
	return in
}

// readSummaries takes summaries as sources.
func (cp *Compactor) readSummaries(ctx context.Context, c *duck.Conn, in *summaryInput, items []window.Item) error {
	var ids []string
	for _, i := range items {
		ids = append(ids, i.Ref)
	}
	at := cp.opts.Conversation.Location()
	return c.Each(ctx, "summaries_by_id", func(rows *sql.Rows) error {
		s, _, err := ScanSummary(rows)
		if err != nil {
			return err
		}
		in.note(s)
		in.span(s.FirstSeq, s.LastSeq, s.EarliestAt, s.LatestAt)
		in.sources = append(in.sources, Source{kinds.Summary, s.ID})
		in.stored += s.Tokens
		in.sourceTokens += s.SourceTokens
		in.messages += s.Messages
		in.descendants += s.Descendants + 1
		in.descendantTokens += s.DescendantTokens + s.Tokens
		in.passages = append(in.passages, extract.Passage{Label: "[" + conversation.Moment(s.EarliestAt, at) + " - " + conversation.Moment(s.LatestAt, at) + "]", Text: s.Text})
		in.refer(append(s.FileIDs, s.Text)...)
		return nil
	}, sql.Named("ids", ids))
}

// refer notes the large files that texts refer to.
func (in *summaryInput) refer(texts ...string) {
	for _, s := range texts {
		for _, id := range standin.ParseFileIDs(s) {
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
