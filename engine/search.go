package engine

import (
	"context"

	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/memory"
)

// Search finds what was said: letter for letter, by meaning, by both, or the newest.
func (e *Engine) Search(ctx context.Context, r lookup.SearchRequest) (*lookup.SearchResult, error) {
	return e.tools.Search(ctx, r)
}

// Gaps gives the silences in conversations, newest first; by default those of an hour or more between messages of users.
func (e *Engine) Gaps(ctx context.Context, r lookup.GapsRequest) ([]lookup.Gap, error) {
	return e.tools.Gaps(ctx, r)
}

// Tally counts messages by role, speaker, source kind, conversation or time.
func (e *Engine) Tally(ctx context.Context, r lookup.TallyRequest) ([]lookup.Tallied, error) {
	return e.tools.Tally(ctx, r)
}

// Relate notes how a memory stands to another; a relation that there is gets the weight.
func (e *Engine) Relate(ctx context.Context, r memory.RelateRequest) (*memory.Memory, error) {
	return e.memories.Relate(ctx, r)
}

// Unrelate takes back what Relate noted.
func (e *Engine) Unrelate(ctx context.Context, r memory.UnrelateRequest) error {
	return e.memories.Unrelate(ctx, r)
}

// Related gives the memories that relations lead to, in up to three steps, nearest first.
func (e *Engine) Related(ctx context.Context, r memory.RelatedRequest) ([]memory.Related, error) {
	return e.memories.Related(ctx, r)
}
