package engine

import (
	"cmp"
	"context"

	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/memory"
)

// Maintained says what Maintain did, or would do.
type Maintained struct {
	*memory.Maintained // whose VectorErr is that of summaries too
	// Summaries are those that were made without the model and are made anew; without a model, and with DryRun, they are only counted.
	Summaries *compact.Retried `json:"summaries"`
	// Sessions is how many had no turn for thirty days: what was kept of them is gone.
	Sessions     int  `json:"sessions"`
	Checkpointed bool `json:"checkpointed"` // the log is in the file
}

// Maintain does what is to be done now and then, once a day or so: memory.Store.Maintain for memories, RetryFallbacks for summaries where there is a model, what is kept of sessions
// that nobody goes on with is forgotten, and the log is taken into the file. DryRun says it first. What was done before an error stays, and the result tells of it.
func (e *Engine) Maintain(ctx context.Context, r memory.MaintainRequest) (done *Maintained, err error) {
	done = &Maintained{Summaries: &compact.Retried{Rewritten: []string{}}}
	if done.Maintained, err = e.memories.Maintain(ctx, r); err != nil {
		return done, err
	}
	retried, err := e.compactor.RetryFallbacks(ctx, compact.RetryRequest{DryRun: r.DryRun || e.opts.LLM == nil})
	done.VectorErr = cmp.Or(done.VectorErr, retried.VectorErr)
	if done.Summaries = retried; err != nil {
		return done, err
	}
	if done.Sessions, err = e.turns.Forget(ctx, r.DryRun); err != nil || r.DryRun {
		return done, err
	}
	done.Checkpointed, err = e.upkeep.Checkpoint(ctx)
	return done, err
}
