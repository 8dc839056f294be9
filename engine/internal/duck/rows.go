package duck

import (
	"context"
	"database/sql"
	"strings"
)

// List gives the rows of a named query, each as scan reads it.
func List[T any](ctx context.Context, c *Conn, query string, scan func(rows *sql.Rows, v *T) error, args ...any) (all []T, err error) {
	err = c.Each(ctx, query, func(rows *sql.Rows) error {
		var v T
		if err := scan(rows, &v); err != nil {
			return err
		}
		all = append(all, v)
		return nil
	}, args...)
	return all, err
}

// Column gives the values of a named query with one column.
func Column[T any](ctx context.Context, c *Conn, query string, args ...any) ([]T, error) {
	return List(ctx, c, query, func(rows *sql.Rows, v *T) error { return rows.Scan(v) }, args...)
}

// ChangedBy runs statements that can't be prepared, and gives the number of rows that all of them changed.
func (tx *Write) ChangedBy(ctx context.Context, statements string) (changed int64, err error) {
	tx.step()
	for statement := range strings.SplitSeq(statements, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		result, err := tx.SQL.ExecContext(ctx, statement)
		if err != nil {
			return changed, err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}
