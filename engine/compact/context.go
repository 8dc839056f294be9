package compact

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/window"
)

// ContextItem is a slot of the current context of a conversation: a message, or a summary that stands for messages.
type ContextItem struct {
	Ordinal    int        `json:"ordinal"`  // from 0, in the order of the context
	Position   int        `json:"position"` // seq of the first message that it stands for
	Kind       kinds.Kind `json:"kind"`
	Ref        string     `json:"ref"` // id of the message or summary
	Tokens     int        `json:"tokens"`
	Depth      int        `json:"depth,omitempty"` // of a summary
	Role       string     `json:"role,omitempty"`  // of a message
	Text       string     `json:"text"`
	EarliestAt time.Time  `json:"earliest_at"`
	LatestAt   time.Time  `json:"latest_at"`
	Messages   int        `json:"messages"` // that it stands for
}

// ContextRequest names a conversation.
type ContextRequest struct {
	Conversation string // name or id
	Agent        string // empty: an internal caller
}

// Context lists the current context of a conversation in its order. Errors: ErrNotFound, ErrInvalid.
func (cp *Compactor) Context(ctx context.Context, r ContextRequest) (all []ContextItem, err error) {
	err = cp.file.Read(ctx, "context", func(c *duck.Conn) error {
		v, err := cp.conversations.Readable(ctx, c, r.Conversation, r.Agent)
		if err != nil {
			return err
		}
		all, err = duck.List(ctx, c, "context_list", func(rows *sql.Rows, i *ContextItem) error {
			return rows.Scan(&i.Ordinal, &i.Position, &i.Kind, &i.Ref, &i.Tokens, &i.Depth, &i.Role, &i.Text, &i.EarliestAt, &i.LatestAt, &i.Messages)
		}, sql.Named("conversation_id", v.ID))
		return err
	})
	return all, err
}

// contextView is as much of a context as planning a pass needs: its size, and what lies before the fresh tail.
type contextView struct {
	items, messages, tokens, rawTokens int // of the whole context; raw are those of messages

	oldest   []window.Item // before the tail: all summaries, and messages as far as they are complete
	complete int           // up to which position items are in oldest; lastPosition: all before the tail are
	tail     int           // position of the first item of the tail; lastPosition: there is none
	outside  int           // tokens of the messages before the tail, those that are spared left out
	newest   int           // position of the first of the items that the tail was found among

	said []*conversation.Message // of oldest, read for several passes; never older than the view, which the write of a pass is held against
}

// lastPosition is after every message.
const lastPosition = math.MaxInt32

// view reads a context: the newest items, and of those before the fresh tail about so many of the oldest messages, with all summaries.
func (cp *Compactor) view(ctx context.Context, c *duck.Conn, conversationID string, p window.Policy, budget, oldest int) (*contextView, error) {
	v := &contextView{tail: lastPosition, complete: lastPosition}
	var first, last, summary int
	_, err := c.One(ctx, "context_ends", []any{&v.items, &v.messages, &v.tokens, &v.rawTokens, &first, &last, &summary},
		sql.Named("conversation_id", conversationID))
	if err != nil || v.items == 0 {
		return v, err
	}
	region, err := tailRegion(ctx, c, conversationID, p, first, last)
	if err != nil {
		return nil, err
	}
	v.outside = v.rawTokens
	if len(region) > 0 {
		v.newest = region[0].Position
	}
	lo, hi, tail := p.Spared(region, budget)
	if tail < len(region) {
		v.tail = region[tail].Position
	}
	spared := map[string]bool{}
	for i, it := range region {
		if within := lo <= i && i < hi; !it.Summary && (within || i >= tail) {
			v.outside -= it.Tokens
			spared[it.Ref] = within
		}
	}
	v.complete = min(first+oldest, lastPosition)
	if summary > v.complete || v.complete >= v.tail-1 {
		v.complete = lastPosition // what lies between the summaries must show
	}
	v.oldest, err = itemsBetween(ctx, c, conversationID, 0, min(v.tail-1, v.complete))
	for i := range v.oldest {
		v.oldest[i].Spared = spared[v.oldest[i].Ref]
	}
	return v, err
}

// after gives the view as it is with a summary in the place of oldest[lo:hi], if nobody else writes. Nil: that is near the tail, and the view has to
// be read again.
func (v *contextView) after(lo, hi int, summary window.Item) *contextView {
	replaced := v.oldest[lo:hi]
	if replaced[len(replaced)-1].Position >= v.newest {
		return nil
	}
	next := *v
	next.items, next.tokens = v.items-len(replaced)+1, v.tokens-window.Tokens(replaced)+summary.Tokens
	next.oldest = slices.Concat(v.oldest[:lo], []window.Item{summary}, v.oldest[hi:])
	return &next
}

// reach gives the position up to which messages from oldest[lo] on have no more than so many tokens together.
func (v *contextView) reach(lo, tokens int) (position int) {
	first := v.oldest[lo].Position
	position = first
	for _, it := range v.oldest[lo:] {
		if tokens -= it.Tokens; it.Summary || tokens < 0 || it.Position >= first+manyOldest {
			break
		}
		position = it.Position
	}
	return position
}

// hasSaid reports whether the messages from one seq to another are among those read already.
func (v *contextView) hasSaid(from, to int) bool {
	return len(v.said) > 0 && v.said[0].Seq <= from && to <= v.said[len(v.said)-1].Seq
}

// tailRegion reads the newest items: more messages than the tail can have, and the newest one of a user; or all from the first message on.
func tailRegion(ctx context.Context, c *duck.Conn, conversationID string, p window.Policy, first, last int) ([]window.Item, error) {
	enough := max(p.TailCount, 0) + window.TailMargin
	for reach := enough; ; reach *= 4 {
		items, err := itemsBetween(ctx, c, conversationID, max(last-reach, first), lastPosition)
		if err != nil {
			return nil, err
		}
		messages, asked := 0, p.TailTokens < 0
		for _, i := range items {
			if !i.Summary {
				messages++
				asked = asked || i.Role == window.User && len(i.Results) == 0
			}
		}
		switch {
		case last-reach <= first || messages >= enough && asked:
			return items, nil
		case messages >= enough:
			var asked int
			if _, err := c.One(ctx, "assemble_asked", []any{&asked}, sql.Named("conversation_id", conversationID), sql.Named("before", int32(lastPosition))); err != nil || asked == 0 {
				return items, err
			}
			return itemsBetween(ctx, c, conversationID, max(asked-window.TailMargin, first), lastPosition)
		}
	}
}

// itemsBetween reads items from one position to another.
func itemsBetween(ctx context.Context, c *duck.Conn, conversationID string, from, to int) ([]window.Item, error) {
	var items []window.Item
	err := c.Each(ctx, "context_items", func(rows *sql.Rows) error {
		i, err := scanItem(rows)
		items = append(items, i)
		return err
	}, sql.Named("conversation_id", conversationID), sql.Named("from", int64(from)), sql.Named("to", int64(to)))
	if err != nil {
		return nil, err
	}
	return items, fillCalls(ctx, c, conversationID, items)
}

// scanItem reads a row of the query context_items.
func scanItem(rows *sql.Rows) (i window.Item, err error) {
	var kind kinds.Kind
	err = rows.Scan(&i.Position, &kind, &i.Ref, &i.Tokens, &i.Depth, &i.Role)
	i.Summary = kind == kinds.Summary
	return i, err
}

// fillCalls reads which calls of tools the messages among items make and answer.
func fillCalls(ctx context.Context, c *duck.Conn, conversationID string, items []window.Item) error {
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
	return c.Each(ctx, "context_calls", func(rows *sql.Rows) error {
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
