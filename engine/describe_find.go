package engine

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// The kinds of what an id names, beside those of documents.
const (
	FileKind         Kind = "file"
	ConversationKind Kind = "conversation"
)

// named is what an id names.
type named struct {
	kind           Kind
	id             string
	conversationID string // "" of a memory
	scope          string
}

// finders are the queries that look for an id of a prefix.
var finders = map[string]string{
	memoryPrefix: "find_memory", messagePrefix: "find_message", summaryPrefix: "find_summary", filePrefix: "find_file", conversationPrefix: "find_conversation",
}

// lookUp finds what an id, or the unique ending of one, names, in the scopes that the agent may read. Errors: ErrNotFound, ErrAmbiguous.
func (e *Engine) lookUp(ctx context.Context, c *connection, id, agent string) (*named, error) {
	if err := fault.CheckText("id", id); err != nil {
		return nil, err
	}
	visible, _ := e.scopesNow().ForReading(agent, nil)
	prefix, _, _ := strings.Cut(id, "_")
	if query, ok := finders[prefix+"_"]; ok {
		found, err := findNamed(ctx, c, query, sql.Named("id", id))
		if err != nil {
			return nil, err
		}
		if len(found) == 1 && e.scopesNow().Sees(agent, found[0].scope) {
			return found[0], nil
		}
	}
	if len(id) >= minShort {
		found, err := findNamed(ctx, c, "find_ending", sql.Named("ending", id), sql.Named("scopes", listArg(visible)))
		if err != nil {
			return nil, err
		}
		if len(found) == 1 || len(found) > 1 && found[0].id == id {
			return found[0], nil
		}
		if len(found) > 1 {
			ids := make([]string, len(found))
			for i, n := range found {
				ids[i] = n.id
			}
			return nil, fmt.Errorf("%w: %s fits %s; give more of it", ErrAmbiguous, fault.Quote(id), strings.Join(ids, ", "))
		}
	}
	return nil, fmt.Errorf("%w: %s; an id is mem_, msg_, sum_, file_ or conv_ and what follows it, whole, or the last %d characters or more of that",
		ErrNotFound, fault.Quote(id), minShort)
}

func findNamed(ctx context.Context, c *connection, query string, args ...any) (all []*named, err error) {
	err = c.each(ctx, query, func(rows *sql.Rows) error {
		n := &named{}
		all = append(all, n)
		return rows.Scan(&n.kind, &n.id, textOf(&n.conversationID), &n.scope)
	}, args...)
	return all, err
}
