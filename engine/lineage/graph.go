package lineage

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
)

// Node is something that memories come from, or a memory.
type Node struct {
	Kind kinds.Kind `json:"kind"` // message, summary, memory, import or call
	ID   string     `json:"id"`
	// Text is what it says, in one line of at most 200 characters: of an import its name, of a call what it was for.
	Text  string    `json:"text,omitempty"`
	Scope string    `json:"scope,omitempty"` // empty: an import, or a call for a text
	At    time.Time `json:"at"`              // when it was said or made
	// Standing is empty, or what became of it: superseded, forgotten, retracted, purged, or why a message is set aside.
	Standing string `json:"standing,omitempty"`

	conversationID string
}

// edge leads from a source to what was made from it.
type edge struct {
	from, to         string
	fromKind, toKind kinds.Kind
	how              memory.How
	derivation       int
	part, label      string
	said, noted      time.Time
}

// derivation names one of a memory.
type derivation struct {
	memory string
	number int
}

func (e edge) derivationOf() derivation { return derivation{e.to, e.derivation} }

func scanEdge(rows *sql.Rows, e *edge) error {
	return rows.Scan(&e.from, &e.fromKind, &e.to, &e.toKind, duck.TextOf(&e.how), &e.derivation, duck.TextOf(&e.part), duck.TextOf(&e.label), duck.TimeOf(&e.said), duck.TimeOf(&e.noted))
}

// above gives the edges to some ids, below those from them.
func above(ctx context.Context, c *duck.Conn, of []string) ([]edge, error) {
	return edges(ctx, c, "lineage_above", of)
}

func below(ctx context.Context, c *duck.Conn, of []string) ([]edge, error) {
	return edges(ctx, c, "lineage_below", of)
}

func edges(ctx context.Context, c *duck.Conn, query string, of []string) ([]edge, error) {
	if len(of) == 0 {
		return nil, nil
	}
	return duck.List(ctx, c, query, scanEdge, sql.Named("ids", of))
}

// nodes gives those of some ids that there are.
func nodes(ctx context.Context, c *duck.Conn, of []string) (map[string]*Node, error) {
	all := map[string]*Node{}
	if len(of) == 0 {
		return all, nil
	}
	return all, c.Each(ctx, "lineage_nodes", func(rows *sql.Rows) error {
		n := &Node{}
		err := rows.Scan(&n.Kind, &n.ID, duck.TextOf(&n.Text), duck.TextOf(&n.Scope), &n.At, duck.TextOf(&n.Standing), duck.TextOf(&n.conversationID))
		n.Text = oneLine(n.Text)
		all[n.ID] = n
		return err
	}, sql.Named("ids", of))
}

// mostText is how many characters of a text are shown.
const mostText = 200

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > mostText {
		s = string(runes[:mostText-1]) + "…"
	}
	return s
}

// find gives what an id names, or its unique ending, if the agent may see it.
func (k *Keeper) find(ctx context.Context, c *duck.Conn, id, agent string) (*Node, error) {
	if err := fault.CheckText("id", id); err != nil {
		return nil, err
	}
	scopes := k.scopes.Now()
	found, err := nodes(ctx, c, []string{id})
	if err != nil {
		return nil, err
	}
	n := found[id]
	if n == nil && len(id) >= ids.MinShort {
		visible, _ := scopes.ForReading(agent, nil)
		all, err := duck.Column[string](ctx, c, "lineage_ending", sql.Named("ending", id), sql.Named("scopes", duck.ListArg(visible)))
		if err != nil {
			return nil, err
		}
		whole, err := ids.One("source", id, all, ids.Itself)
		if err != nil {
			return nil, err
		}
		if found, err = nodes(ctx, c, []string{whole}); err != nil {
			return nil, err
		}
		n = found[whole]
	}
	if n == nil || !k.sees(agent, n) {
		return nil, ids.NotFound("source", id)
	}
	return n, nil
}

// sees reports whether an agent may read a node. What has no scope everybody may.
func (k *Keeper) sees(agent string, n *Node) bool {
	return n.Scope == "" || k.scopes.Now().Sees(agent, n.Scope)
}
