package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/chain"
	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/lineage"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/note"
	"github.com/mallardmem/mallard/engine/payload"
	"github.com/mallardmem/mallard/engine/query"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/salvage"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/turn"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// Options of Open. The zero value works: no model, so recall is lexical.
type Options = setup.Options

// Engine is an open memory file. All methods are safe for concurrent use: reads run side by side, writes one after another.
type Engine struct {
	opts     Options
	closing  sync.Mutex
	attached []func() error // end what was attached; closing owns it

	file          *duck.File
	contents      *payload.Contents
	scopes        *scope.Registry
	index         *index.Index
	queries       *query.Reader
	memories      *memory.Store
	notes         *note.Keeper
	recaller      *recall.Recaller
	conversations *conversation.Store
	models        *chain.Chain
	checkpoints   *checkpoint.Checkpoints
	compactor     *compact.Compactor
	extractor     *extract.Extractor
	lineage       *lineage.Keeper
	turns         *turn.Turns
	assembler     *assemble.Assembler
	builder       *build.Builder
	tools         *lookup.Tools
	upkeep        *upkeep.Upkeep
}

// Attach begins something that goes on while the file is open, such as share.Serve of engine/share; Close calls end before it closes the file.
type Attach func(e *Engine) (end func() error, err error)

// Open opens or creates a memory file; ":memory:" is one that is gone after Close. Errors: ErrInvalid for bad options,
// ErrLocked, ErrSchemaTooNew, ErrMigrationChanged, ErrModelMismatch, ErrCorrupt; and what attach gives.
func Open(ctx context.Context, path string, o Options, attach ...Attach) (*Engine, error) {
	e, err := open(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	for _, begin := range attach {
		end, err := begin(e)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), e.Close())
		}
		e.attached = append(e.attached, end)
	}
	return e, nil
}

func open(ctx context.Context, path string, o Options) (_ *Engine, err error) {
	o = o.WithDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	e := &Engine{opts: o}
	if e.file, err = duck.Open(ctx, path, o); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.file.Abandon()
		}
	}()
	if e.contents, err = payload.New(e.file, o); err != nil {
		return nil, err
	}
	if e.index, err = index.New(ctx, e.file, o); err != nil {
		return nil, err
	}
	if e.scopes, err = scope.NewRegistry(ctx, e.file); err != nil {
		return nil, err
	}
	e.queries = query.New(e.file)
	e.memories = memory.New(e.file, e.index, e.scopes, o)
	e.notes = note.New(e.file, e.index, e.scopes, o)
	e.recaller = recall.New(e.file, e.index, e.scopes, o)
	if e.conversations, err = conversation.New(e.file, e.contents, e.index, e.scopes, o); err != nil {
		return nil, err
	}
	if err := e.conversations.Resume(ctx); err != nil {
		return nil, err
	}
	e.models = chain.New(e.file, e.conversations, o)
	e.checkpoints = checkpoint.New(e.file, e.index, e.scopes, e.conversations, e.models, o)
	e.compactor = compact.New(e.file, e.contents, e.index, e.scopes, e.conversations, e.models, o)
	e.extractor = extract.New(e.file, e.index, e.scopes, e.memories, e.conversations, o)
	e.lineage = lineage.New(e.file, e.scopes, e.memories, e.conversations, e.compactor)
	e.turns = turn.New(e.file, e.index, e.memories, e.recaller, e.conversations, e.extractor, o)
	e.assembler = assemble.New(e.file, e.index, e.conversations, o)
	e.builder = build.New(e.file, e.index, e.scopes, e.conversations, e.recaller, e.assembler, o)
	e.tools = lookup.New(e.file, e.index, e.scopes, e.recaller, e.conversations, o)
	e.upkeep = upkeep.New(e.file, e.contents, e.index, e.compactor, o)
	return e, e.file.Keep()
}

// Options are those that it was opened with, and the defaults of the others.
func (e *Engine) Options() Options { return e.opts }

// Close ends what was attached, waits for running operations, writes everything to the file and gives it up. Further calls do nothing.
func (e *Engine) Close() error {
	e.closing.Lock()
	defer e.closing.Unlock()
	var detached error
	for _, end := range slices.Backward(e.attached) {
		detached = errors.Join(detached, end())
	}
	e.attached = nil
	unwritten := errors.Join(e.turns.Close(), e.conversations.Close(), e.memories.Close())
	e.index.Close()
	err := errors.Join(detached, unwritten, e.file.Close())
	e.recaller.Close()
	if err != nil {
		return fmt.Errorf("close %s: %w", e.file.Path(), err)
	}
	return nil
}

// Recover makes a new file of what can be read of a damaged one and of its log, and says what is lost: salvage.Recover has the details.
func Recover(ctx context.Context, r salvage.Request) (*salvage.Recovered, error) {
	return salvage.Recover(ctx, r, func(ctx context.Context, path string, o Options) (*salvage.Fresh, error) {
		e, err := Open(ctx, path, o)
		if err != nil {
			return nil, err
		}
		return &salvage.Fresh{File: e.file, Contents: e.contents, Index: e.index, Upkeep: e.upkeep}, nil
	})
}
