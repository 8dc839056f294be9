package lookup

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
)

// find takes the messages that have anything of the question, best first. Where there are none, but summaries have words of it, it takes
// what these stand for, in its order.
func (x *inquiry) find(ctx context.Context) error {
	const fewest = 8 // tokens of a message, mostly
	first := min(max(50, x.cap/fewest), recall.MaxLimit)
	for _, most := range []int{first, recall.MaxLimit} { // the first may all be in the context
		hits, err := x.recall(ctx, kinds.Message, most)
		if err != nil {
			return err
		}
		var found []Excerpt
		for _, h := range hits {
			if h.Signals.Raw != nil || h.Signals.NearCosine != nil && *h.Signals.NearCosine > 0 {
				found = append(found, Excerpt{Message: &conversation.Message{ID: h.ID}, Score: h.Score, Passage: h.Passage, part: h.Shown()})
			}
		}
		if err := x.take(ctx, found); err != nil || len(x.result.Excerpts) > 0 || x.result.Truncated {
			return err
		}
		if len(hits) < most || most == recall.MaxLimit {
			break
		}
	}
	return x.bySummaries(ctx)
}

// bySummaries takes what those summaries stand for that have words of the question.
func (x *inquiry) bySummaries(ctx context.Context) error {
	hits, err := x.recall(ctx, kinds.Summary, 10)
	if err != nil {
		return err
	}
	var ids []string
	for _, h := range hits {
		if h.Signals.Raw != nil {
			ids = append(ids, h.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	const spare = 4 // times the cap, for not all of it is to be looked at
	below, err := x.tools.Expand(ctx, ExpandRequest{IDs: ids, Depth: maxDepth, Messages: true, TokenCap: spare * min(x.cap, math.MaxInt/spare), Agent: x.agent})
	if err != nil {
		return err
	}
	var found []Excerpt
	for _, item := range below.Items {
		if item.Kind == kinds.Message {
			found = append(found, Excerpt{Message: &conversation.Message{ID: item.ID}})
		}
	}
	err = x.take(ctx, found)
	x.result.Truncated = x.result.Truncated || below.Truncated
	return err
}

// recall ranks documents by the question, in the time of the summaries below which it looks.
func (x *inquiry) recall(ctx context.Context, kind kinds.Kind, most int) ([]recall.Hit, error) {
	q := recall.Query{Text: x.request.Query, Kinds: []kinds.Kind{kind}, Conversations: x.conversations, Agent: x.agent, Limit: most, TagPrefixes: []string{}}
	for i, s := range x.below {
		if i == 0 || s.EarliestAt.Before(q.Since) {
			q.Since = s.EarliestAt
		}
		if until := s.LatestAt.Add(time.Microsecond); until.After(q.Until) {
			q.Until = until
		}
	}
	recalled, err := x.tools.recaller.Recall(ctx, q)
	if err != nil {
		return nil, err
	}
	return recalled.Hits, nil
}

// take gives the best of what was found, as far as it fits, and what was said just before and after it where there is room.
func (x *inquiry) take(ctx context.Context, found []Excerpt) error {
	return x.tools.file.Read(ctx, "read", func(c *duck.Conn) error { return x.takeFrom(ctx, c, found) })
}

func (x *inquiry) takeFrom(ctx context.Context, c *duck.Conn, found []Excerpt) error {
	const batch = 100
	for len(found) > 0 && !x.full() && !x.enough() {
		some := found[:min(batch, len(found))]
		found = found[len(some):]
		if err := x.read(ctx, c, some); err != nil {
			return err
		}
		for _, excerpt := range some {
			x.add(excerpt)
		}
	}
	x.result.Truncated = x.result.Truncated || len(found) > 0
	if !x.result.Truncated {
		if err := x.beside(ctx, c); err != nil {
			return err
		}
	}
	var messages []*conversation.Message
	for _, excerpt := range x.result.Excerpts {
		messages = append(messages, excerpt.Message)
	}
	return fillBlocksOf(ctx, c, messages)
}

// beside adds the neighbours of what was found.
func (x *inquiry) beside(ctx context.Context, c *duck.Conn) error {
	var conversations []string
	var seqs []int32
	for _, excerpt := range x.result.Excerpts {
		m := excerpt.Message
		conversations, seqs = append(conversations, m.ConversationID, m.ConversationID), append(seqs, int32(m.Seq-1), int32(m.Seq+1))
	}
	if len(seqs) == 0 {
		return nil
	}
	type place struct {
		conversation string
		seq          int32
	}
	at := map[place]string{}
	err := c.Each(ctx, "expand_beside", func(rows *sql.Rows) error {
		var id string
		var p place
		if err := rows.Scan(&id, &p.conversation, &p.seq); err != nil {
			return err
		}
		at[p] = id
		return nil
	}, sql.Named("conversations", conversations), sql.Named("seqs", seqs))
	if err != nil {
		return err
	}
	var some []Excerpt
	for i := range seqs {
		p := place{conversations[i], seqs[i]}
		if id := at[p]; id != "" && !x.taken[id] {
			some = append(some, Excerpt{Message: &conversation.Message{ID: id}})
		}
		delete(at, p)
	}
	if err := x.read(ctx, c, some); err != nil {
		return err
	}
	truncated := x.result.Truncated // of neighbours, nobody asked for all
	for _, excerpt := range some {
		if excerpt.Message != nil && excerpt.Message.SetAside.Recallable() {
			x.add(excerpt)
		}
	}
	x.result.Truncated = truncated
	return nil
}

// full reports whether nothing more will fit.
func (x *inquiry) full() bool { return x.result.Tokens >= x.cap }

// enough reports whether there are as many as were asked for.
func (x *inquiry) enough() bool {
	return x.request.Limit > 0 && len(x.result.Excerpts) >= x.request.Limit
}

// read completes excerpts: the message, and the summary above it. What is in the context, unless that is asked too, or where the question does not look, loses
// its message.
func (x *inquiry) read(ctx context.Context, c *duck.Conn, some []Excerpt) error {
	ids := make([]string, len(some))
	at := map[string]int{}
	for i, excerpt := range some {
		ids[i], at[excerpt.Message.ID] = excerpt.Message.ID, i
		some[i].Message = nil
	}
	shown, err := duck.Column[string](ctx, c, "expand_shown", sql.Named("ids", ids))
	if err != nil {
		return err
	}
	err = c.Each(ctx, "messages_by_id", func(rows *sql.Rows) error {
		var scope string
		m, _, _, err := conversation.ScanMessage(rows, &scope)
		if err != nil {
			return err
		}
		if i := at[m.ID]; (x.request.InContext || !slices.Contains(shown, m.ID)) && x.asked(m) {
			some[i].Message = m
		}
		return nil
	}, sql.Named("ids", ids))
	if err != nil {
		return err
	}
	return leavesAbove(ctx, c, some)
}

// leavesAbove fills in the leaf that stands for each message.
func leavesAbove(ctx context.Context, c *duck.Conn, some []Excerpt) error {
	type place struct {
		conversation string
		seq          int
	}
	var conversations []string
	var seqs []int32
	at := map[place]*Excerpt{}
	for i := range some {
		if m := some[i].Message; m != nil && m.SetAside == "" {
			conversations, seqs = append(conversations, m.ConversationID), append(seqs, int32(m.Seq))
			at[place{m.ConversationID, m.Seq}] = &some[i]
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	return c.Each(ctx, "leaves_above", func(rows *sql.Rows) error {
		var p place
		var id string
		err := rows.Scan(&p.conversation, &p.seq, &id)
		if excerpt := at[p]; excerpt != nil {
			excerpt.Summary = id
		}
		return err
	}, sql.Named("conversations", conversations), sql.Named("seqs", seqs))
}

// asked reports whether a message is where the question looks.
func (x *inquiry) asked(m *conversation.Message) bool {
	if !slices.Contains(x.conversations, m.ConversationID) {
		return false
	}
	return len(x.below) == 0 || m.SetAside == "" && slices.ContainsFunc(x.below, func(s *compact.Summary) bool {
		return s.ConversationID == m.ConversationID && s.FirstSeq <= m.Seq && m.Seq <= s.LastSeq
	})
}

// add takes an excerpt if it fits. One that does not is passed over: what comes after it is worth less, but may be shorter.
func (x *inquiry) add(excerpt Excerpt) {
	m := excerpt.Message
	if m == nil || x.taken[m.ID] {
		return
	}
	tokens := m.Tokens
	if excerpt.Passage != nil {
		tokens = x.estimator.Tokens(excerpt.part)
	}
	if tokens > x.cap-x.result.Tokens || x.enough() {
		x.result.Truncated = true
		return
	}
	x.taken[m.ID] = true
	x.result.Excerpts = append(x.result.Excerpts, excerpt)
	x.result.Tokens += tokens
	if excerpt.Summary != "" && !slices.Contains(x.result.Summaries, excerpt.Summary) {
		x.result.Summaries = append(x.result.Summaries, excerpt.Summary)
	}
}

// fillBlocksOf reads the blocks of messages of any conversation.
func fillBlocksOf(ctx context.Context, c *duck.Conn, messages []*conversation.Message) error {
	var conversations []string
	var seqs []int32
	byID := map[string]*conversation.Message{}
	for _, m := range messages {
		conversations, seqs, byID[m.ID] = append(conversations, m.ConversationID), append(seqs, int32(m.Seq)), m
	}
	if len(seqs) == 0 {
		return nil
	}
	return c.Each(ctx, "expand_parts", func(rows *sql.Rows) error {
		id, b, _, err := conversation.ScanPart(rows)
		if m := byID[id]; m != nil {
			m.Blocks = append(m.Blocks, b)
		}
		return err
	}, sql.Named("conversations", conversations), sql.Named("seqs", seqs))
}
