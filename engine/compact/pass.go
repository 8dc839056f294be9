package compact

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/window"
)

// pass makes one summary: reads its sources, asks for the text outside of any lock, and writes it if that makes the context smaller. It gives
// the tokens of the context before and after, with what was said meanwhile in both, and the id of the summary if it was written.
func (k *compaction) pass(ctx context.Context, view *contextView, step window.Step) (p Pass, err error) {
	p.TokensBefore, p.TokensAfter = view.tokens, view.tokens
	started := k.compactor.file.Now()
	chosen := view.oldest[step.Lo:step.Hi]
	var in *summaryInput
	err = k.compactor.file.Read(ctx, "read sources", func(c *duck.Conn) error {
		in, err = k.compactor.summaryInput(ctx, c, k.v, chosen)
		if err != nil || k.compactor.opts.LLM == nil { // sentences are picked without regard to what came before
			return err
		}
		return in.readPrevious(ctx, c, view.oldest, step.Previous)
	})
	if err != nil {
		return p, err
	}
	if len(in.sources) != len(chosen) {
		return p, fmt.Errorf("%w: an item of the context left it, or else refers to nothing; see memctl doctor", fault.ErrConflict)
	}
	in.instructions = k.r.Instructions
	in.lastResort = k.r.Force || k.r.Budget > 0 && view.tokens+k.unseen > k.r.Budget
	made, err := k.compactor.summarise(ctx, in, &k.rarity)
	k.result.Calls += made.calls
	if err != nil || made.text == "" || made.tokens >= window.Tokens(chosen) {
		return p, err
	}
	s := in.summary(made)
	s.CreatedAt = k.compactor.file.Now()
	s.UpdatedAt = s.CreatedAt
	if s.ID, err = k.compactor.file.NewID(ids.Summary, s.CreatedAt); err != nil {
		return p, err
	}
	d := k.compactor.DescribeSummary(ctx, s)
	p = Pass{SummaryID: s.ID, Kind: s.Kind, Depth: s.Depth, Level: s.Level, Fallback: s.Fallback, Items: len(chosen)}
	var items int
	err = k.compactor.file.Write(ctx, "write summary", func(tx *duck.Write) (err error) {
		if err := in.unchanged(ctx, tx.Conn); err != nil {
			return err
		}
		if err := k.compactor.replace(ctx, tx, k.v, chosen, s, d); err != nil {
			return err
		}
		if items, p.TokensAfter, err = conversation.ContextSize(ctx, tx.Conn, k.v.ID); err != nil {
			return err
		}
		p.TokensBefore = p.TokensAfter - s.Tokens + window.Tokens(chosen)
		id, err := k.compactor.file.NewID(ids.Compaction, k.compactor.file.Now())
		if err != nil {
			return err
		}
		return tx.AppendRows("compactions", [][]driver.Value{{id, k.v.ID, s.ID, s.Kind, int32(s.Depth), string(s.Level),
			s.Model, int32(p.Items), int32(p.TokensBefore), int32(p.TokensAfter), int32(made.calls), started, k.compactor.file.Now()}})
	})
	if err == nil {
		k.known = view.after(step.Lo, step.Hi, s.item(), items, p.TokensAfter)
		k.result.Passes, k.result.Changed = append(k.result.Passes, p), true
	}
	return p, err
}

// replace puts a summary in the place of items, if they still stand there and none has become longer.
// Errors: ErrConflict.
func (cp *Compactor) replace(ctx context.Context, tx *duck.Write, v *conversation.Conversation, items []window.Item, s *Summary, d *index.Document) error {
	from, to := items[0].Position, items[len(items)-1].Position
	n := 0
	err := tx.Each(ctx, "context_range", func(rows *sql.Rows) error {
		var position, tokens int
		var ref string
		if err := rows.Scan(&position, &ref, &tokens); err != nil {
			return err
		}
		if n >= len(items) || items[n].Position != position || items[n].Ref != ref || items[n].Tokens != tokens {
			return fmt.Errorf("%w: the context changed at position %d", fault.ErrConflict, position)
		}
		n++
		return nil
	}, sql.Named("conversation_id", v.ID), sql.Named("from", int64(from)), sql.Named("to", int64(to)))
	if err != nil {
		return err
	}
	if n != len(items) {
		return fmt.Errorf("%w: %d of %d items left the context", fault.ErrConflict, len(items)-n, len(items))
	}
	if err := conversation.RemoveItems(ctx, tx, v.ID, from, to); err != nil {
		return err
	}
	if err := cp.InsertSummary(ctx, tx, v, s, d); err != nil {
		return err
	}
	return conversation.InsertItems(tx, v.ID, s.item())
}

// summaryInput is what a summary is made from.
type summaryInput struct {
	conversation *conversation.Conversation
	kind         window.Kind
	depth        int // of the summary to make
	sources      []Source
	docNos       []int32 // of the messages from the first source to the last, also of those that are no sources
	passages     []text.Passage
	stored       int // tokens of the sources as the context has them
	previous     string
	instructions string
	lastResort   bool // when the model fails, do without it
	fileIDs      []string
	read         map[string]summaryState // the summaries that this was read from

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

// summaryState is what changes of a summary whenever its text or its counters do.
type summaryState struct{ attempts, tokens, messages, sourceTokens, descendants, descendantTokens int }

func (s *Summary) state() summaryState {
	return summaryState{s.Attempts, s.Tokens, s.Messages, s.SourceTokens, s.Descendants, s.DescendantTokens}
}

// note remembers how a summary was when it was read.
func (in *summaryInput) note(s *Summary) {
	if in.read == nil {
		in.read = map[string]summaryState{}
	}
	in.read[s.ID] = s.state()
}

// unchanged makes sure that the summaries that were read say the same still: one may have been written anew, or have lost a message for
// good. Errors: ErrConflict.
func (in *summaryInput) unchanged(ctx context.Context, c *duck.Conn) error {
	if len(in.read) == 0 {
		return nil
	}
	same := 0
	err := c.Each(ctx, "summaries_by_id", func(rows *sql.Rows) error {
		s, _, err := ScanSummary(rows)
		if err == nil && s.state() == in.read[s.ID] {
			same++
		}
		return err
	}, sql.Named("ids", slices.Collect(maps.Keys(in.read))))
	if err == nil && same != len(in.read) {
		err = fmt.Errorf("%w: %d of the summaries that were read changed", fault.ErrConflict, len(in.read)-same)
	}
	return err
}

// readPrevious joins the texts of the summaries that the next one goes on from, oldest first.
func (in *summaryInput) readPrevious(ctx context.Context, c *duck.Conn, items []window.Item, at []int) error {
	if len(at) == 0 {
		return nil
	}
	var ids, texts []string
	for _, i := range at {
		ids = append(ids, items[i].Ref)
	}
	err := c.Each(ctx, "summaries_by_id", func(rows *sql.Rows) error {
		s, _, err := ScanSummary(rows)
		if err != nil {
			return err
		}
		in.note(s)
		texts = append(texts, strings.TrimSpace(s.Text))
		return nil
	}, sql.Named("ids", ids))
	in.previous = strings.Join(texts, "\n\n")
	return err
}
