package lineage_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/internal/duck"
)

// dumped are the tables that a retraction and its undoing leave as they were, each with what of it is compared.
var dumped = map[string]string{
	"memories":         "*",
	"memory_relations": "*", "memory_sources": "*", "messages": "*", "parts": "*", "context_items": "*", "summaries": "*", "summary_sources": "*",
	"documents": "*", "postings": "*", "vectors": "*", "drafts": "*",
	"passages":   "doc_no, start, length",
	"kind_stats": "kind, documents, round(length, 3)",
}

// rows are all rows of these tables.
func rows(t *testing.T, e *engine.Engine) map[string]int {
	t.Helper()
	all := map[string]int{}
	err := enginetest.File(e).Read(t.Context(), "dump", func(c *duck.Conn) error {
		for table, columns := range dumped {
			err := c.EachValue(context.Background(), fmt.Sprintf("SELECT (d)::VARCHAR FROM (SELECT %s FROM %s) AS d", columns, table), func(row []driver.Value) error {
				all[table+" "+row[0].(string)]++
				return nil
			})
			if err != nil {
				return fmt.Errorf("%s: %w", table, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// same reports rows that are not as they were.
func same(t *testing.T, what string, was, is map[string]int) {
	t.Helper()
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("%s (-was +is):\n%s", what, diff)
	}
}
