package engine

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/mallardmem/mallard/engine/window"
)

// ContextItem is a slot of the current context of a conversation: a message, or a summary that stands for messages.
type ContextItem struct {
	Ordinal    int       `json:"ordinal"`  // from 0, in the order of the context
	Position   int       `json:"position"` // seq of the first message that it stands for
	Kind       Kind      `json:"kind"`
	Ref        string    `json:"ref"` // id of the message or summary
	Tokens     int       `json:"tokens"`
	Depth      int       `json:"depth,omitempty"` // of a summary
	Role       string    `json:"role,omitempty"`  // of a message
	Text       string    `json:"text"`
	EarliestAt time.Time `json:"earliest_at"`
	LatestAt   time.Time `json:"latest_at"`
	Messages   int       `json:"messages"` // that it stands for
}

// ContextRequest names a conversation.
type ContextRequest struct {
	Conversation string // name or id
	Agent        string // empty: an internal caller
}

// Context lists the current context of a conversation in its order. Errors: ErrNotFound, ErrInvalid.
func (e *Engine) Context(ctx context.Context, r ContextRequest) (all []ContextItem, err error) {
	err = e.read(ctx, "context", func(c *connection) error {
		v, err := e.readable(ctx, c, r.Conversation, r.Agent)
		if err != nil {
			return err
		}
		return c.each(ctx, "context_list", func(rows *sql.Rows) error {
			var i ContextItem
			defer func() { all = append(all, i) }()
			return rows.Scan(&i.Ordinal, &i.Position, &i.Kind, &i.Ref, &i.Tokens, &i.Depth, &i.Role, &i.Text, &i.EarliestAt, &i.LatestAt, &i.Messages)
		}, sql.Named("conversation_id", v.ID))
	})
	return all, err
}

// contextTotals is what a context is made of.
type contextTotals struct {
	items, messages, tokens, rawTokens int
}

func totalsOf(ctx context.Context, c *connection, conversationID string) (t contextTotals, err error) {
	_, err = c.one(ctx, "context_totals", []any{&t.items, &t.messages, &t.tokens, &t.rawTokens}, sql.Named("conversation_id", conversationID))
	return t, err
}

// contextView is as much of a context as planning a pass needs: its size, and what lies before the fresh tail.
type contextView struct {
	contextTotals
	oldest   []window.Item // before the tail: all summaries, and messages as far as they are complete
	complete int           // up to which position no message is missing in oldest
	tail     int           // position of the first item of the tail; math.MaxInt32: there is none
	outside  int           // tokens of the messages before the tail
}

// view reads a context. The oldest messages are read up to so many tokens; 0: all.
func (e *Engine) view(ctx context.Context, c *connection, conversationID string, p window.Policy, budget, tokens int) (*contextView, error) {
	v := &contextView{tail: math.MaxInt32, complete: math.MaxInt32}
	var err error
	if v.contextTotals, err = totalsOf(ctx, c, conversationID); err != nil || v.items == 0 {
		return v, err
	}
	newest, err := tailRegion(ctx, c, conversationID, p)
	if err != nil {
		return nil, err
	}
	v.outside = v.rawTokens
	if at := p.Tail(newest, budget); at < len(newest) {
		v.tail = newest[at].Position
		for _, i := range newest[at:] {
			if !i.Summary {
				v.outside -= i.Tokens
			}
		}
	}
	if tokens <= 0 {
		tokens = math.MaxInt32
	}
	last := 0
	err = c.each(ctx, "context_oldest", func(rows *sql.Rows) error {
		var running int64
		i, err := scanItem(rows, &running)
		v.oldest = append(v.oldest, i)
		if !i.Summary && running > int64(tokens) && v.complete == math.MaxInt32 {
			v.complete = i.Position - 1
		}
		last = i.Position
		return err
	}, sql.Named("conversation_id", conversationID), sql.Named("before", int64(v.tail)), sql.Named("tokens", int64(tokens)))
	if err != nil {
		return nil, err
	}
	return v, fillCalls(ctx, c, conversationID, v.oldest, min(v.complete, last))
}

// tailMargin is how many messages beyond the most that the tail can have are read with it, so that its beginning parts no call from its result.
const tailMargin = 64

// tailRegion reads the newest items, more than the tail can have.
func tailRegion(ctx context.Context, c *connection, conversationID string, p window.Policy) ([]window.Item, error) {
	var items []window.Item
	err := c.each(ctx, "context_newest", func(rows *sql.Rows) error {
		i, err := scanItem(rows)
		items = append(items, i)
		return err
	}, sql.Named("conversation_id", conversationID), sql.Named("messages", int64(max(p.TailCount, 0)+tailMargin)))
	if err != nil || len(items) == 0 {
		return nil, err
	}
	return items, fillCalls(ctx, c, conversationID, items, items[len(items)-1].Position)
}

// scanItem reads a row of the queries context_newest and context_oldest.
func scanItem(rows *sql.Rows, more ...any) (i window.Item, err error) {
	var kind Kind
	err = rows.Scan(append([]any{&i.Position, &kind, &i.Ref, &i.Tokens, &i.Depth, &i.Role}, more...)...)
	i.Summary = kind == SummaryKind
	return i, err
}

// fillCalls reads which calls of tools the messages among items make and answer, up to a position.
func fillCalls(ctx context.Context, c *connection, conversationID string, items []window.Item, to int) error {
	if len(items) == 0 {
		return nil
	}
	at := make(map[int]*window.Item, len(items))
	for i := range items {
		if !items[i].Summary {
			at[items[i].Position] = &items[i]
		}
	}
	return c.each(ctx, "context_calls", func(rows *sql.Rows) error {
		var seq int
		var call string
		var result bool
		err := rows.Scan(&seq, &call, &result)
		switch i := at[seq]; {
		case i == nil:
		case result:
			i.Results = append(i.Results, call)
		default:
			i.Calls = append(i.Calls, call)
		}
		return err
	}, sql.Named("conversation_id", conversationID), sql.Named("from", int64(items[0].Position)), sql.Named("to", int64(to)))
}
