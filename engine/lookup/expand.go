package lookup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/setup"
)

// ExpandRequest asks for what summaries stand for.
type ExpandRequest struct {
	// IDs of summaries, whole or their unique endings, each taken once. A message is given as it is.
	IDs []string
	// Depth is how many levels down: 1, the default, gives the sources of a condensed summary, 2 also theirs. At most 10; negative: none.
	Depth int
	// Messages includes those that leaf summaries were made from; they are a level of their own.
	Messages bool
	// TokenCap bounds everything that is given. Default Options.Conversation.MaxExpandTokens.
	TokenCap int
	Agent    string // empty: an internal caller
	// Grant, when there is one, decides instead of the agent what may be expanded. It has its own default depth, and bounds depth and
	// tokens without saying so.
	Grant string
}

// Expansion is what summaries stand for.
type Expansion struct {
	// Items are in the order of the walk: a summary comes right before what is below it. One that two others were made from comes twice.
	Items  []ExpandedItem `json:"items"`
	Tokens int            `json:"tokens"` // of the items, as they are stored
	// Cited are the summaries asked for, and those among the items, each once.
	Cited []string `json:"cited"`
	// Truncated: the next item would have exceeded the cap, and with it ended the walk.
	Truncated bool     `json:"truncated"`
	Unknown   []string `json:"unknown,omitempty"` // ids that name no summary or message that the agent may read

	location *time.Location
}

// ExpandedItem is a summary or a message.
type ExpandedItem struct {
	Kind     kinds.Kind            `json:"kind"`
	ID       string                `json:"id"`
	Of       string                `json:"of,omitempty"` // the summary that it is a source of
	Distance int                   `json:"distance"`     // levels below the summary asked for; 0: it is itself what was asked for
	Tokens   int                   `json:"tokens"`
	Summary  *compact.Summary      `json:"summary,omitempty"` // without its Sources
	Message  *conversation.Message `json:"message,omitempty"`
}

// Expand walks down from summaries to what they were made from, until the cap. What they themselves say is not repeated. Errors:
// ErrInvalid, ErrAmbiguous, ErrGrant, ErrGrantSpent.
func (ts *Tools) Expand(ctx context.Context, r ExpandRequest) (*Expansion, error) {
	const op = "expand"
	setup.Preset(&r.TokenCap, ts.opts.Conversation.MaxExpandTokens)
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	grant, err := ts.hold(ctx, r.Grant)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	defer grant.release()
	x := &expansion{request: r, result: &Expansion{Items: []ExpandedItem{}, Cited: []string{}, location: ts.opts.Conversation.Location()}}
	err = ts.file.Read(ctx, op, func(c *duck.Conn) error {
		roots, err := x.roots(ctx, c, ts, grant)
		if err != nil {
			return err
		}
		for _, root := range roots {
			if err := x.root(ctx, c, root); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if grant != nil {
		grant.consume(x.result.Tokens)
	}
	return x.result, nil
}

func (r ExpandRequest) validate() error {
	switch {
	case len(r.IDs) == 0:
		return fault.Invalid("ids", "", "one or more ids of summaries")
	case r.Depth > maxDepth:
		return fault.Invalid("depth", r.Depth, fmt.Sprintf("up to %d", maxDepth))
	case r.TokenCap < 0:
		return fault.Invalid("token_cap", r.TokenCap, "1 or more")
	}
	return fault.CheckTexts("ids", r.IDs)
}

// expansion is one Expand on its way.
type expansion struct {
	request ExpandRequest
	depth   int
	cap     int
	result  *Expansion
	line    []string // the summaries from the root down to the one being walked: one that comes again is a cycle
}

// roots finds what is asked for, and settles what the grant lets through.
func (x *expansion) roots(ctx context.Context, c *duck.Conn, ts *Tools, grant *heldGrant) (roots []*named, err error) {
	agent := x.request.Agent
	if grant != nil {
		agent = grant.Issuer
	}
	for _, id := range x.request.IDs {
		n, err := ts.lookUp(ctx, c, id, agent)
		switch {
		case errors.Is(err, fault.ErrNotFound) || err == nil && n.kind != kinds.Summary && n.kind != kinds.Message:
			x.result.Unknown = append(x.result.Unknown, id)
		case err != nil:
			return nil, err
		case !slices.ContainsFunc(roots, func(other *named) bool { return other.id == n.id }):
			roots = append(roots, n)
		}
	}
	x.depth, x.cap = x.request.Depth, x.request.TokenCap
	if grant == nil {
		setup.Preset(&x.depth, 1)
		return roots, nil
	}
	if err := grant.covers(ctx, c, roots); err != nil {
		return nil, err
	}
	left, err := grant.room()
	setup.Preset(&x.depth, grant.MaxDepth)
	x.depth, x.cap = min(x.depth, grant.MaxDepth), min(x.cap, left)
	return roots, err
}

// root walks down from one id.
func (x *expansion) root(ctx context.Context, c *duck.Conn, n *named) error {
	if x.result.Truncated = x.result.Truncated || x.result.Tokens >= x.cap; x.result.Truncated {
		return nil
	}
	x.cite(n.id)
	if n.kind == kinds.Message {
		m, err := messageByID(ctx, c, n.id)
		if err != nil || m == nil {
			return err
		}
		x.take(ExpandedItem{Kind: kinds.Message, ID: m.ID, Tokens: m.Tokens, Message: m})
		return nil
	}
	s, _, err := compact.SummaryAlone(ctx, c, n.id)
	if err != nil || s == nil {
		return err
	}
	return x.below(ctx, c, s, 1)
}

// below gives what a summary was made from.
func (x *expansion) below(ctx context.Context, c *duck.Conn, s *compact.Summary, distance int) error {
	if distance > x.depth || x.result.Truncated || slices.Contains(x.line, s.ID) {
		return nil
	}
	x.line = append(x.line, s.ID)
	defer func() { x.line = x.line[:len(x.line)-1] }()
	if s.Depth == 0 {
		return x.messages(ctx, c, s, distance)
	}
	var sources []*compact.Summary
	err := c.Each(ctx, "expand_summaries", func(rows *sql.Rows) error {
		source, _, err := compact.ScanSummary(rows)
		sources = append(sources, source)
		return err
	}, sql.Named("summary_id", s.ID))
	if err != nil {
		return err
	}
	for _, source := range sources {
		if !x.take(ExpandedItem{Kind: kinds.Summary, ID: source.ID, Of: s.ID, Distance: distance, Tokens: source.Tokens, Summary: source}) {
			return nil
		}
		x.cite(source.ID)
		if err := x.below(ctx, c, source, distance+1); err != nil {
			return err
		}
	}
	return nil
}

// messages gives those that a leaf was made from, if they are asked for.
func (x *expansion) messages(ctx context.Context, c *duck.Conn, s *compact.Summary, distance int) error {
	if !x.request.Messages {
		return nil
	}
	all, err := x.sources(ctx, c, s)
	if err != nil {
		return err
	}
	taken := all
	for i, m := range all {
		if !x.take(ExpandedItem{Kind: kinds.Message, ID: m.ID, Of: s.ID, Distance: distance, Tokens: m.Tokens, Message: m}) {
			taken = all[:i]
			break
		}
	}
	return conversation.FillBlocks(ctx, c, taken)
}

// sources reads the messages that a leaf was made from, in pieces, as far as there is room for them and one more.
func (x *expansion) sources(ctx context.Context, c *duck.Conn, s *compact.Summary) (all []*conversation.Message, err error) {
	ids, err := duck.Column[string](ctx, c, "expand_sources", sql.Named("summary_id", s.ID))
	if err != nil {
		return nil, err
	}
	of := make(map[string]bool, len(ids))
	for _, id := range ids {
		of[id] = true
	}
	room := x.cap - x.result.Tokens
	for from, piece := s.FirstSeq, 128; from <= s.LastSeq && room >= 0; from, piece = from+piece, 2*piece {
		err := c.Each(ctx, "message_range", func(rows *sql.Rows) error {
			m, _, _, err := conversation.ScanMessage(rows)
			if err == nil && of[m.ID] && room >= 0 {
				all = append(all, m)
				room -= m.Tokens
			}
			return err
		}, sql.Named("conversation_id", s.ConversationID), sql.Named("from", int64(from)), sql.Named("to", int64(min(from+piece-1, s.LastSeq))))
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// take adds an item if it fits; the first that does not ends the walk.
func (x *expansion) take(item ExpandedItem) bool {
	if x.result.Truncated || item.Tokens > x.cap-x.result.Tokens {
		x.result.Truncated = true
		return false
	}
	x.result.Items = append(x.result.Items, item)
	x.result.Tokens += item.Tokens
	return true
}

func (x *expansion) cite(id string) {
	if !slices.Contains(x.result.Cited, id) {
		x.result.Cited = append(x.result.Cited, id)
	}
}
