package main

import (
	"context"
	"fmt"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/setup"
)

// snapshotIDs are offered by a shell.
func (a *app) snapshotIDs(ctx context.Context, e *engine.Engine) (found []string, err error) {
	all, err := e.ContextSnapshots(ctx, build.SnapshotsRequest{Agent: a.agent, Limit: mostOffered})
	for _, s := range all {
		found = append(found, ids.Short(s.ID)+"\t"+s.Conversation+" by "+s.Preset+", "+minute(s.BuiltAt))
	}
	return found, err
}

// checked is a snapshot with what became of building it again.
type checked struct {
	build.Snapshot
	Verified *build.Verified `json:"verified,omitempty"`
}

func newContextVerifyCommand(a *app) *cobra.Command {
	var r build.SnapshotsRequest
	cmd := &cobra.Command{
		Use:   "verify [SNAPSHOT]",
		Short: "Build contexts again and compare their hashes",
		Long: `Verify builds the context of a snapshot again, as of the newest message that took part, or without an argument those of all snapshots, newest first: messages that came later do
not matter, and no model is asked. What the host gave is taken by its hash, for nothing of it is kept. It says what is different now, and fails if anything is.
Builds that failed are listed with what to do about them.`,
		Example: `  memctl context verify
  memctl context verify 4x7k2m --json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeArgs(a.snapshotIDs, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Agent = a.agent
			changed := 0
			err := a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				all, err := a.snapshotsToCheck(cmd.Context(), e, r, args)
				if err != nil {
					return err
				}
				for i := range all {
					s := &all[i]
					if s.Status != build.StatusOK {
						continue
					}
					if s.Verified, err = e.VerifyContext(cmd.Context(), s.ID, a.agent); err != nil {
						return err
					}
					if !s.Verified.Same {
						changed++
					}
				}
				return a.answer(orEmpty(all), func() { a.printChecked(all) })
			})
			if err == nil && changed > 0 {
				return fmt.Errorf("%s changed", plural(changed, "context has", "contexts have"))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&r.Conversation, "conversation", "", "only snapshots of this conversation")
	cmd.Flags().IntVar(&r.Limit, "limit", 100, "at most so many, 1 to 10000")
	a.completeFlag(cmd, "conversation", a.conversations)
	return cmd
}

func (a *app) snapshotsToCheck(ctx context.Context, e *engine.Engine, r build.SnapshotsRequest, args []string) (all []checked, err error) {
	if len(args) == 1 {
		s, err := e.ContextSnapshot(ctx, args[0], a.agent)
		return []checked{{Snapshot: s}}, err
	}
	found, err := e.ContextSnapshots(ctx, r)
	for _, s := range found {
		all = append(all, checked{Snapshot: s})
	}
	return all, err
}

func (a *app) printChecked(all []checked) {
	if len(all) == 0 {
		a.note("No snapshots yet: memctl context build NAME --snapshot keeps one.")
		return
	}
	t := a.table("snapshot", "conversation", "preset", "built", "turn", "hash", "now")
	for _, s := range all {
		now := "the same"
		switch {
		case s.Status == build.StatusFailed:
			now = fmt.Sprintf("it failed at %s: %s", s.Stage, s.NextAction)
		case !s.Verified.Same:
			now = "changed"
		}
		t.AppendRow([]any{ids.Short(s.ID), line(s.Conversation, 30), s.Preset, minute(s.BuiltAt), line(s.Turn, 20), s.Hash, now})
	}
	t.Render()
	for _, s := range all {
		if s.Verified == nil {
			continue
		}
		a.printChanges(ids.Short(s.ID), s.Verified.Changes)
		for _, notice := range s.Verified.Notices {
			a.note("Note: %s.", notice)
		}
	}
}

func (a *app) printChanges(of string, changes []build.Change) {
	for _, c := range changes {
		switch {
		case c.What == "config":
			a.printf("%s: %s is %s, was %s\n", of, c.Name, orNothing(c.Is), orNothing(c.Was))
		default:
			a.printf("%s: %s %s in %s is %s\n", of, c.Kind, c.Name, c.Section, c.What)
		}
	}
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

func newContextDiffCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "diff SNAPSHOT SNAPSHOT",
		Short: "Print what changed from one context to another",
		Long:  `Diff compares two snapshots: the values of their presets, and what is shown: what was added, removed, moved, or says something else.`,
		Example: `  memctl context diff 4x7k2m 9q2r8t
  memctl context diff 4x7k2m 9q2r8t --json`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeArgs(a.snapshotIDs, 0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				d, err := e.DiffContexts(cmd.Context(), args[0], args[1], a.agent)
				if err != nil {
					return err
				}
				return a.answer(d, func() {
					if len(d.Changes) == 0 {
						a.printf("The same.\n")
					}
					a.printChanges(ids.Short(d.To), d.Changes)
				})
			})
		},
	}
}

func newContextPresetsCommand(a *app) *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "presets [NAME]",
		Short: "Print the presets, or every value of one",
		Long: `Presets lists the presets that there are, and with a name prints every value that holds as the table of a file: a copy of it under another name is a preset of your own. In the
configuration file, or the one that --presets names, a table [presets.NAME] has what differs from the preset that its key base names.`,
		Example: `  memctl context presets
  memctl context presets istota > mine.toml
  memctl context presets istota --json`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			names, _ := a.presetNames(cmd.Context(), nil)
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := a.effectivePresets(file)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.answer(all, func() { a.printPresets(all) })
			}
			for _, p := range all {
				if p.Name == args[0] {
					if a.json {
						return a.printJSON(p)
					}
					e := toml.NewEncoder(a.stdout)
					e.Indent = ""
					return e.Encode(map[string]any{"presets": map[string]build.Preset{p.Name: p}})
				}
			}
			return usage("no preset %q; memctl context presets lists them", args[0])
		},
	}
	cmd.Flags().StringVar(&file, "presets", "", "a file with presets of your own, beside those of the configuration file")
	return cmd
}

// effectivePresets are all that there are, with every value that holds.
func (a *app) effectivePresets(file string) (all []build.Preset, err error) {
	own, err := a.presets(file)
	if err != nil {
		return nil, err
	}
	c, err := loadConfig(a.config)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, p := range append(own, build.Presets()...) {
		if seen[p.Name] {
			continue
		}
		seen[p.Name] = true
		if p, err = p.Effective(setup.Options{Conversation: c.Conversation}); err != nil {
			return nil, usage("preset %s: %w", p.Name, err)
		}
		all = append(all, p)
	}
	return all, nil
}

func (a *app) printPresets(all []build.Preset) {
	t := a.table("preset", "window", "budget", "counted by", "trim", "selector", "tools", "recall", "snapshot")
	right(t, "budget")
	for _, p := range all {
		selector, recall, budget := p.Select.By, "off", "none"
		if selector == "" {
			selector = "none"
		}
		switch {
		case p.Recall.On:
			recall = "on"
		case p.Hints.On:
			recall = "hints"
		}
		if p.Budget.Max > 0 {
			budget = fmt.Sprint(p.Budget.Max - p.Budget.Reserve)
		}
		t.AppendRow([]any{p.Name, windowWords(&p.Window), budget, p.Budget.Estimator, p.Budget.Trim, selector, p.Tools.View, recall, p.Snapshot})
	}
	t.Render()
}

// windowWords is a window in a few words.
func windowWords(w *build.Window) string {
	switch {
	case w.From == build.FromContext:
		return "the context"
	case w.UserTurns > 0:
		return plural(w.UserTurns, "user turn", "user turns")
	case w.Messages > 0:
		return fmt.Sprintf("%d messages, %d events", w.Messages, w.Events)
	case w.Pairs > 0:
		return plural(w.Pairs, "pair", "pairs")
	case w.Tokens > 0:
		return plural(w.Tokens, "token", "tokens")
	}
	return "all messages"
}
