package recall

import (
	"context"
	"database/sql"

	"github.com/mallardmem/mallard/engine/internal/duck"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// recallTables is what a connection's temporary tables of recall have.
type recallTables struct {
	recalls  int    // since they were made; 0: they are not
	weighing string // what the table weighing has
	filled   bool   // some of the tables that only some recalls fill
}

// maxRecalls is how many recalls the tables of recall last: rows that were deleted stay in them, and every scan passes them.
const maxRecalls = 200

// clearTables empties the tables of recall for the next one, or makes them.
func clearTables(ctx context.Context, c *duck.Conn) error {
	t := duck.Kept[recallTables](c)
	filled := t.filled
	t.filled = false
	if t.recalls == 0 || t.recalls >= maxRecalls {
		t.weighing, t.recalls = "", 1
		return c.MakeTables(ctx, "recall_tables")
	}
	t.recalls++
	text := sqlfiles.Query("recall_clear")
	if filled {
		text += sqlfiles.Query("recall_clear_rest")
	}
	return c.ExecTempDDL(ctx, text)
}

// weigh makes weights those of the next recall.
func weigh(ctx context.Context, c *duck.Conn, w Weights) error {
	t, weighing := duck.Kept[recallTables](c), w.arg()
	if weighing == t.weighing {
		return nil
	}
	if t.weighing != "" {
		if err := c.ExecTempDDL(ctx, sqlfiles.Query("recall_clear_weights")); err != nil {
			return err
		}
	}
	_, err := c.ExecTemp(ctx, "recall_weigh", sql.Named("weights", weighing))
	if err == nil {
		t.weighing = weighing
	}
	return err
}
