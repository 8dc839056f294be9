package enginetest

import (
	"context"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
)

// Made is a summary that a test makes by hand: Sources are ids of messages or of summaries, in their order.
type Made struct {
	Text    string
	Tokens  int
	Sources []string
}

// AddSummaries stores summaries in one transaction, each with the counters that its sources give it, and puts them in place of their
// sources in the context. Each function is given the ids of those made before it in the same call.
func AddSummaries(ctx context.Context, e *engine.Engine, talk string, all ...func(ids []string) Made) (ids []string, err error) {
	compactor := part[*compact.Compactor](e, "compactor")
	err = File(e).Write(ctx, "add summaries", func(tx *duck.Write) error {
		v, err := conversation.FindConversation(ctx, tx.Conn, talk)
		if err != nil || v == nil {
			return fmt.Errorf("conversation %q: %v", talk, err)
		}
		below, err := sourcesToBe(ctx, tx.Conn, v.ID)
		if err != nil {
			return err
		}
		for _, next := range all {
			s, err := made(e, next(ids), v.ID, below)
			if err != nil {
				return err
			}
			if err := compactor.InsertSummary(ctx, tx, v, s, compactor.DescribeSummary(ctx, s)); err != nil {
				return err
			}
			if _, err := tx.SQL.ExecContext(ctx, "DELETE FROM context_items WHERE conversation_id = ? AND position BETWEEN ? AND ?", v.ID, s.FirstSeq, s.LastSeq); err != nil {
				return err
			}
			if _, err := tx.SQL.ExecContext(ctx, "INSERT INTO context_items VALUES (?, ?, 'summary', ?, ?)", v.ID, s.FirstSeq, s.ID, s.Tokens); err != nil {
				return err
			}
			below[s.ID], ids = s, append(ids, s.ID)
		}
		return nil
	})
	return ids, err
}

// sourcesToBe gives everything of a conversation that a summary can be made from; a message stands as a summary of itself.
func sourcesToBe(ctx context.Context, c *duck.Conn, conversationID string) (map[string]*compact.Summary, error) {
	rows, err := c.SQL.QueryContext(ctx, `
		SELECT id, 'message', 0, seq, seq, said_at, said_at, 1, tokens, 0, 0, 0 FROM messages WHERE conversation_id = $1
		UNION ALL
		SELECT id, kind, depth, first_seq, last_seq, earliest_at, latest_at, messages, source_tokens, descendants, descendant_tokens, tokens
		FROM summaries WHERE conversation_id = $1`, conversationID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]*compact.Summary{}
	for rows.Next() {
		var s compact.Summary
		if err := rows.Scan(&s.ID, &s.Kind, &s.Depth, &s.FirstSeq, &s.LastSeq, &s.EarliestAt, &s.LatestAt, &s.Messages, &s.SourceTokens,
			&s.Descendants, &s.DescendantTokens, &s.Tokens); err != nil {
			return nil, err
		}
		all[s.ID] = &s
	}
	return all, rows.Err()
}

// made counts a summary from its sources.
func made(e *engine.Engine, m Made, conversationID string, below map[string]*compact.Summary) (*compact.Summary, error) {
	now := File(e).Now()
	s := &compact.Summary{ID: e.Options().NewID(ids.Summary, now), ConversationID: conversationID, Kind: compact.LeafKind, Text: m.Text, Tokens: m.Tokens,
		FirstSeq: 1 << 30, EarliestAt: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), Model: "test", Level: compact.Normal, Attempts: 1,
		CreatedAt: now, UpdatedAt: now}
	for _, id := range m.Sources {
		b := below[id]
		if b == nil {
			return nil, fmt.Errorf("no source %s", id)
		}
		kind := kinds.Message
		if b.Kind != string(kinds.Message) {
			kind, s.Kind, s.Depth = kinds.Summary, compact.CondensedKind, b.Depth+1
			s.Descendants, s.DescendantTokens = s.Descendants+b.Descendants+1, s.DescendantTokens+b.DescendantTokens+b.Tokens
		}
		s.Sources = append(s.Sources, compact.Source{Kind: kind, ID: id})
		s.FirstSeq, s.LastSeq = min(s.FirstSeq, b.FirstSeq), max(s.LastSeq, b.LastSeq)
		s.Messages, s.SourceTokens = s.Messages+b.Messages, s.SourceTokens+b.SourceTokens
		if b.EarliestAt.Before(s.EarliestAt) {
			s.EarliestAt = b.EarliestAt
		}
		if b.LatestAt.After(s.LatestAt) {
			s.LatestAt = b.LatestAt
		}
	}
	return s, nil
}
