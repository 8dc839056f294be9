package scope

import (
	"context"
	"sync/atomic"

	"github.com/mallardmem/mallard/engine/internal/duck"
)

// Registry keeps the scopes of a file. It owns the setting of that name.
type Registry struct {
	file   *duck.File
	scopes atomic.Pointer[Scopes]
}

// NewRegistry reads the file's scopes.
func NewRegistry(ctx context.Context, file *duck.File) (*Registry, error) {
	g := &Registry{file: file}
	return g, g.adopt(ctx)
}
