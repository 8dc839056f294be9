package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/share"
)

func newScopesCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scopes",
		Short: "Show or set who may use which scope",
		Long: `A scope is who shares a memory: global, agent:x, user:x, project:x, custom:x, or one that is defined here. An agent may use
global and its own, unless the file has a list for it.`,
		Example: `  memctl scopes show
  memctl scopes set scopes.json`,
	}
	cmd.AddCommand(newScopesShowCommand(a), newScopesSetCommand(a))
	return cmd
}

func newScopesShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show the file's scopes",
		Long:  `Show prints the default scope, the defined scopes and the lists of agents. With --json it is what scopes set reads.`,
		Example: `  memctl scopes show
  memctl scopes show --json > scopes.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.asking(cmd.Context(), 0, func(r *share.Reader) error {
				s, err := share.Scopes.Do(cmd.Context(), r, share.None{})
				if err != nil {
					return err
				}
				return a.answer(s, func() { a.printScopes(s) })
			})
		},
	}
}

func (a *app) printScopes(s scope.Scopes) {
	a.printf("default: %s\n", s.Default)
	if len(s.Definitions) > 0 {
		a.printf("\n")
		t := a.table("defined scope", "what for")
		for _, name := range slices.Sorted(maps.Keys(s.Definitions)) {
			t.AppendRow([]any{name, line(s.Definitions[name], a.width()-30)})
		}
		t.Render()
	}
	if len(s.Access) > 0 {
		a.printf("\n")
		t := a.table("agent", "may use")
		for _, agent := range slices.Sorted(maps.Keys(s.Access)) {
			list := strings.Join(s.Access[agent], ", ")
			if list == "" {
				list = "nothing"
			}
			t.AppendRow([]any{printable(agent), printable(list)})
		}
		t.Render()
	}
}

func newScopesSetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "set FILE",
		Short: "Store new scopes in the file",
		Long: `Set reads a JSON object from FILE, or from standard input for "-":

  {"default": "global",
   "definitions": {"team": "all of us"},
   "access": {"scout": ["global", "team", "user:ines"]}}

An agent without a list has global and its own scope; an empty list denies everything.`,
		Example: `  memctl scopes set scopes.json
  echo '{"definitions": {"team": "all of us"}}' | memctl scopes set -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var s scope.Scopes
			if err := a.readJSON(args[0], &s); err != nil {
				return err
			}
			return a.with(cmd.Context(), canWrite|canCreate, func(e *engine.Engine) error {
				if err := e.SetScopes(cmd.Context(), s); err != nil {
					return err
				}
				return a.answer(e.Scopes(), func() { a.printf("Scopes stored.\n") })
			})
		},
	}
}
