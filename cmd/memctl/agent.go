package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// agentCommands are those that act for --agent, with all below them but what ownerCommands has. Every other one acts on the whole file, or on none,
// and refuses an agent: a command that is new does so until it is named here.
var (
	agentCommands = []string{"remember", "extract", "drafts", "lineage", "retract", "admission", "recall", "get", "list", "history", "update", "forget", "supersede", "relate", "unrelate", "related", "notes", "search", "gaps", "append", "conversation", "session import", "session watch", "session flush", "checkpoint",
		"import", "export"}
	ownerCommands = []string{"conversation backup"}
)

// checkAgent refuses an agent where it would be left out of account, and an empty one, as a variable of the shell that is not set gives it: without
// an agent a call is the owner's.
func (a *app) checkAgent(cmd *cobra.Command) error {
	switch name := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "); {
	case !cmd.Flag("agent").Changed:
		return nil
	case strings.TrimSpace(a.agent) == "":
		return usage("agent is %q; allowed: the id of an agent, or no --agent", a.agent)
	case !among(agentCommands, name) || among(ownerCommands, name):
		return a.wholeFile(cmd.CommandPath())
	}
	return nil
}

// wholeFile refuses an agent for what acts on the whole file.
func (a *app) wholeFile(what string) error {
	if a.agent == "" {
		return nil
	}
	return usage("agent is %q; %s acts on the whole file: allowed without --agent", a.agent, what)
}

// among reports whether a command, or one that it is below, is in a list.
func among(commands []string, name string) bool {
	for _, c := range commands {
		if name == c || strings.HasPrefix(name, c+" ") {
			return true
		}
	}
	return false
}
