package scope

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Scopes gives the file's scopes.
func (g *Registry) Scopes() Scopes { return g.Now().Clone() }

// Now are the file's scopes, which nobody may change.
func (g *Registry) Now() *Scopes { return g.scopes.Load() }

// UnusedScopes gives those of the scopes that no memory, no conversation and no file with notes is in, forgotten and archived ones counted too.
func (g *Registry) UnusedScopes(ctx context.Context, scopes []string) (unused []string, err error) {
	if err := fault.CheckTexts("scopes", scopes); err != nil {
		return nil, fmt.Errorf("unused scopes: %w", err)
	}
	err = g.file.Read(ctx, "unused scopes", func(c *duck.Conn) error {
		unused, err = duck.Column[string](ctx, c, "scopes_unused", sql.Named("scopes", scopes))
		return err
	})
	return unused, err
}

// SetScopes stores new scopes in the file; when they are not valid, the old ones stay.
func (g *Registry) SetScopes(ctx context.Context, s Scopes) error {
	s, err := s.Settled()
	if err != nil {
		return fmt.Errorf("set scopes: %w", err)
	}
	return g.file.WriteThen(ctx, "set scopes", func(tx *duck.Write) error {
		return g.file.PutSetting(ctx, tx, "scopes", s)
	}, func() { g.scopes.Store(&s) })
}

// adopt reads the file's scopes.
func (g *Registry) adopt(ctx context.Context) error {
	s := Scopes{Default: Global}
	if _, err := g.file.Setting(ctx, g.file.Conn, "scopes", &s); err != nil {
		return err
	}
	g.scopes.Store(&s)
	return nil
}
