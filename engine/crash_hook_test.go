package engine

import (
	"context"

	sqlfiles "github.com/mallardmem/mallard/sql"
)

// BeforeStatements has f called before each statement of the writer, and before each of its commits. Nobody may be writing.
func (e *Engine) BeforeStatements(f func()) { e.conn.before = f }

// Checkpoint writes the log into the file, as DuckDB does by itself when it is long.
func (e *Engine) Checkpoint(ctx context.Context) error {
	if err := e.lock(ctx); err != nil {
		return err
	}
	defer e.unlock()
	_, err := e.conn.conn.ExecContext(ctx, sqlfiles.Query("checkpoint"))
	return err
}
