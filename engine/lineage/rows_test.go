package lineage_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/memory"
)

// dumped are the tables that a retraction and its undoing leave as they were, each with what of it is compared. The support of memories is read apart, for its keys
// may stand in any order; they were changed last when it was undone.
var dumped = map[string]string{
	"memories":         "* EXCLUDE (support_info, updated_at)",
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
	for _, m := range everyMemory(t, e) {
		all[fmt.Sprintf("support of %s %+v", m.ID, m.SupportOf())]++
	}
	return all
}

func everyMemory(t *testing.T, e *engine.Engine) []*memory.Memory {
	t.Helper()
	list, err := e.List(t.Context(), memory.ListRequest{Standing: "any", Limit: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// same reports the first rows that are not as they were.
func same(t *testing.T, what string, was, is map[string]int) {
	t.Helper()
	told := 0
	tell := func(sign, row string) {
		if told++; told <= 6 {
			t.Errorf("%s: %s %s", what, sign, row)
		}
	}
	for row, n := range was {
		if is[row] != n {
			tell("-", row)
		}
	}
	for row, n := range is {
		if was[row] != n {
			tell("+", row)
		}
	}
}
