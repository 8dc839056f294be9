package engine

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// setting reads a stored value into dest.
func (e *Engine) setting(ctx context.Context, c *connection, name string, dest any) (found bool, err error) {
	var value string
	found, err = c.one(ctx, "setting_get", []any{&value}, sql.Named("name", name))
	if err != nil || !found {
		return false, err
	}
	if err := json.Unmarshal([]byte(value), dest); err != nil {
		return false, fmt.Errorf("%w: setting %s: %v", ErrCorrupt, name, err)
	}
	return true, nil
}

func (e *Engine) putSetting(ctx context.Context, c *connection, name string, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = c.exec(ctx, "setting_put", sql.Named("name", name), sql.Named("value", string(b)))
	return err
}
