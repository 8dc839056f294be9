package extract

import "context"

// modelled reports whether a model finds and judges.
func (x *run) modelled() bool { return false }

// find gives the drafts of a window.
func (x *run) find(ctx context.Context, w *window) ([]*Draft, error) { return x.byRules(ctx, w) }

// verdict decides on a draft.
func (x *run) verdict(_ context.Context, c *candidate, near []*candidate) (decision, error) {
	return byLikeness(c, near), nil
}
