package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestAgentCommands: every command that runs acts for an agent or refuses one, and all that are said to do are there.
func TestAgentCommands(t *testing.T) {
	a := newApp(nil, os.Stdout, os.Stderr)
	root := newRootCommand(a)
	if err := root.PersistentFlags().Set("agent", "scout"); err != nil {
		t.Fatal(err)
	}
	var names []string
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			name := strings.TrimPrefix(sub.CommandPath(), "memctl ")
			names = append(names, name)
			if err := a.checkAgent(sub); (err == nil) != (among(agentCommands, name) && !among(ownerCommands, name)) {
				t.Errorf("%s: %v", name, err)
			}
			walk(sub)
		}
	}
	walk(root)
	for _, name := range append(slices.Clone(agentCommands), ownerCommands...) {
		if !slices.Contains(names, name) {
			t.Errorf("%q is no command", name)
		}
	}
}
