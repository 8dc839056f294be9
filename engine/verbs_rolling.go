package engine

import (
	"context"

	"github.com/mallardmem/mallard/engine/chain"
	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/compact"
)

// How a conversation stands while its context fills: packages checkpoint, chain and compact.

// Checkpoint notes now what a conversation is about and how it stands.
func (e *Engine) Checkpoint(ctx context.Context, r checkpoint.Request) (*checkpoint.Made, error) {
	return e.checkpoints.Make(ctx, r)
}

// MaybeCheckpoint does so if it is time: at shares of the budget, and after so many messages of the user.
func (e *Engine) MaybeCheckpoint(ctx context.Context, r checkpoint.Request) (*checkpoint.Made, error) {
	return e.checkpoints.Maybe(ctx, r)
}

// Checkpoints lists those of a conversation, the newest first.
func (e *Engine) Checkpoints(ctx context.Context, r checkpoint.ListRequest) ([]*checkpoint.Checkpoint, error) {
	return e.checkpoints.List(ctx, r)
}

// GetCheckpoint gives one by its id, or the unique ending of it.
func (e *Engine) GetCheckpoint(ctx context.Context, id, agent string) (*checkpoint.Checkpoint, error) {
	return e.checkpoints.Get(ctx, id, agent)
}

// AdoptCheckpoint stores a host's own checkpoint; adopted is false where its key is known.
func (e *Engine) AdoptCheckpoint(ctx context.Context, r checkpoint.AdoptRequest) (k *checkpoint.Checkpoint, adopted bool, err error) {
	return e.checkpoints.Adopt(ctx, r)
}

// FlushPrompt gives the prompt that asks a model to write down what it must not forget, when its time has come; nil: none.
func (e *Engine) FlushPrompt(ctx context.Context, r checkpoint.Request) (*checkpoint.Prompt, error) {
	return e.checkpoints.FlushPrompt(ctx, r)
}

// AckFlush notes that a prompt was given to the model, so that it does not come again before the next compaction.
func (e *Engine) AckFlush(ctx context.Context, r checkpoint.AckRequest) (changed bool, err error) {
	return e.checkpoints.AckFlush(ctx, r)
}

// RetryPending has summaries tell of what they owe, in every conversation; it is for a host's ticker.
func (e *Engine) RetryPending(ctx context.Context) (*compact.Retried, error) {
	return e.compactor.RetryPending(ctx)
}

// FailingModels lists the models that failed when they were last asked for a summary or a checkpoint.
func (e *Engine) FailingModels(ctx context.Context) ([]chain.State, error) {
	return e.models.Failing(ctx)
}
