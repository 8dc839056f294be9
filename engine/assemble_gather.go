package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/window"
)

// contextSpan is how much a context holds, and from which position to which.
type contextSpan struct {
	messages, summaries, tokens, first, last int
}

func (s contextSpan) items() int { return s.messages + s.summaries }

// find reads the conversation and what its context holds. known is false when the host's live messages are to be shown instead.
func (a *assembly) find(ctx context.Context, c *connection) (known bool, err error) {
	a.conversation, err = a.engine.readable(ctx, c, a.request.Conversation, a.request.Agent)
	if errors.Is(err, ErrNotFound) && a.request.Live != nil {
		a.live = true
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if a.estimator, err = text.NewEstimator(a.conversation.Estimator); err != nil {
		return false, fmt.Errorf("%w: conversation %s: %w", ErrCorrupt, a.conversation.ID, err)
	}
	t := &a.totals
	_, err = c.one(ctx, "assemble_totals", []any{&t.messages, &t.summaries, &t.tokens, &t.first, &t.last}, a.own())
	a.live = a.request.Live != nil && t.summaries == 0 && (t.messages == 0 || t.messages < len(a.request.Live))
	return !a.live, err
}

func (a *assembly) own() sql.NamedArg { return sql.Named("conversation_id", a.conversation.ID) }

// gather reads the contenders: the newest items up to the first that the budget has no room for, all that the fresh tail can have, what
// is relevant to the prompt, and whatever of calls and results belongs to these.
func (a *assembly) gather(ctx context.Context, c *connection) error {
	if a.totals.items() == 0 {
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
	for _, more := range []func(context.Context, *connection) error{a.untilUser, a.relevant, a.partners, a.depths} {
		if err := more(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// whole reports whether every item of the context is a contender.
func (a *assembly) whole() bool { return len(a.contenders) == a.totals.items() }

// newest reads the newest items, without what they say. How far back they may lie is guessed from how dense the context is.
func (a *assembly) newest(ctx context.Context, c *connection) ([]contender, error) {
	t, budget := a.totals, a.request.Budget
	reach := t.last - t.first + 1
	if t.tokens > budget {
		reach = int(float64(reach)*1.25*float64(budget)/float64(t.tokens)) + max(a.policy.TailCount, 0) + 1
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
			if tokens > budget && messages > a.policy.TailCount {
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
func (a *assembly) stretch(ctx context.Context, c *connection, from, to int) (all []contender, err error) {
	err = c.each(ctx, "assemble_items", func(rows *sql.Rows) error { return scanContender(rows, &all) },
		a.own(), sql.Named("from", int32(from)), sql.Named("to", int32(to)))
	return all, err
}

func scanContender(rows *sql.Rows, all *[]contender) error {
	var s contender
	err := rows.Scan(&s.Position, &s.Kind, &s.ID, &s.stored)
	s.Tokens = s.stored
	s.plan = window.Item{Position: s.Position, Ref: s.ID, Summary: s.Kind == SummaryKind, Tokens: s.stored}
	*all = append(*all, s)
	return err
}

// untilUser reads on to the newest message of a user, if there is none among the contenders: the fresh tail begins there at the latest.
func (a *assembly) untilUser(ctx context.Context, c *connection) error {
	if a.policy.TailCount <= 0 || a.policy.TailTokens < 0 || a.low <= a.totals.first {
		return nil
	}
	for i := range a.contenders {
		if p := a.contenders[i].plan; p.Role == window.User && len(p.Results) == 0 {
			return nil
		}
	}
	from := 0
	if _, err := c.one(ctx, "assemble_asked", []any{&from}, a.own(), sql.Named("before", int32(a.low))); err != nil || from == 0 {
		return err
	}
	items, err := a.stretch(ctx, c, from, a.low-1)
	if err != nil {
		return err
	}
	a.low = from
	return a.load(ctx, c, items)
}

// relevant reads what answers the prompt best.
func (a *assembly) relevant(ctx context.Context, c *connection) error {
	if !a.request.PromptAware || a.totals.tokens <= a.request.Budget {
		return nil
	}
	var terms []string
	for _, token := range a.engine.analyzer.QueryTokens(a.request.Prompt) {
		terms = append(terms, token.Term)
	}
	if len(terms) == 0 {
		return nil
	}
	scores := map[int]float64{}
	err := c.each(ctx, "assemble_relevant", func(rows *sql.Rows) error {
		var position int
		var score float64
		err := rows.Scan(&position, &score)
		scores[position] = score
		return err
	}, a.own(), sql.Named("terms", terms), sql.Named("tokens", int64(2*a.request.Budget)))
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

// partners reads the messages that hold the other half of a call and its result of which only one is a contender.
func (a *assembly) partners(ctx context.Context, c *connection) error {
	if a.whole() {
		return nil
	}
	calls, results := map[string]bool{}, map[string]bool{}
	known := map[int]bool{}
	for i := range a.contenders {
		known[a.contenders[i].Position] = true
		for _, id := range a.contenders[i].plan.Calls {
			calls[id] = true
		}
		for _, id := range a.contenders[i].plan.Results {
			results[id] = true
		}
	}
	var single []string
	for id := range calls {
		if !results[id] {
			single = append(single, id)
		}
	}
	for id := range results {
		if !calls[id] {
			single = append(single, id)
		}
	}
	if len(single) == 0 {
		return nil
	}
	var missing []int32
	err := c.each(ctx, "assemble_partners", func(rows *sql.Rows) error {
		var position int32
		err := rows.Scan(&position)
		if !known[int(position)] {
			missing = append(missing, position)
		}
		return err
	}, a.own(), sql.Named("calls", single))
	if err != nil {
		return err
	}
	return a.loadAt(ctx, c, missing)
}

// depths finds out how deep the summaries go, those that are no contenders too.
func (a *assembly) depths(ctx context.Context, c *connection) error {
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
	_, err := c.one(ctx, "assemble_depths", []any{&a.depth, &a.condensed}, a.own())
	return err
}

// loadAt makes the items at some positions contenders.
func (a *assembly) loadAt(ctx context.Context, c *connection, positions []int32) error {
	if len(positions) == 0 {
		return nil
	}
	var items []contender
	err := c.each(ctx, "assemble_items_at", func(rows *sql.Rows) error { return scanContender(rows, &items) },
		a.own(), sql.Named("positions", positions))
	if err != nil {
		return err
	}
	return a.load(ctx, c, items)
}

// load reads what items say and makes them contenders.
func (a *assembly) load(ctx context.Context, c *connection, items []contender) error {
	if err := a.loadMessages(ctx, c, items); err != nil {
		return err
	}
	if err := a.loadSummaries(ctx, c, items); err != nil {
		return err
	}
	for i := range items {
		if s := &items[i]; s.Message == nil && s.Summary == nil {
			return fmt.Errorf("%w: context of conversation %s: no %s %s", ErrCorrupt, a.conversation.ID, s.Kind, s.ID)
		}
	}
	a.contenders = append(items, a.contenders...)
	slices.SortStableFunc(a.contenders, func(x, y contender) int { return x.Position - y.Position })
	return nil
}

// loadMessages reads the messages among items, with their blocks.
func (a *assembly) loadMessages(ctx context.Context, c *connection, items []contender) error {
	at := make(map[int]*contender, len(items))
	var positions []int32
	for i := range items {
		if !items[i].plan.Summary {
			at[items[i].Position] = &items[i]
			positions = append(positions, int32(items[i].Position))
		}
	}
	if len(positions) == 0 {
		return nil
	}
	from, to := positions[0], positions[len(positions)-1]
	messages, parts := "assemble_messages", "assemble_parts"
	args := []any{a.own(), sql.Named("from", from), sql.Named("to", to)}
	if scattered := int(to-from) > 2*len(positions)+100; scattered {
		messages, parts = "assemble_messages_at", "assemble_parts_at"
		args = append(args, sql.Named("positions", positions))
	}
	err := c.each(ctx, messages, func(rows *sql.Rows) error {
		m := &Message{ConversationID: a.conversation.ID}
		err := rows.Scan(&m.ID, &m.Seq, &m.Role, textOf(&m.Speaker), &m.Text, textOf(&m.Caption), &m.SaidAt)
		if s := at[m.Seq]; s != nil && s.ID == m.ID {
			s.Message, s.plan.Role, m.Tokens = m, m.Role, s.stored
		}
		return err
	}, args...)
	if err != nil {
		return err
	}
	return c.each(ctx, parts, func(rows *sql.Rows) error {
		var seq int
		var b Block
		err := rows.Scan(&seq, &b.Type, textOf(&b.Text), textOf(&b.CallID), textOf(&b.Tool), textOf(&b.Input), textOf(&b.Output), &b.IsError,
			textOf(&b.FileName), textOf(&b.MIME), textOf(&b.FileID))
		s := at[seq]
		if s == nil || s.Message == nil {
			return err
		}
		s.Message.Blocks = append(s.Message.Blocks, b)
		switch {
		case b.CallID == "":
		case b.Type == ToolCallBlock:
			s.plan.Calls = append(s.plan.Calls, b.CallID)
		case b.Type == ToolResultBlock:
			s.plan.Results = append(s.plan.Results, b.CallID)
		}
		return err
	}, args...)
}

// loadSummaries reads the summaries among items, and renders them.
func (a *assembly) loadSummaries(ctx context.Context, c *connection, items []contender) error {
	at := map[string]*contender{}
	var ids []string
	for i := range items {
		if items[i].plan.Summary {
			at[items[i].ID] = &items[i]
			ids = append(ids, items[i].ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var deep []string
	err := c.each(ctx, "assemble_summaries", func(rows *sql.Rows) error {
		s := &Summary{ConversationID: a.conversation.ID}
		err := rows.Scan(&s.ID, &s.Kind, &s.Depth, &s.Text, &s.Tokens, &s.FirstSeq, &s.LastSeq, &s.EarliestAt, &s.LatestAt, &s.Messages, &s.SourceTokens,
			&s.Descendants, &s.DescendantTokens)
		at[s.ID].Summary = s
		if s.Depth > 0 {
			deep = append(deep, s.ID)
		}
		return err
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
func (a *assembly) loadSources(ctx context.Context, c *connection, ids []string, at map[string]*contender) error {
	if len(ids) == 0 {
		return nil
	}
	ordinals := map[string]int{}
	err := c.each(ctx, "assemble_sources", func(rows *sql.Rows) error {
		var id, source string
		var ordinal int
		err := rows.Scan(&id, &ordinal, &source)
		s := at[id].Summary
		s.Sources = append(s.Sources, Source{SummaryKind, source})
		ordinals[source] = ordinal // a summary is the source of one other at most
		return err
	}, sql.Named("ids", ids))
	for _, id := range ids {
		slices.SortFunc(at[id].Summary.Sources, func(x, y Source) int { return ordinals[x.ID] - ordinals[y.ID] })
	}
	return err
}
