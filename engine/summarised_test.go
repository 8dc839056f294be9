package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"

	"github.com/mallardmem/mallard/engine/text"
)

// PutSummary writes a summary in the place of the items of a context from one position to another, as a pass of compaction would, but with
// the text and times that a test wants. What s leaves open is filled in.
func (e *Engine) PutSummary(ctx context.Context, conversation string, s Summary, from, to int) (*Summary, error) {
	d := e.describeSummary(ctx, &s)
	err := e.write(ctx, "put summary", func(c *connection) error {
		v, err := findConversation(ctx, c, conversation)
		if err != nil {
			return err
		}
		if err := s.fill(ctx, c, v, from, to); err != nil {
			return err
		}
		s.ID = or(s.ID, e.opts.NewID(summaryPrefix, e.now()))
		s.ConversationID, s.CreatedAt, s.UpdatedAt = v.ID, e.now(), e.now()
		if err := e.insertSummary(ctx, c, v, &s, d); err != nil {
			return err
		}
		_, err = c.conn.ExecContext(ctx, "DELETE FROM context_items WHERE conversation_id = $id AND position BETWEEN $from AND $to",
			sql.Named("id", v.ID), sql.Named("from", from), sql.Named("to", to))
		if err != nil {
			return err
		}
		return c.appendRows("context_items", [][]driver.Value{{v.ID, int32(s.FirstSeq), string(SummaryKind), s.ID, int32(s.Tokens)}})
	})
	return &s, err
}

// fill takes from the items that a summary replaces what it says of them.
func (s *Summary) fill(ctx context.Context, c *connection, v *Conversation, from, to int) error {
	var all []*Summary
	err := c.each(ctx, "summary_list", func(rows *sql.Rows) error {
		below, _, err := scanSummary(rows)
		all = append(all, below)
		return err
	}, sql.Named("conversation_id", v.ID))
	if err != nil {
		return err
	}
	rows, err := c.conn.QueryContext(ctx, `SELECT i.position, i.kind, i.ref, i.tokens, coalesce(m.said_at, s.earliest_at), coalesce(m.said_at, s.latest_at)
		FROM context_items AS i LEFT JOIN messages AS m ON m.id = i.ref LEFT JOIN summaries AS s ON s.id = i.ref
		WHERE i.conversation_id = $id AND i.position BETWEEN $from AND $to ORDER BY i.position`,
		sql.Named("id", v.ID), sql.Named("from", from), sql.Named("to", to))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var source Source
		var position, tokens int
		var earliest, latest sql.NullTime
		if err := rows.Scan(&position, &source.Kind, &source.ID, &tokens, &earliest, &latest); err != nil {
			return err
		}
		if len(s.Sources) == 0 {
			s.FirstSeq, s.EarliestAt = position, orTime(s.EarliestAt, earliest.Time)
		}
		if s.LastSeq = position; latest.Time.After(s.LatestAt) {
			s.LatestAt = latest.Time
		}
		s.Sources = append(s.Sources, source)
		if source.Kind == MessageKind {
			s.Messages++
			s.SourceTokens += tokens
			continue
		}
		below := all[slices.IndexFunc(all, func(x *Summary) bool { return x.ID == source.ID })]
		s.LastSeq = below.LastSeq
		s.Depth = below.Depth + 1
		s.Messages += below.Messages
		s.SourceTokens += below.SourceTokens
		s.Descendants += below.Descendants + 1
		s.DescendantTokens += below.Tokens + below.DescendantTokens
	}
	estimator, err := text.NewEstimator(v.Estimator)
	if err != nil {
		return err
	}
	s.Tokens, s.Model, s.Level, s.Attempts = estimator.Tokens(s.Text), "test", Normal, 1
	s.Kind = leaf
	if s.Depth > 0 {
		s.Kind = condensed
	}
	return rows.Err()
}
