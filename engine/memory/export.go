package memory

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mallardmem/mallard/engine/internal/duck"
)

// ExportRequest says what to write.
type ExportRequest struct {
	Agent  string // empty: an internal caller
	Scopes []string
	Moment
}

// Export writes every memory with all that is known about it, superseded and forgotten ones too, one JSON object per line in
// the order they were recorded, and gives their number. Import of it makes the same memories. With AsOf or KnownAt it writes those that were true and known
// then, as they were.
func (ms *Store) Export(ctx context.Context, out io.Writer, r ExportRequest) (n int, err error) {
	if err := r.Validate(); err != nil {
		return 0, fmt.Errorf("export: %w", err)
	}
	scopes, _ := ms.scopes.Now().ForReading(r.Agent, r.Scopes)
	w := bufio.NewWriter(out)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	err = ms.at(ctx, "export", r.Moment, func(c *duck.Conn) error {
		err := c.Each(ctx, "memory_export", func(rows *sql.Rows) error {
			m, _, err := scanMemory(rows)
			if err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			n++
			return lines.Encode(m)
		}, sql.Named("scopes", duck.ListArg(scopes)))
		return errors.Join(err, w.Flush())
	})
	return n, err
}
