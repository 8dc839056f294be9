package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine/share"
)

// scopeFlag is the --scope of a call: the scopes that a read is to look into, or the one that a write goes to.
type scopeFlag struct {
	read    []string
	refused []string // of these, those that the agent may not use
	write   *string
}

func scopeFlagOf(cmd *cobra.Command) (s scopeFlag) {
	f := cmd.Flag("scope")
	if f == nil || !f.Changed {
		return s
	}
	if many, ok := f.Value.(*words[string]); ok {
		s.read = *many
		return s
	}
	one := f.Value.String()
	s.write = &one
	return s
}

// checkScopes refuses a scope that none can be, and notes of one to be read that nothing is in: both are more likely a slip than meant. Only a file
// knows which there are; one that is defined no more may still have something in it.
func (a *app) checkScopes(ctx context.Context, r *share.Reader) error {
	if a.scope.write == nil && len(a.scope.read) == 0 {
		return nil
	}
	scopes, err := share.Scopes.Do(ctx, r, share.None{})
	if err != nil {
		return err
	}
	if a.scope.write != nil {
		if err := scopes.Check(*a.scope.write); err != nil {
			return err
		}
	}
	if len(a.scope.read) == 0 {
		return nil
	}
	unused, err := share.UnusedScopes.Do(ctx, r, a.scope.read)
	if err != nil {
		return err
	}
	for _, scope := range unused {
		if err := scopes.Check(scope); err != nil {
			return err
		}
	}
	visible, refused := scopes.ForReading(a.agent, a.scope.read)
	a.scope.refused = refused
	for _, scope := range unused {
		if slices.Contains(visible, scope) {
			a.note("Note: nothing is in the scope %s.", printable(scope))
		}
	}
	return nil
}

// noteRefused says which scopes the agent asked for in vain. A recall's result says it itself.
func (a *app) noteRefused() {
	for _, scope := range a.scope.refused {
		a.note("Note: scope %q is not open to agent %s.", scope, a.agent)
	}
}
