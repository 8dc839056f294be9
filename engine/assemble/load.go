package assemble

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/window"
)

// load reads what items say and makes them contenders.
func (a *assembly) load(ctx context.Context, c *duck.Conn, items []*contender) error {
	if err := a.loadMessages(ctx, c, items); err != nil {
		return err
	}
	if err := a.loadSummaries(ctx, c, items); err != nil {
		return err
	}
	for _, s := range items {
		if s.Message == nil && s.Summary == nil {
			return fmt.Errorf("%w: context of conversation %s: no %s %s", fault.ErrCorrupt, a.conversation.ID, s.Kind, s.ID)
		}
	}
	items = slices.DeleteFunc(items, func(s *contender) bool { return s.Message != nil && s.Message.Withheld })
	a.contenders = append(items, a.contenders...)
	slices.SortStableFunc(a.contenders, func(x, y *contender) int { return x.Position - y.Position })
	return nil
}

// loadMessages reads the messages among items, with their blocks.
func (a *assembly) loadMessages(ctx context.Context, c *duck.Conn, items []*contender) error {
	at := make(map[int]*contender, len(items))
	var positions []int32
	for _, s := range items {
		if !s.plan.Summary {
			at[s.Position] = s
			positions = append(positions, int32(s.Position))
		}
	}
	if len(positions) == 0 {
		return nil
	}
	from, to := positions[0], positions[len(positions)-1]
	messages, parts, each := "assemble_messages_at", "assemble_parts_at", c.Each
	args := []any{a.own(), sql.Named("from", from), sql.Named("to", to), sql.Named("positions", positions)}
	if together := int(to-from) <= 2*len(positions)+100; together {
		messages, parts, each = "assemble_messages", "assemble_parts", c.EachFixed
		from, to = duck.Outward(int(from), int(to), a.conversation.NextSeq-1)
		args = []any{a.own(), sql.Named("from", from), sql.Named("to", to)}
	}
	err := each(ctx, messages, func(rows *sql.Rows) error {
		m := &conversation.Message{ConversationID: a.conversation.ID}
		var withheld, fallback sql.NullBool
		err := rows.Scan(&m.ID, &m.Seq, &m.Role, duck.TextOf(&m.Speaker), &m.Text, duck.TextOf(&m.Caption), &m.SaidAt, &withheld, &fallback)
		m.Withheld, m.Fallback = withheld.Bool, fallback.Bool
		if s := at[m.Seq]; s != nil && s.ID == m.ID {
			s.Message, s.plan.Role, m.Tokens = m, m.Role, s.stored
		}
		return err
	}, args...)
	if err != nil {
		return err
	}
	return loadBlocks(ctx, each, at, parts, args)
}

// loadBlocks reads the blocks of messages by a named query, and notes which calls and results they are.
func loadBlocks(ctx context.Context, each func(context.Context, string, func(*sql.Rows) error, ...any) error, at map[int]*contender, query string, args []any) error {
	ordinals := map[int][]int{} // by seq, of the blocks read so far
	err := each(ctx, query, func(rows *sql.Rows) error {
		var seq, ordinal int
		var b conversation.Block
		err := rows.Scan(&seq, &ordinal, &b.Type, duck.TextOf(&b.Text), duck.TextOf(&b.CallID), duck.TextOf(&b.Tool), duck.TextOf(&b.Input), duck.TextOf(&b.Output), &b.IsError,
			duck.TextOf(&b.FileName), duck.TextOf(&b.MIME), duck.TextOf(&b.FileID))
		s := at[seq]
		if s == nil || s.Message == nil {
			return err
		}
		i, _ := slices.BinarySearch(ordinals[seq], ordinal)
		ordinals[seq] = slices.Insert(ordinals[seq], i, ordinal)
		s.Message.Blocks = slices.Insert(s.Message.Blocks, i, b)
		return err
	}, args...)
	for seq := range ordinals {
		s := at[seq]
		for _, b := range s.Message.Blocks {
			switch {
			case b.CallID == "":
			case b.Type == conversation.ToolCallBlock:
				s.plan.Calls = append(s.plan.Calls, b.CallID)
			case b.Type == conversation.ToolResultBlock:
				s.plan.Results = append(s.plan.Results, b.CallID)
			}
		}
	}
	return err
}

// loadSummaries reads the summaries among items, and renders them.
func (a *assembly) loadSummaries(ctx context.Context, c *duck.Conn, items []*contender) error {
	at := map[string]*contender{}
	var ids []string
	for _, s := range items {
		if s.plan.Summary {
			at[s.ID] = s
			ids = append(ids, s.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var deep []string
	err := c.EachFixed(ctx, "assemble_summaries", func(rows *sql.Rows) error {
		s := &compact.Summary{ConversationID: a.conversation.ID}
		err := rows.Scan(&s.ID, &s.Kind, &s.Depth, &s.Text, &s.Tokens, &s.FirstSeq, &s.LastSeq, &s.EarliestAt, &s.LatestAt, &s.Messages, &s.SourceTokens,
			&s.Descendants, &s.DescendantTokens)
		if err != nil {
			return err
		}
		at[s.ID].Summary = s
		if s.Depth > 0 {
			deep = append(deep, s.ID)
		}
		return nil
	}, a.own(), sql.Named("ids", ids))
	if err != nil {
		return err
	}
	if err := a.loadSources(ctx, c, deep, at); err != nil {
		return err
	}
	for _, it := range at {
		if it.Summary != nil {
			it.Text = renderSummary(it.Summary, a.zone)
			it.Tokens = a.estimator.Tokens(it.Text)
			it.plan.Depth, it.plan.Tokens = it.Summary.Depth, it.Tokens
		}
	}
	return nil
}

// loadSources reads which summaries those of some ids were made from.
func (a *assembly) loadSources(ctx context.Context, c *duck.Conn, ids []string, at map[string]*contender) error {
	if len(ids) == 0 {
		return nil
	}
	ordinals := map[string]int{}
	err := c.EachFixed(ctx, "assemble_sources", func(rows *sql.Rows) error {
		var id, source string
		var ordinal int
		if err := rows.Scan(&id, &ordinal, &source); err != nil {
			return err
		}
		s := at[id].Summary
		s.Sources = append(s.Sources, compact.Source{Kind: kinds.Summary, ID: source})
		ordinals[source] = ordinal // a summary is the source of one other at most
		return nil
	}, sql.Named("ids", ids))
	for _, id := range ids {
		slices.SortFunc(at[id].Summary.Sources, func(x, y compact.Source) int { return ordinals[x.ID] - ordinals[y.ID] })
	}
	return err
}

// mostImages in bytes that are shown of what is stored, the newest first: providers refuse requests above some 30 MB.
const mostImages = 20 << 20

// loadImages reads the images that a user shows in what was chosen.
func (a *assembly) loadImages(ctx context.Context, c *duck.Conn) error {
	at := map[string][]*conversation.Block{}
	var ids []string // newest first
	for i := len(a.chosen) - 1; i >= 0; i-- {
		m := a.chosen[i].Message
		if m == nil || m.Role == window.Assistant || m.Role == window.Tool {
			continue
		}
		for j := range m.Blocks {
			if b := &m.Blocks[j]; b.Type == conversation.ImageBlock && b.FileID != "" && (b.MIME == "" || strings.HasPrefix(b.MIME, "image/")) {
				at[b.FileID], ids = append(at[b.FileID], b), append(ids, b.FileID)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return c.Each(ctx, "assemble_images", func(rows *sql.Rows) error {
		var id string
		var content []byte
		err := rows.Scan(&id, &content)
		if imageType(content) != "" {
			for _, b := range at[id] {
				b.Data = content
			}
		}
		return err
	}, a.own(), sql.Named("ids", ids), sql.Named("largest", int64(largestImage)), sql.Named("most", int64(mostImages)))
}
