package main

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/memory"
)

// mostOffered is how many memories a shell offers, the newest.
const mostOffered = 100

// offer looks into the file for what a shell may offer for a word: values, each with what it is for after a tab.
type offer func(ctx context.Context, e *engine.Engine) ([]string, error)

// completeArgs offers values for the arguments at those places, counted from 0; for the others nothing.
func (a *app) completeArgs(values offer, places ...int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (all []string, _ cobra.ShellCompDirective) {
		if !slices.Contains(places, len(args)) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		a.quiet, a.wait = true, 0
		if a.checkAgent(cmd) != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		err := a.with(cmd.Context(), 0, func(e *engine.Engine) (err error) {
			all, err = values(cmd.Context(), e)
			return err
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		slices.Sort(all)
		return slices.Compact(all), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlag offers values for a flag.
func (a *app) completeFlag(cmd *cobra.Command, flag string, values offer) {
	do := a.completeArgs(values, 0)
	err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return do(cmd, nil, word)
	})
	if err != nil {
		panic(err) // a command without the flag it completes
	}
}

func (a *app) conversations(ctx context.Context, e *engine.Engine) (names []string, err error) {
	all, err := e.Conversations(ctx, a.agent)
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names, err
}

func (a *app) memories(ctx context.Context, e *engine.Engine) (found []string, err error) {
	all, err := e.List(ctx, memory.ListRequest{Agent: a.agent, Limit: mostOffered})
	for _, m := range all {
		found = append(found, ids.Short(m.ID)+"\t"+line(cmp.Or(m.L0, m.Text), 60))
	}
	return found, err
}

// scopes are those that are defined, and those that something is in.
func (a *app) scopes(ctx context.Context, e *engine.Engine) ([]string, error) {
	stats, err := e.Stats(ctx)
	if err != nil {
		return nil, err
	}
	known := e.Scopes()
	all := slices.AppendSeq([]string{"global"}, maps.Keys(known.Definitions))
	all = slices.AppendSeq(all, maps.Keys(stats.Scopes))
	if a.agent != "" {
		all = slices.DeleteFunc(all, func(scope string) bool { return !known.Allows(a.agent, scope) })
	}
	return all, nil
}

func (a *app) weightSets(ctx context.Context, e *engine.Engine) ([]string, error) {
	sets, err := e.WeightSets(ctx)
	return slices.Collect(maps.Keys(sets)), err
}
