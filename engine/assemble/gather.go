package assemble

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/internal/resident"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/window"
)

// contextSpan is how much a context holds, and from which position to which.
type contextSpan struct {
	items, summaries, tokens, first, last int
}

// find reads the conversation and what its context holds. known is false when the host's live messages are to be shown instead.
func (a *assembly) find(ctx context.Context, c *duck.Conn) (known bool, err error) {
	if a.conversation == nil {
		a.conversation, err = a.assembler.conversations.Readable(ctx, c, a.request.Conversation, a.request.Agent)
	}
	if errors.Is(err, fault.ErrNotFound) && a.request.Live != nil {
		a.live = true
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if a.estimator, err = text.NewEstimator(a.conversation.Estimator); err != nil {
		return false, fmt.Errorf("%w: conversation %s: %w", fault.ErrCorrupt, a.conversation.ID, err)
	}
	t := &a.totals
	_, err = c.OneFixed(ctx, "assemble_totals", []any{&t.items, &t.summaries, &t.tokens, &t.first, &t.last}, a.own(), a.until())
	a.live = a.request.Live != nil && t.summaries == 0 && (t.items == 0 || t.items < len(a.request.Live))
	return !a.live, err
}

func (a *assembly) own() sql.NamedArg { return sql.Named("conversation_id", a.conversation.ID) }

// until is the last position that takes part: none where all do.
func (a *assembly) until() sql.NamedArg {
	if a.request.Until > 0 && a.request.Until < a.conversation.NextSeq-1 {
		return sql.Named("until", int32(a.request.Until))
	}
	return sql.Named("until", int32(math.MaxInt32))
}

// gather reads the contenders: the newest items up to the first that the budget has no room for, all that the fresh tail can have, what
// is relevant to the prompt, and whatever of calls and results belongs to these.
func (a *assembly) gather(ctx context.Context, c *duck.Conn) error {
	if a.totals.items == 0 {
		return nil
	}
	newest, err := a.newest(ctx, c)
	if err != nil {
		return err
	}
	a.low = newest[0].Position
	if err := a.load(ctx, c, newest); err != nil {
		return err
	}
	for _, more := range []func(context.Context, *duck.Conn) error{a.settleTail, a.relevant, a.partners, a.depths} {
		if err := more(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// whole reports whether every item of the context is a contender.
func (a *assembly) whole() bool { return len(a.contenders) == a.totals.items }

// newest reads the newest items, without what they say. How far back they may lie is guessed from how dense the context is.
func (a *assembly) newest(ctx context.Context, c *duck.Conn) ([]*contender, error) {
	t, budget := a.totals, a.request.Budget
	fewest := max(a.policy.TailCount, 0) + window.TailMargin
	reach := t.last - t.first + 1
	if t.tokens > budget {
		reach = int(float64(reach)*1.25*float64(budget)/float64(t.tokens)) + fewest + 1
	}
	for {
		low := max(t.last-reach+1, t.first)
		items, err := a.stretch(ctx, c, low, t.last)
		if err != nil {
			return nil, err
		}
		tokens, messages := 0, 0
		for i := len(items) - 1; i >= 0; i-- {
			tokens += items[i].stored
			if !items[i].plan.Summary {
				messages++
			}
			if tokens > budget && messages > fewest {
				return items[i:], nil
			}
		}
		if low == t.first {
			return items, nil
		}
		reach *= 3
	}
}

// stretch reads the items from one position to another, without what they say.
func (a *assembly) stretch(ctx context.Context, c *duck.Conn, from, to int) (all []*contender, err error) {
	low, high := duck.Outward(from, to, a.conversation.NextSeq-1)
	err = c.EachFixed(ctx, "assemble_items", func(rows *sql.Rows) error { return scanContender(rows, &all) }, a.own(), sql.Named("from", low), sql.Named("to", high))
	all = slices.DeleteFunc(all, func(s *contender) bool { return s.Position < from || s.Position > to })
	return inOrder(all), err
}

func inOrder(all []*contender) []*contender {
	slices.SortFunc(all, func(x, y *contender) int { return x.Position - y.Position })
	return all
}

func scanContender(rows *sql.Rows, all *[]*contender) error {
	s := &contender{}
	err := rows.Scan(&s.Position, &s.Kind, &s.ID, &s.stored)
	s.Tokens = s.stored
	s.plan = window.Item{Position: s.Position, Ref: s.ID, Summary: s.Kind == kinds.Summary, Tokens: s.stored}
	*all = append(*all, s)
	return err
}

// extend makes all items from a position on contenders.
func (a *assembly) extend(ctx context.Context, c *duck.Conn, from int) error {
	items, err := a.stretch(ctx, c, from, a.low-1)
	if err != nil {
		return err
	}
	a.low = from
	return a.load(ctx, c, items)
}

// plans is what planning sees of the contenders.
func (a *assembly) plans() []window.Item {
	items := make([]window.Item, len(a.contenders))
	for i := range a.contenders {
		items[i] = a.contenders[i].plan
	}
	return items
}

// mostPromptWords is how many words of a prompt choose, the first of them: a prompt may hold whole files.
const mostPromptWords = 1000

// relevant reads what answers the prompt best.
func (a *assembly) relevant(ctx context.Context, c *duck.Conn) error {
	if a.request.Chosen != nil {
		return a.recorded(ctx, c)
	}
	if !a.request.PromptAware || a.totals.tokens <= a.request.Budget {
		return nil
	}
	var terms []string
	for _, token := range a.assembler.index.Analyzer.QueryTokens(a.request.Prompt) {
		if terms = append(terms, token.Term); len(terms) == mostPromptWords {
			break
		}
	}
	if len(terms) == 0 {
		return nil
	}
	scores, err := a.scores(ctx, c, terms)
	if err != nil {
		return err
	}
	var missing []int32
	for position := range scores {
		if position < a.low {
			missing = append(missing, int32(position))
		}
	}
	if err := a.loadAt(ctx, c, missing); err != nil {
		return err
	}
	for i := range a.contenders {
		a.contenders[i].Score = scores[a.contenders[i].Position]
	}
	return nil
}

// recorded reads what was chosen once; choose leaves out what else there is before the fresh tail.
func (a *assembly) recorded(ctx context.Context, c *duck.Conn) error {
	var missing []int32
	for _, position := range a.request.Chosen {
		if position < a.low && position > 0 {
			missing = append(missing, int32(position))
		}
	}
	return a.loadAt(ctx, c, missing)
}

// scores are those of the items that answer best, by their positions: as the resident index finds them, or the file.
func (a *assembly) scores(ctx context.Context, c *duck.Conn, terms []string) (map[int]float64, error) {
	scores, weights := map[int]float64{}, recall.TranscriptWeights()
	found, ok, err := a.search(terms, weights)
	if err != nil {
		return nil, err
	}
	budget := sql.Named("budget", int64(a.request.Budget))
	if !ok {
		err := c.Each(ctx, "assemble_relevant", func(rows *sql.Rows) error {
			var position int
			var score float64
			err := rows.Scan(&position, &score)
			scores[position] = score
			return err
		}, a.own(), sql.Named("terms", terms), budget, sql.Named("k1", weights.K1), sql.Named("b", weights.B))
		return scores, err
	}
	for tokens, page := 0, mostRelevant; len(found) > 0 && tokens < 2*a.request.Budget; page *= 4 {
		some := found[:min(page, len(found))]
		docNos := make([]int32, len(some))
		for i, m := range some {
			docNos[i] = m.No
		}
		c.List(docNos)
		err := c.Each(ctx, "assemble_found", func(rows *sql.Rows) error {
			var place, position, cost int
			if err := rows.Scan(&place, &position, &cost); err != nil {
				return err
			}
			if tokens < 2*a.request.Budget {
				scores[position] = some[place-1].Score
				tokens += cost
			}
			return nil
		}, a.own(), budget)
		if err != nil {
			return nil, err
		}
		found = found[len(some):]
	}
	return scores, nil
}

// mostRelevant is how many of the best are looked up at first.
const mostRelevant = 250

// search asks the resident index; ok is false where there is none.
func (a *assembly) search(terms []string, weights recall.Weights) (found []resident.Match, ok bool, err error) {
	s := &resident.Search{K1: weights.K1, B: weights.B, Family: true, Most: math.MaxInt, Among: []resident.Filter{{Kinds: []kinds.Kind{kinds.Message, kinds.Summary},
		Conversations: []string{a.conversation.ID}, Since: resident.Never, Until: resident.Always, SaidBy: resident.Always}}}
	for _, term := range slices.Compact(slices.Sorted(slices.Values(terms))) {
		s.Words = append(s.Words, resident.SearchWord{Hash: index.WordHash(term)})
	}
	ok, err = a.assembler.index.Resident(func() error { return nil }, func(x *resident.Index) error {
		found = x.Search(s)
		return nil
	})
	return found, ok, err
}

// depths finds out how deep the summaries go, those that are no contenders too.
func (a *assembly) depths(ctx context.Context, c *duck.Conn) error {
	summaries := 0
	for i := range a.contenders {
		if s := a.contenders[i].Summary; s != nil {
			summaries++
			a.depth = max(a.depth, s.Depth)
			if s.Depth > 0 {
				a.condensed++
			}
		}
	}
	if summaries == a.totals.summaries {
		return nil
	}
	a.depth, a.condensed = 0, 0
	depths := map[string]int{}
	err := c.EachFixed(ctx, "assemble_condensed", func(rows *sql.Rows) error {
		var id string
		var depth int
		err := rows.Scan(&id, &depth)
		depths[id] = depth
		return err
	}, a.own())
	if err != nil || len(depths) == 0 {
		return err
	}
	return c.EachFixed(ctx, "assemble_refs", func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		if depth := depths[id]; depth > 0 {
			a.depth = max(a.depth, depth)
			a.condensed++
		}
		return err
	}, a.own(), a.until())
}

// loadAt makes the items at some positions contenders.
func (a *assembly) loadAt(ctx context.Context, c *duck.Conn, positions []int32) error {
	positions = slices.DeleteFunc(positions, func(at int32) bool { return int(at) > a.totals.last })
	if len(positions) == 0 {
		return nil
	}
	var items []*contender
	err := c.Each(ctx, "assemble_items_at", func(rows *sql.Rows) error { return scanContender(rows, &items) }, a.own(), sql.Named("positions", positions))
	if err != nil {
		return err
	}
	return a.load(ctx, c, inOrder(items))
}
