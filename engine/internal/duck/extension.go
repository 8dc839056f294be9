package duck

import (
	"context"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// loadFTS loads the text extension into a new instance, before that is sealed: from its file, else as DuckDB has installed it, else
// from the network.
func loadFTS(ctx context.Context, execer driver.ExecerContext, o setup.Options) error {
	if o.FTS != "" {
		path, err := filepath.Abs(o.FTS)
		if err == nil {
			err = execText(ctx, execer, sqlfiles.Query("fts_load"), "{path}", strings.ReplaceAll(path, "'", "''"))
		}
		if err != nil {
			return fmt.Errorf("%w: %s: %w", fault.ErrNoFTS, o.FTS, err)
		}
		return nil
	}
	if execText(ctx, execer, sqlfiles.Query("fts_load_installed")) == nil {
		return nil
	}
	err := execText(ctx, execer, sqlfiles.Query("fts_install"))
	if err == nil {
		err = execText(ctx, execer, sqlfiles.Query("fts_load_installed"))
	}
	if err != nil {
		return fmt.Errorf("%w: it is not installed, and can't be fetched; name its file with Options.FTS: %w", fault.ErrNoFTS, err)
	}
	return nil
}
