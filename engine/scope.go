package engine

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/scope"
)

// Scopes gives the file's scopes.
func (e *Engine) Scopes() scope.Scopes { return e.scopesNow().Clone() }

// scopesNow are the file's scopes, which nobody may change.
func (e *Engine) scopesNow() *scope.Scopes { return e.scopes.Load() }

// UnusedScopes gives those of the scopes that no memory and no conversation is in, forgotten and archived ones counted too.
func (e *Engine) UnusedScopes(ctx context.Context, scopes []string) (unused []string, err error) {
	if err := fault.CheckTexts("scopes", scopes); err != nil {
		return nil, fmt.Errorf("unused scopes: %w", err)
	}
	err = e.read(ctx, "unused scopes", func(c *connection) error {
		unused, err = idList(ctx, c, "scopes_unused", sql.Named("scopes", scopes))
		return err
	})
	return unused, err
}

// SetScopes stores new scopes in the file; when they are not valid, the old ones stay.
func (e *Engine) SetScopes(ctx context.Context, s scope.Scopes) error {
	s, err := s.Settled()
	if err != nil {
		return fmt.Errorf("set scopes: %w", err)
	}
	return e.writeThen(ctx, "set scopes", func(c *connection) error {
		return e.putSetting(ctx, c, "scopes", s)
	}, func() { e.scopes.Store(&s) })
}

// adoptScopes reads the file's scopes.
func (e *Engine) adoptScopes(ctx context.Context) error {
	s := scope.Scopes{Default: scope.Global}
	if _, err := e.setting(ctx, e.conn, "scopes", &s); err != nil {
		return err
	}
	e.scopes.Store(&s)
	return nil
}
