package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/window"
)

// pass makes one summary: reads its sources, asks for the text outside of any lock, and writes it if that makes the context smaller.
// after is the tokens of the context then.
func (k *compaction) pass(ctx context.Context, view *contextView, step window.Step) (after int, wrote bool, err error) {
	started := k.e.now()
	chosen := view.oldest[step.Lo:step.Hi]
	var in *summaryInput
	err = k.e.read(ctx, "read sources", func(c *connection) error {
		in, err = k.e.summaryInput(ctx, c, k.v, chosen)
		if err != nil {
			return err
		}
		in.previous, err = previousOf(ctx, c, view.oldest, step.Previous)
		return err
	})
	if err != nil {
		return view.tokens, false, err
	}
	if len(in.sources) != len(chosen) {
		return view.tokens, false, fmt.Errorf("%w: an item of the context refers to nothing; see memctl doctor", ErrCorrupt)
	}
	in.instructions = k.r.Instructions
	in.lastResort = k.r.Force || k.r.Budget > 0 && max(view.tokens, k.r.Live) > k.r.Budget
	made, err := k.e.summarise(ctx, in)
	k.result.Calls += made.calls
	if err != nil {
		return view.tokens, false, err
	}
	if made.text == "" || made.tokens >= window.Tokens(chosen) {
		return view.tokens, false, nil
	}
	s := in.summary(made)
	s.ID, s.CreatedAt = k.e.opts.NewID(summaryPrefix, k.e.now()), k.e.now()
	s.UpdatedAt = s.CreatedAt
	d := k.e.describeSummary(ctx, s)
	p := CompactPass{SummaryID: s.ID, Kind: s.Kind, Depth: s.Depth, Level: s.Level, Fallback: s.Fallback, Items: len(chosen)}
	err = k.e.write(ctx, "write summary", func(c *connection) error {
		if err := k.e.replace(ctx, c, k.v, chosen, s, d); err != nil {
			return err
		}
		var err error
		if _, p.TokensAfter, err = contextSize(ctx, c, k.v.ID); err != nil {
			return err
		}
		p.TokensBefore = p.TokensAfter - s.Tokens + window.Tokens(chosen)
		return c.appendRows("compactions", [][]driver.Value{{k.e.opts.NewID(compactionPrefix, k.e.now()), k.v.ID, s.ID, s.Kind, int32(s.Depth), string(s.Level),
			s.Model, int32(p.Items), int32(p.TokensBefore), int32(p.TokensAfter), int32(made.calls), started, k.e.now()}})
	})
	if err != nil {
		return view.tokens, false, err
	}
	k.result.Passes, k.result.Changed = append(k.result.Passes, p), true
	return p.TokensAfter, true, nil
}

// replace puts a summary in the place of items, if they still stand there. The caller is in a write transaction. Errors: ErrConflict.
func (e *Engine) replace(ctx context.Context, c *connection, v *Conversation, items []window.Item, s *Summary, d *document) error {
	from, to := int64(items[0].Position), int64(items[len(items)-1].Position)
	n := 0
	err := c.each(ctx, "context_range", func(rows *sql.Rows) error {
		var position int
		var ref string
		if err := rows.Scan(&position, &ref); err != nil {
			return err
		}
		if n >= len(items) || items[n].Position != position || items[n].Ref != ref {
			return fmt.Errorf("%w: the context changed at position %d", ErrConflict, position)
		}
		n++
		return nil
	}, sql.Named("conversation_id", v.ID), sql.Named("from", from), sql.Named("to", to))
	if err != nil {
		return err
	}
	if n != len(items) {
		return fmt.Errorf("%w: %d of %d items left the context", ErrConflict, len(items)-n, len(items))
	}
	if _, err := c.exec(ctx, "context_remove", sql.Named("conversation_id", v.ID), sql.Named("from", from), sql.Named("to", to)); err != nil {
		return err
	}
	if err := e.insertSummary(ctx, c, v, s, d); err != nil {
		return err
	}
	return c.appendRows("context_items", [][]driver.Value{{v.ID, int32(from), string(SummaryKind), s.ID, int32(s.Tokens)}})
}

// summaryInput is what a summary is made from.
type summaryInput struct {
	conversation *Conversation
	kind         window.Kind
	depth        int // of the summary to make
	sources      []Source
	passages     []text.Passage
	stored       int // tokens of the sources as the context has them
	previous     string
	instructions string
	lastResort   bool // when the model fails, do without it
	fileIDs      []string

	// what the summary will say of its sources
	firstSeq, lastSeq, messages, sourceTokens, descendants, descendantTokens int
	earliest, latest                                                         time.Time
}

// summary is what made says, of the sources of in.
func (in *summaryInput) summary(made summarised) *Summary {
	return &Summary{
		ConversationID: in.conversation.ID, Kind: string(in.kind), Depth: in.depth, Text: made.text, Tokens: made.tokens,
		FirstSeq: in.firstSeq, LastSeq: in.lastSeq, EarliestAt: in.earliest, LatestAt: in.latest, Messages: in.messages,
		SourceTokens: in.sourceTokens, Descendants: in.descendants, DescendantTokens: in.descendantTokens,
		Model: made.model, Level: made.level, Fallback: made.fallback, Attempts: 1, FileIDs: in.fileIDs, Sources: in.sources,
	}
}

// span widens what the sources cover.
func (in *summaryInput) span(firstSeq, lastSeq int, earliest, latest time.Time) {
	if len(in.sources) == 0 || firstSeq < in.firstSeq {
		in.firstSeq = firstSeq
	}
	in.lastSeq = max(in.lastSeq, lastSeq)
	if in.earliest.IsZero() || earliest.Before(in.earliest) {
		in.earliest = earliest
	}
	if latest.After(in.latest) {
		in.latest = latest
	}
}

// previousOf joins the texts of the summaries that the next one goes on from.
func previousOf(ctx context.Context, c *connection, items []window.Item, at []int) (string, error) {
	var ids []string
	for _, i := range at {
		ids = append(ids, items[i].Ref)
	}
	return textsOf(ctx, c, ids)
}
