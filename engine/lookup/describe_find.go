package lookup

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
)

// The kinds of what an id names, beside those of documents.
const (
	FileKind         kinds.Kind = "file"
	ConversationKind kinds.Kind = "conversation"
)

// named is what an id names.
type named struct {
	kind           kinds.Kind
	id             string
	conversationID string // "" of a memory or a note
	scope          string
	visible        []string // the scopes that the asker may read; nil: all
}

// finders are the queries that look for an id of a prefix.
var finders = map[string]string{
	ids.Memory: "find_memory", ids.Message: "find_message", ids.Summary: "find_summary", ids.File: "find_file", ids.Conversation: "find_conversation",
}

// lookUp finds what an id, or the unique ending of one, names, in the scopes that the agent may read. Errors: ErrNotFound, ErrAmbiguous.
func (ts *Tools) lookUp(ctx context.Context, c *duck.Conn, id, agent string) (*named, error) {
	if err := fault.CheckText("id", id); err != nil {
		return nil, err
	}
	visible, _ := ts.scopes.Now().ForReading(agent, nil)
	prefix, _, _ := strings.Cut(id, "_")
	if query, ok := finders[prefix+"_"]; ok {
		found, err := findNamed(ctx, c, query, sql.Named("id", id))
		if err != nil {
			return nil, err
		}
		if len(found) == 1 && ts.scopes.Now().Sees(agent, found[0].scope) {
			return found[0], nil
		}
	}
	if len(id) >= ids.MinShort {
		found, err := findNamed(ctx, c, "find_ending", sql.Named("ending", id), sql.Named("scopes", duck.ListArg(visible)))
		if err != nil {
			return nil, err
		}
		for _, n := range found {
			n.visible = visible
		}
		if len(found) > 0 {
			return ids.One("", id, found, func(n *named) string { return n.id })
		}
	}
	return nil, fmt.Errorf("%w: %s; an id is mem_, msg_, sum_, file_ or conv_ and what follows it, whole, or the last %d characters or more of that; or that of a note",
		fault.ErrNotFound, fault.Quote(id), ids.MinShort)
}

func findNamed(ctx context.Context, c *duck.Conn, query string, args ...any) (all []*named, err error) {
	err = c.Each(ctx, query, func(rows *sql.Rows) error {
		n := &named{}
		all = append(all, n)
		return rows.Scan(&n.kind, &n.id, duck.TextOf(&n.conversationID), &n.scope)
	}, args...)
	return all, err
}
