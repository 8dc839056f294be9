package build

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/window"
)

// load finds the conversation and reads the rows that the window may need, what the request names, and the newest summary: all in one transaction.
func (g *building) load(ctx context.Context) error {
	var seen, asked, answered int
	err := g.builder.file.Read(ctx, "load", func(c *duck.Conn) (err error) {
		g.conversation, err = g.builder.conversations.Readable(ctx, c, g.request.Conversation, g.request.Agent)
		if err != nil {
			return err
		}
		g.built.ConversationID = g.conversation.ID
		g.built.Until = g.conversation.NextSeq - 1
		if g.request.Until > 0 {
			g.built.Until = min(g.built.Until, g.request.Until)
		}
		if asked, err = g.find(ctx, c, g.request.InputID); err != nil {
			return err
		}
		if seen, err = g.find(ctx, c, g.request.Cursor); err != nil {
			return err
		}
		from := g.loadContext
		if g.preset.Window.From == FromMessages {
			from = func(ctx context.Context, c *duck.Conn) error { return g.loadMessages(ctx, c, seen) }
		}
		if err := from(ctx, c); err != nil {
			return err
		}
		if answered, err = g.loadNamed(ctx, c, asked); err != nil {
			return err
		}
		if g.preset.Summary {
			if err := g.loadSummary(ctx, c); err != nil {
				return err
			}
		}
		if g.used = g.request.Used; g.preset.Status && g.used == 0 {
			return g.loadUsage(ctx, c)
		}
		return nil
	})
	if err != nil {
		return err
	}
	g.rows = slices.DeleteFunc(g.rows, func(r *row) bool { return asked > 0 && r.message.Seq == asked && !r.summary })
	if answered > 0 {
		for _, r := range g.rows {
			if r.message.Seq == answered && !r.summary {
				g.answers = r
			}
		}
	}
	return nil
}

// until is the last seq that takes part: none where all do.
func (g *building) until() sql.NamedArg {
	if g.built.Until >= g.conversation.NextSeq-1 {
		return sql.Named("until", int32(math.MaxInt32))
	}
	return sql.Named("until", int32(g.built.Until))
}

// find is where a message stands that is named by its id or its key, 0 where it is not known. What looks like an id of the engine's is never a key.
func (g *building) find(ctx context.Context, c *duck.Conn, ref string) (seq int, err error) {
	if ref == "" {
		return 0, nil
	}
	of := sql.Named("conversation_id", g.conversation.ID)
	if strings.HasPrefix(ref, ids.Message) {
		_, err = c.One(ctx, "build_seq_of_id", []any{&seq}, of, sql.Named("id", ref))
	} else {
		_, err = c.One(ctx, "build_seq_of_key", []any{&seq}, of, sql.Named("key", ref))
	}
	if seq > g.built.Until {
		seq = 0
	}
	return seq, err
}

// loadMessages reads back from the newest row until the window has all it needs, twice as far each time.
func (g *building) loadMessages(ctx context.Context, c *duck.Conn, seen int) error {
	w := &g.preset.Window
	low := g.built.Until + 1
	floor := max(1, g.built.Until-w.Reach+1)
	reach := 16 + w.Events + 2*w.Messages + 4*w.UserTurns + 3*w.Pairs + w.Tokens/50
	if w.UserTurns+w.Messages+w.Pairs+w.Tokens == 0 {
		reach = w.Reach
	}
	for low > floor && !g.enough(seen) {
		from := max(floor, low-reach)
		if err := g.stretch(ctx, c, from, low-1); err != nil {
			return err
		}
		low, reach = from, 2*reach
	}
	if seen > 0 && seen < low { // what the reader saw last lies beyond: its own stretch is read, and what was skipped is counted
		if err := g.loadSeen(ctx, c, seen, low); err != nil {
			return err
		}
	}
	g.built.Counts.Earlier = max(0, low-1)
	if low == floor && floor > 1 {
		g.notice("the newest %d messages were looked at", w.Reach)
	}
	return nil
}

// loadSeen reads the row that was seen last and what stands before it.
func (g *building) loadSeen(ctx context.Context, c *duck.Conn, seen, low int) error {
	cursor := g.preset.Window.Cursor
	_, err := c.One(ctx, "build_unseen", []any{&g.built.Trim.Unseen}, sql.Named("conversation_id", g.conversation.ID), sql.Named("from", int32(seen)), sql.Named("to", int32(low)))
	if err != nil {
		return err
	}
	return g.stretch(ctx, c, max(1, seen-2*(cursor.Before+cursor.EventsBefore)), seen)
}

// enough reports whether the rows that were read have all that the window takes, so that no older one could be in it.
func (g *building) enough(seen int) bool {
	if len(g.rows) == 0 {
		return false
	}
	w := &g.preset.Window
	units, talk, users, tokens := 0, 0, 0, 0
	for _, u := range g.unitsOf(g.rows) {
		if slices.Contains(g.preset.Filter.Exclude, u.kind()) {
			continue
		}
		units++
		for _, r := range u.rows {
			tokens += r.message.Tokens
			if r.message.Role == window.User && !r.event {
				users++
			}
			if !r.event && !r.message.Withheld {
				talk++
			}
		}
	}
	if seen > 0 {
		from := g.rows[0].message.Seq
		return talk >= w.Cursor.After && from > seen || from <= seen-2*(w.Cursor.Before+w.Cursor.EventsBefore)
	}
	switch {
	case w.UserTurns > 0:
		return users > w.UserTurns
	case w.Messages > 0:
		return talk > w.Messages
	case w.Pairs > 0:
		return units > w.Pairs+1
	case w.Tokens > 0:
		return tokens > w.Tokens
	}
	return false
}

// between reads messages from one seq to another, in order, without their blocks.
func (g *building) between(ctx context.Context, c *duck.Conn, from, to int) (messages []*conversation.Message, err error) {
	low, high := duck.Outward(from, to, g.conversation.NextSeq-1)
	err = c.EachFixed(ctx, "build_messages", func(rows *sql.Rows) error {
		m, _, _, err := conversation.ScanMessage(rows)
		if from <= m.Seq && m.Seq <= to {
			messages = append(messages, m)
		}
		return err
	}, sql.Named("conversation_id", g.conversation.ID), sql.Named("from", low), sql.Named("to", high))
	slices.SortFunc(messages, func(a, b *conversation.Message) int { return a.Seq - b.Seq })
	return messages, err
}

// stretch makes rows of the messages from one seq to another that are none yet.
func (g *building) stretch(ctx context.Context, c *duck.Conn, from, to int) error {
	messages, err := g.between(ctx, c, from, to)
	if err != nil || len(messages) == 0 {
		return err
	}
	if g.preset.Tools.View != ViewOmit && slices.ContainsFunc(messages, g.more) {
		if err := conversation.FillBlocks(ctx, c, messages); err != nil {
			return err
		}
	}
	known := map[int]bool{}
	for _, r := range g.rows {
		known[r.message.Seq] = known[r.message.Seq] || !r.summary
	}
	for _, m := range messages {
		if !known[m.Seq] {
			g.rows = append(g.rows, &row{message: m, event: g.isEvent(m)})
		}
	}
	slices.SortStableFunc(g.rows, func(a, b *row) int { return a.message.Seq - b.message.Seq })
	return nil
}

// more reports whether a message may say more than its text: it costs more, or has none.
func (g *building) more(m *conversation.Message) bool {
	e, err := text.NewEstimator(g.conversation.Estimator)
	return err != nil || m.Role == window.Tool || strings.TrimSpace(m.Text) == "" || m.Tokens != e.Tokens(m.Text)+e.Tokens(m.Caption)
}

// isEvent reports whether a message tells what was done, and is no talk.
func (g *building) isEvent(m *conversation.Message) bool {
	return m.Role == window.Tool || strings.TrimSpace(m.Text) == "" && m.Caption == "" || slices.Contains(g.preset.Window.EventKinds, m.SourceKind)
}

// loadNamed reads the input where it is stored, and what it answers with what belongs to that. It gives the seq of what is answered.
func (g *building) loadNamed(ctx context.Context, c *duck.Conn, asked int) (answered int, err error) {
	if g.input = g.request.Input; asked > 0 {
		stored, err := g.between(ctx, c, asked, asked)
		if err != nil {
			return 0, err
		}
		for _, m := range stored {
			g.input = cmp.Or(g.input, m.Text)
			g.request.ReplyTo = cmp.Or(g.request.ReplyTo, m.ReplyTo)
		}
	}
	if !g.preset.Guarantee.Reply && len(g.preset.Guarantee.AloneKinds) == 0 || g.request.ReplyTo == "" {
		return 0, nil
	}
	if answered, err = g.find(ctx, c, g.request.ReplyTo); err != nil || answered == 0 {
		return 0, err
	}
	if len(g.rows) > 0 && slices.ContainsFunc(g.rows, func(r *row) bool { return r.message.Seq == answered && !r.summary }) {
		return answered, nil
	}
	from, to := answered, answered
	if g.preset.Window.Pairs > 0 { // the rest of the pair, if it is next to it
		from, to = max(1, answered-1), answered+1
	}
	before := slices.Clone(g.rows)
	if err := g.stretch(ctx, c, from, to); err != nil {
		return 0, err
	}
	g.rows = slices.DeleteFunc(g.rows, func(r *row) bool { // of the neighbours only what is of the same pair
		seq := r.message.Seq
		if slices.Contains(before, r) || seq == answered {
			return false
		}
		i := slices.IndexFunc(g.rows, func(r *row) bool { return r.message.Seq == answered })
		if i < 0 {
			return true
		}
		user := g.rows[i].message.Role == window.User
		return seq == answered-1 && (user || r.message.Role != window.User) || seq == answered+1 && (!user || r.message.Role == window.User)
	})
	return answered, nil
}

// loadSummary reads the newest summary of the context, or in a replay the one that was shown, if any. Where the preset shows no summaries but how the agent
// stands, a checkpoint that has read as much stands in its place.
func (g *building) loadSummary(ctx context.Context, c *duck.Conn) error {
	var id, text string
	var first, last int
	if g.replay != nil {
		if i := slices.IndexFunc(g.replay.Items, func(it SnapshotItem) bool { return it.Kind == "summary" }); i >= 0 {
			id = g.replay.Items[i].ID
		}
	} else if _, err := c.OneFixed(ctx, "build_summary", []any{&id}, sql.Named("conversation_id", g.conversation.ID), g.until()); err != nil {
		return err
	}
	if strings.HasPrefix(id, ids.Checkpoint) {
		k, err := checkpoint.ByID(ctx, c, id)
		g.showCheckpoint(k)
		return err
	}
	if id == "" {
		return g.loadCheckpoint(ctx, c, 0)
	}
	found, err := c.OneFixed(ctx, "build_summary_of", []any{&id, &text, &first, &last}, sql.Named("id", id))
	if found && err == nil {
		g.summary = summaryItem(id, assemble.Untrusted("summary", text), first, last)
	}
	if err != nil || g.replay != nil {
		return err
	}
	return g.loadCheckpoint(ctx, c, last)
}

// loadCheckpoint has the newest checkpoint that has read so far stand in the place of the summary.
func (g *building) loadCheckpoint(ctx context.Context, c *duck.Conn, from int) error {
	if g.replay != nil || g.has(SummarySection) || !g.has(State) {
		return nil
	}
	var id string
	of := []any{sql.Named("conversation_id", g.conversation.ID), sql.Named("from", int32(from)), g.until()}
	if found, err := c.OneFixed(ctx, "build_checkpoint", []any{&id}, of...); !found || err != nil {
		return err
	}
	k, err := checkpoint.Before(ctx, c, g.conversation.ID, g.built.Until)
	if k != nil && k.UpTo >= from {
		g.showCheckpoint(k)
	}
	return err
}

// showCheckpoint makes a checkpoint what stands for the messages that it has read.
func (g *building) showCheckpoint(k *checkpoint.Checkpoint) {
	if k != nil {
		g.summary = summaryItem(k.ID, assemble.Untrusted("summary", k.Text()), 1, k.UpTo)
	}
}

// loadUsage reads what the provider counted for the newest answer of which it is known, if that is not long ago.
func (g *building) loadUsage(ctx context.Context, c *duck.Conn) error {
	const near = 200 // messages
	var text string
	newest := 0
	from, to := duck.Outward(g.built.Until-near, g.built.Until, g.conversation.NextSeq-1)
	err := c.EachFixed(ctx, "build_usage", func(rows *sql.Rows) error {
		var seq int
		var usage string
		err := rows.Scan(&seq, &usage)
		if g.built.Until-near <= seq && seq <= g.built.Until && seq > newest {
			newest, text = seq, usage
		}
		return err
	}, sql.Named("conversation_id", g.conversation.ID), sql.Named("from", from), sql.Named("to", to))
	if newest == 0 || err != nil {
		return err
	}
	var u conversation.Usage
	if err := json.Unmarshal([]byte(text), &u); err != nil {
		return fmt.Errorf("%w: usage in conversation %s: %w", fault.ErrCorrupt, g.conversation.ID, err)
	}
	g.used = cmp.Or(u.Total, u.Input+u.Output+u.CacheRead+u.CacheWrite)
	return nil
}

// loadContext has assemble choose from the context. What it gives are the rows, all of which are shown as far as this budget lets them.
func (g *building) loadContext(ctx context.Context, c *duck.Conn) error {
	p := &g.preset
	r := assemble.Request{Agent: g.request.Agent, Budget: most, PromptAware: g.request.Prompt != "", Prompt: g.request.Prompt,
		TailCount: p.Window.TailCount, TailTokens: p.Window.TailTokens, Timezone: p.Timezone, Until: g.built.Until}
	if p.Budget.Of == OfHistory && p.Budget.Max > 0 && p.Budget.Trim == string(window.ContiguousSuffix) {
		r.Budget = p.Budget.Max - p.Budget.Reserve
	}
	if g.replay != nil && g.replay.Asked.Prompted {
		r.Chosen = g.replay.positions()
	}
	a, err := g.builder.assembler.Within(ctx, c, g.conversation, r)
	if err != nil {
		return err
	}
	for i, it := range a.Items {
		rw := &row{message: it.Message, body: it.Text, tail: i >= a.Tail}
		if s := it.Summary; s != nil {
			rw.summary = true
			rw.message = &conversation.Message{ID: s.ID, Role: window.User, Text: it.Text, Seq: s.FirstSeq, Tokens: it.Tokens}
			rw.item = summaryItem(s.ID, it.Text, s.FirstSeq, s.LastSeq)
		} else {
			rw.event = g.isEvent(it.Message)
		}
		g.rows = append(g.rows, rw)
	}
	g.system = a.Guidance
	g.built.Counts.MessagesLeft = a.Left.Items
	if a.Left.Results > 0 {
		g.notice("%d results of tools are shown as references", a.Left.Results)
	}
	g.built.OverBudget = a.OverBudget
	return nil
}
