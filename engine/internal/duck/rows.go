package duck

import (
	"context"
	"database/sql"
	"strings"
)

func IDList(ctx context.Context, c *Conn, query string, args ...any) (ids []string, err error) {
	err = c.Each(ctx, query, func(rows *sql.Rows) error {
		var id string
		defer func() { ids = append(ids, id) }()
		return rows.Scan(&id)
	}, args...)
	return ids, err
}

// ChangedBy runs statements that can't be prepared, and gives the number of rows that all of them changed.
func (c *Conn) ChangedBy(ctx context.Context, statements string) (changed int64, err error) {
	c.step()
	for statement := range strings.SplitSeq(statements, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		result, err := c.SQL.ExecContext(ctx, statement)
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

// Collect adds the single texts that a named query gives.
func Collect(ctx context.Context, c *Conn, query string, to *[]string, args ...any) error {
	return c.Each(ctx, query, func(rows *sql.Rows) error {
		var s string
		defer func() { *to = append(*to, s) }()
		return rows.Scan(&s)
	}, args...)
}
