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
	tail     int           // position of the first item of the tail; lastPosition: there is none
	outside  int           // tokens of the messages before the tail
}

// tailMargin is how many messages beyond the most that the tail can have are read with it, so that its beginning parts no call from its result.
const tailMargin = 64

// lastPosition is after every message.
const lastPosition = math.MaxInt32

// view reads a context: of the messages at least so many of the oldest, and the newest.
func (e *Engine) view(ctx context.Context, c *connection, conversationID string, p window.Policy, budget, oldest int) (*contextView, error) {
	v := &contextView{tail: lastPosition}
	var newest, complete, summary int
	_, err := c.one(ctx, "context_ends", []any{&v.items, &v.messages, &v.tokens, &v.rawTokens, &newest, &complete, &summary},
		sql.Named("conversation_id", conversationID), sql.Named("newest", int64(max(p.TailCount, 0)+tailMargin)), sql.Named("oldest", int64(oldest)))
	if err != nil || v.items == 0 {
		return v, err
	}
	if v.complete = complete; summary > complete || v.messages <= oldest {
		v.complete = lastPosition // what lies between the summaries must show
	}
	region, err := tailRegion(ctx, c, conversationID, p, newest)
	if err != nil {
		return nil, err
	}
	v.outside = v.rawTokens
	if at := p.Tail(region, budget); at < len(region) {
		v.tail = region[at].Position
		for _, i := range region[at:] {
			if !i.Summary {
				v.outside -= i.Tokens
			}
		}
	}
	v.oldest, err = itemsBetween(ctx, c, conversationID, 0, v.tail-1, v.complete)
	return v, err
}

// tailRegion reads the newest items, from a position on, or from the newest message of a user if that is older.
func tailRegion(ctx context.Context, c *connection, conversationID string, p window.Policy, from int) ([]window.Item, error) {
	items, err := itemsBetween(ctx, c, conversationID, from, lastPosition, lastPosition)
	if err != nil || p.TailTokens < 0 {
		return items, err
	}
	for _, i := range items {
		if i.Role == window.User {
			return items, nil
		}
	}
	var asked int
	if _, err := c.one(ctx, "context_asked", []any{&asked}, sql.Named("conversation_id", conversationID)); err != nil || asked == 0 {
		return items, err
	}
	return itemsBetween(ctx, c, conversationID, asked, lastPosition, lastPosition)
}

// itemsBetween reads items from one position to another; of the messages only those up to a third.
func itemsBetween(ctx context.Context, c *connection, conversationID string, from, to, messagesTo int) ([]window.Item, error) {
	var items []window.Item
	err := c.each(ctx, "context_items", func(rows *sql.Rows) error {
		i, err := scanItem(rows)
		items = append(items, i)
		return err
	}, sql.Named("conversation_id", conversationID), sql.Named("from", int64(from)), sql.Named("to", int64(to)), sql.Named("messages_to", int64(min(to, messagesTo))))
	if err != nil {
		return nil, err
	}
	return items, fillCalls(ctx, c, conversationID, items)
}

// scanItem reads a row of the query context_items.
func scanItem(rows *sql.Rows) (i window.Item, err error) {
	var kind Kind
	err = rows.Scan(&i.Position, &kind, &i.Ref, &i.Tokens, &i.Depth, &i.Role)
	i.Summary = kind == SummaryKind
	return i, err
}

// fillCalls reads which calls of tools the messages among items make and answer.
func fillCalls(ctx context.Context, c *connection, conversationID string, items []window.Item) error {
	at := make(map[int]*window.Item, len(items))
	from, to := lastPosition, 0
	for i := range items {
		if p := items[i].Position; !items[i].Summary {
			at[p] = &items[i]
			from, to = min(from, p), max(to, p)
		}
	}
	if len(at) == 0 {
		return nil
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
	}, sql.Named("conversation_id", conversationID), sql.Named("from", int64(from)), sql.Named("to", int64(to)))
}
