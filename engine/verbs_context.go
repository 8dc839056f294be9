package engine

import (
	"context"

	"github.com/mallardmem/mallard/engine/build"
)

// The context of the next call: package build.

// Build makes the context of the next call of a model, as a preset says: what was said, what stands for it, what is remembered and what is said now.
func (e *Engine) Build(ctx context.Context, r build.Request) (*build.Built, error) {
	return e.builder.Build(ctx, r)
}

// ContextSnapshots lists contexts that were built and kept, and builds that failed, the newest first.
func (e *Engine) ContextSnapshots(ctx context.Context, r build.SnapshotsRequest) ([]build.Snapshot, error) {
	return e.builder.Snapshots(ctx, r)
}

// ContextSnapshot finds one by its id, or the unique ending of it.
func (e *Engine) ContextSnapshot(ctx context.Context, id, agent string) (build.Snapshot, error) {
	return e.builder.Snapshot(ctx, id, agent)
}

// VerifyContext builds a context again, as of the newest message that took part, and says whether it is what it was; nobody is asked again.
func (e *Engine) VerifyContext(ctx context.Context, snapshot, agent string) (*build.Verified, error) {
	return e.builder.Verify(ctx, snapshot, agent)
}

// PruneContextSnapshots removes what was built long ago, but the newest few of each conversation; DryRun counts.
func (e *Engine) PruneContextSnapshots(ctx context.Context, r build.PruneRequest) (*build.Pruned, error) {
	return e.builder.Prune(ctx, r)
}

// DiffContexts says what changed from one snapshot to another.
func (e *Engine) DiffContexts(ctx context.Context, from, to, agent string) (*build.Difference, error) {
	return e.builder.Diff(ctx, from, to, agent)
}
