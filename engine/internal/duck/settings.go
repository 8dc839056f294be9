package duck

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Setting reads a stored value into dest.
func (f *File) Setting(ctx context.Context, c *Conn, name string, dest any) (found bool, err error) {
	var value string
	found, err = c.One(ctx, "setting_get", []any{&value}, sql.Named("name", name))
	if err != nil || !found {
		return false, err
	}
	if err := json.Unmarshal([]byte(value), dest); err != nil {
		return false, fmt.Errorf("%w: setting %s: %v", fault.ErrCorrupt, name, err)
	}
	return true, nil
}

func (f *File) PutSetting(ctx context.Context, tx *Write, name string, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "setting_put", sql.Named("name", name), sql.Named("value", string(b)))
	return err
}

// DeleteSetting removes a stored value, and reports whether there was one.
func (f *File) DeleteSetting(ctx context.Context, tx *Write, name string) (found bool, err error) {
	n, err := tx.Exec(ctx, "setting_delete", sql.Named("name", name))
	return n > 0, err
}
