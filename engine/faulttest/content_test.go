package faulttest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine"
)

// content is what a file says to a user: a row by its kind and name, such as "memory mem_4", and what is in it.
type content map[string]string

// contents gives every row of a user's with a hash of its columns, but for the numbers that a new opening skips some
// of; Check answers for those.
const contents = `
SELECT 'memory ' || id, hash(r)::VARCHAR FROM (SELECT * EXCLUDE (doc_no) FROM memories) r
UNION ALL SELECT 'message ' || id, hash(r)::VARCHAR FROM (SELECT * EXCLUDE (doc_no, session_no) FROM messages) r
UNION ALL SELECT 'part ' || message_id || ' ' || ordinal, hash(r)::VARCHAR FROM parts r
UNION ALL SELECT 'conversation ' || id, hash(r)::VARCHAR FROM (SELECT * EXCLUDE (last_session_no) FROM conversations) r
UNION ALL SELECT 'summary ' || id, hash(r)::VARCHAR FROM (SELECT * EXCLUDE (doc_no) FROM summaries) r
UNION ALL SELECT 'source ' || summary_id || ' ' || ordinal, source FROM summary_sources
UNION ALL SELECT 'item ' || conversation_id || ' ' || position, ref FROM context_items
UNION ALL SELECT 'payload ' || sha256, bytes::VARCHAR FROM payloads
UNION ALL SELECT 'cursor ' || path, hash(r)::VARCHAR FROM cursors r`

// contentOf reads it all.
func contentOf(ctx context.Context, e *engine.Engine) (content, error) {
	return contentAs(ctx, e, contents)
}

// contentAs reads the rows of a query, each with its name and what is in it.
func contentAs(ctx context.Context, e *engine.Engine, query string) (content, error) {
	const most = 100_000
	table, err := e.Query(ctx, query, most)
	if err != nil {
		return nil, err
	}
	if table.More {
		return nil, fmt.Errorf("more than %d rows: the test reads a part of the file", most)
	}
	all := content{}
	for _, row := range table.Rows {
		all[row[0].(string)] = row[1].(string)
	}
	return all, nil
}

// changes is what makes another content of c; what is gone is empty.
func (c content) changes(next content) content {
	changed := content{}
	for key := range c {
		if _, ok := next[key]; !ok {
			changed[key] = ""
		}
	}
	for key, value := range next {
		if c[key] != value {
			changed[key] = value
		}
	}
	return changed
}

// with is c after changes.
func (c content) with(changed content) content {
	next := maps.Clone(c)
	for key, value := range changed {
		if next[key] = value; value == "" {
			delete(next, key)
		}
	}
	return next
}

// expected is what a file may hold: what it held before a deed, and if that was under way, what it held after.
type expected struct {
	before, after content
	begun         bool // the deed was under way
	passes        bool // it has several transactions
}

// fault says how content differs from what is expected; empty: it does not.
func (x expected) fault(got content) string {
	if maps.Equal(got, x.before) || x.begun && maps.Equal(got, x.after) {
		return ""
	}
	var lost, extra []string
	for key := range x.before.changes(got) {
		if x.begun && (got[key] == x.after[key] || x.passes && derived(key)) {
			continue
		}
		if x.before[key] != "" {
			lost = append(lost, key)
		} else {
			extra = append(extra, key)
		}
	}
	switch {
	case len(lost) > 0:
		return "lost: " + some(lost)
	case len(extra) > 0:
		return "extra: " + some(extra)
	case x.passes:
		return ""
	}
	return fmt.Sprintf("half done: %d of %d changes", len(x.before.changes(got)), len(x.before.changes(x.after)))
}

// derived reports whether a row is one that passes of one deed may make, change and remove again.
func derived(key string) bool {
	kind, _, _ := strings.Cut(key, " ")
	return slices.Contains([]string{"conversation", "summary", "source", "item"}, kind)
}

// some names a few of many.
func some(keys []string) string {
	slices.Sort(keys)
	if len(keys) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(keys[:3], ", "), len(keys)-3)
	}
	return strings.Join(keys, ", ")
}
