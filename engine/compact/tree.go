package compact

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
)

// TreeRequest names a conversation.
type TreeRequest struct {
	Conversation string // name or id
	Agent        string // empty: an internal caller
}

// Tree is how the summaries of a conversation stand on each other, and what of it a model is shown.
type Tree struct {
	Conversation *conversation.Conversation `json:"conversation"`
	Items        int                        `json:"items"`  // of the context
	Tokens       int                        `json:"tokens"` // of these
	// Nodes are the topmost ones: summaries that no other stands for, and runs of messages in the context, in the order of their messages.
	Nodes []*TreeNode `json:"nodes"`
}

// TreeNode is a summary with those that it was made from, or a run of messages in the context.
type TreeNode struct {
	Summary    *Summary    `json:"summary,omitempty"` // nil: messages as they are
	InContext  bool        `json:"in_context"`
	FirstSeq   int         `json:"first_seq"`
	LastSeq    int         `json:"last_seq"`
	Messages   int         `json:"messages"`
	Tokens     int         `json:"tokens"` // of the summary's text, or of the messages
	EarliestAt time.Time   `json:"earliest_at"`
	LatestAt   time.Time   `json:"latest_at"`
	Below      []*TreeNode `json:"below,omitempty"`
}

// SummaryTree gives the summaries of a conversation as trees. Errors: ErrNotFound, ErrInvalid.
func (cp *Compactor) SummaryTree(ctx context.Context, r TreeRequest) (*Tree, error) {
	t := &Tree{Nodes: []*TreeNode{}}
	err := cp.file.Read(ctx, "summary tree", func(c *duck.Conn) (err error) {
		if t.Conversation, err = cp.conversations.Readable(ctx, c, r.Conversation, r.Agent); err != nil {
			return err
		}
		return t.grow(ctx, c)
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Tree) grow(ctx context.Context, c *duck.Conn) error {
	of := sql.Named("conversation_id", t.Conversation.ID)
	var all []*TreeNode
	nodes := map[string]*TreeNode{}
	err := c.Each(ctx, "summary_list", func(rows *sql.Rows) error {
		s, _, err := ScanSummary(rows)
		n := &TreeNode{Summary: s, FirstSeq: s.FirstSeq, LastSeq: s.LastSeq, Messages: s.Messages, Tokens: s.Tokens, EarliestAt: s.EarliestAt, LatestAt: s.LatestAt}
		nodes[s.ID], all = n, append(all, n)
		return err
	}, of)
	if err != nil {
		return err
	}
	below := map[*TreeNode]bool{}
	err = c.Each(ctx, "tree_sources", func(rows *sql.Rows) error {
		var id, source string
		if err := rows.Scan(&id, &source); err != nil {
			return err
		}
		if n, under := nodes[id], nodes[source]; n != nil && under != nil && !below[under] {
			n.Below, below[under] = append(n.Below, under), true
		}
		return nil
	}, of)
	if err != nil {
		return err
	}
	for _, n := range all { // what stands on itself, in a damaged file, is not reached from any of these
		if !below[n] {
			t.Nodes = append(t.Nodes, n)
		}
	}
	err = c.Each(ctx, "tree_context", func(rows *sql.Rows) error {
		var kind kinds.Kind
		var ref string
		run := &TreeNode{InContext: true}
		if err := rows.Scan(&kind, &ref, &run.FirstSeq, &run.LastSeq, &run.Messages, &run.Tokens, duck.TimeOf(&run.EarliestAt), duck.TimeOf(&run.LatestAt)); err != nil {
			return err
		}
		t.Items, t.Tokens = t.Items+run.Messages, t.Tokens+run.Tokens
		if kind == kinds.Message {
			t.Nodes = append(t.Nodes, run)
		} else if n := nodes[ref]; n != nil {
			n.InContext = true
		}
		return nil
	}, of)
	slices.SortStableFunc(t.Nodes, func(a, b *TreeNode) int { return cmp.Compare(a.FirstSeq, b.FirstSeq) })
	return err
}
