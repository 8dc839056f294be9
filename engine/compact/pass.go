package compact

import (
	"context"
	"database/sql"
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
	"github.com/mallardmem/mallard/engine/text/extract"
	"github.com/mallardmem/mallard/engine/window"
)

// pass makes one summary: reads its sources, asks for the text outside of any lock, and writes it if that makes the context smaller, or keeps it to be
// written with the next ones. It gives the tokens of the context before and after, and the id of the summary, if it is one.
func (k *compaction) pass(ctx context.Context, view *contextView, step window.Step) (p Pass, err error) {
	p.TokensBefore, p.TokensAfter = view.tokens, view.tokens
	chosen := view.oldest[step.Lo:step.Hi]
	if !k.isBehind(chosen) { // what is made may be among the sources, and is written in the order of the context
		if err := k.write(ctx); err != nil {
			return p, err
		}
	}
	started := k.compactor.file.Now()
	in, err := k.input(ctx, view, step)
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
	if err != nil {
		return p, err
	}
	if made.text == "" || made.tokens >= window.Tokens(chosen) {
		return p, k.write(ctx)
	}
	s := in.summary(made)
	s.CreatedAt = k.compactor.file.Now()
	s.UpdatedAt = s.CreatedAt
	if s.ID, err = k.compactor.file.NewID(ids.Summary, s.CreatedAt); err != nil {
		return p, err
	}
	k.known = view.after(step.Lo, step.Hi, s.item())
	p.TokensAfter += s.Tokens - window.Tokens(chosen)
	p.SummaryID, p.Kind, p.Depth, p.Level, p.Fallback, p.Items = s.ID, s.Kind, s.Depth, s.Level, s.Fallback, len(chosen)
	m := &madePass{Pass: p, items: chosen, in: in, summary: s, document: k.describe(ctx, s), calls: made.calls, started: started}
	k.made = append(k.made, m)
	if k.compactor.opts.LLM == nil && k.known != nil && len(k.made) < together {
		return p, nil
	}
	err = k.write(ctx)
	return m.Pass, err
}

// describe makes the document of a summary while the next one is made.
func (k *compaction) describe(ctx context.Context, s *Summary) <-chan *index.Document {
	document := make(chan *index.Document, 1)
	k.describing.Go(func() { document <- k.compactor.DescribeSummary(ctx, s) })
	return document
}

// input reads the sources of a pass. After the first one, where no model is waited for, the messages of the next leaves are read with it.
func (k *compaction) input(ctx context.Context, view *contextView, step window.Step) (in *summaryInput, err error) {
	chosen := view.oldest[step.Lo:step.Hi]
	more := step.Kind == window.Leaf && len(k.result.Passes)+len(k.made) > 0
	reach := func(leaves int) int { // of so many, as far as they may be made
		if k.policy.MaxPasses > 0 {
			leaves = min(leaves, k.policy.MaxPasses-k.sweeping.Passes())
		}
		return view.reach(step.Lo, leaves*k.policy.LeafChunkTokens)
	}
	if more && k.compactor.opts.LLM == nil {
		if from, to := chosen[0].Position, chosen[len(chosen)-1].Position; !view.hasSaid(from, to) {
			to = max(to, reach(together))
			err = k.compactor.file.Read(ctx, "read sources", func(c *duck.Conn) error {
				view.said, err = conversation.Said(ctx, c, k.v.ID, from, to)
				return err
			})
		}
		in = k.compactor.leafInput(k.v, view.said, chosen)
	} else {
		err = k.compactor.file.Read(ctx, "read sources", func(c *duck.Conn) error {
			in, err = k.compactor.summaryInput(ctx, c, k.v, chosen)
			if err != nil || k.compactor.opts.LLM == nil { // sentences are picked without regard to what came before
				return err
			}
			return in.readPrevious(ctx, c, view.oldest, step.Previous)
		})
	}
	if err == nil && more {
		in.until = reach(ahead)
	}
	return in, err
}

// summaryInput is what a summary is made from.
type summaryInput struct {
	conversation *conversation.Conversation
	kind         window.Kind
	depth        int // of the summary to make
	sources      []Source
	until        int // seq up to which the next passes will have sources, as far as that is known
	passages     []extract.Passage
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
