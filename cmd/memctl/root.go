package main

import (
	"cmp"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/text"
)

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "memctl",
		Short: "A memory for agents, in one file",
		Long: `memctl keeps what an agent should remember in one file, and finds it again in milliseconds: by words, by meaning, or both.

The file is --db, else the environment variable MEMCTL_DB, else mallard/mallard.db in your data folder. It is a DuckDB
database that any analyst's tool can read. One process at a time may have it to write. If that one shares it, as memctl session watch does, recall,
list, get, history, stats, sql, snapshot and conversation grep ask it; memctl snapshot makes a copy for other readers.

With --agent a command acts within the scopes of that agent; those that act on the whole file refuse it.

Dates are 2026-05-01 (midnight UTC) or RFC 3339. The exit code is 0, 1 when the work failed, 2 for wrong usage.`,
		Example: `  memctl demo
  memctl remember "Ines is allergic to penicillin" --scope user:ines --category profile
  memctl recall "what is Ines allergic to?"`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	version := newVersionCommand(a)
	showVersion := root.Flags().Bool("version", false, version.Short)
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if !*showVersion {
			return cmd.Help()
		}
		return version.RunE(cmd, args)
	}
	f := root.PersistentFlags()
	f.StringVar(&a.db, "db", "", "the memory file (default $MEMCTL_DB, else mallard/mallard.db in your data folder)")
	f.StringVar(&a.config, "config", os.Getenv("MEMCTL_CONFIG"), "the configuration file (default $MEMCTL_CONFIG, else mallard/config.toml in your configuration folder)")
	f.BoolVar(&a.json, "json", false, "print one JSON document, errors too")
	f.StringVar(&a.agent, "agent", "", "act for this agent, within the scopes it may use")
	f.StringVar(&a.model, "model", os.Getenv("MEMCTL_MODEL"), "embedding model: static, none, remote (the server that the configuration names), a folder or .table file, or a folder's name under $MEMCTL_MODELS; or two of them as one, such as static+NAME (default remote where one is configured, else static)")
	f.StringVar(&a.lexical, "lexical", envOr("MEMCTL_LEXICAL", string(setup.PostingsBackend)), "where words are looked up: postings, or fts (see memctl lexical)")
	f.StringVar(&a.language, "language", "", "language of the words in a file that is made, which it keeps (default english)")
	f.DurationVar(&a.wait, "wait", waitByDefault, "how long to wait for a file that another process has; 0: not")
	f.Var(&a.memory, "memory", "memory of the database, such as 768MB or 2GB (default $MEMCTL_MEMORY, else as configured, else 384MB)")
	f.BoolVar(&a.quiet, "quiet", false, "print only what was asked for, no notes and no progress")
	complete(root, "model", []string{"static", "none", "remote"})
	complete(root, "lexical", setup.LexicalBackends())
	complete(root, "language", text.Languages())

	root.AddGroup(
		&cobra.Group{ID: "memory", Title: "Memories:"},
		&cobra.Group{ID: "talk", Title: "Conversations:"},
		&cobra.Group{ID: "file", Title: "The file:"},
		&cobra.Group{ID: "ranking", Title: "Ranking and models:"})
	add(root, "memory", newRememberCommand(a), newRecallCommand(a), newGetCommand(a), newListCommand(a), newHistoryCommand(a), newUpdateCommand(a), newRelateCommand(a), newUnrelateCommand(a), newRelatedCommand(a), newNotesCommand(a),
		newForgetCommand(a), newSupersedeCommand(a), newTouchCommand(a), newMaintainCommand(a), newExtractCommand(a), newDraftsCommand(a), newLineageCommand(a), newRetractCommand(a), newTurnCommand(a),
		newAdmissionCommand(a))
	add(root, "talk", newAppendCommand(a), newSearchCommand(a), newGapsCommand(a), newConversationCommand(a), newContextCommand(a), newSessionCommand(a), newCheckpointCommand(a))
	add(root, "file", newImportCommand(a), newExportCommand(a), newStatsCommand(a), newCheckCommand(a), newDoctorCommand(a), newRecoverCommand(a),
		newIndexCommand(a), newSnapshotCommand(a), newSQLCommand(a), newScopesCommand(a), newConfigCommand(a))
	add(root, "ranking", newWeightsCommand(a), newLexicalCommand(a), newModelCommand(a), newBenchCommand(a))
	add(root, "", newDemoCommand(a), version, newRecoverReaderCommand(a))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	exemplify(root)
	root.SetFlagErrorFunc(flagError)
	settle(a, root)
	return root
}

func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.GroupID = group
		root.AddCommand(cmd)
	}
}

// exemplify gives an example to the commands that cobra makes.
func exemplify(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Example = "  memctl help recall"
		case "completion":
			cmd.Example = "  memctl completion bash > ~/.local/share/bash-completion/completions/memctl"
			for _, shell := range cmd.Commands() {
				shell.Example = "  memctl completion " + shell.Name() + " > completion-for-memctl"
			}
		}
	}
}

// settle makes a command note that it runs, and for whom and within which scopes, say what it takes, and offer scopes; and one that only has
// subcommands ask for one of them.
func settle(a *app, cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		settle(a, sub)
	}
	if cmd.Flags().Lookup("scope") != nil {
		a.completeFlag(cmd, "scope", a.scopes)
	}
	if allows := cmd.Args; allows != nil && !cmd.HasSubCommands() {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if allows(cmd, args) == nil {
				return nil
			}
			_, takes, _ := strings.Cut(cmd.Use, " ")
			return usage("%s takes %s; given: %s", cmd.CommandPath(), cmp.Or(takes, "no arguments"), cmp.Or(strings.Join(args, " "), "nothing"))
		}
	}
	switch do := cmd.RunE; {
	case do != nil:
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			a.running = true
			if err := a.checkAgent(cmd); err != nil {
				return err
			}
			a.scope = scopeFlagOf(cmd)
			return do(cmd, args)
		}
	case cmd.Run == nil:
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			var names []string
			for _, sub := range cmd.Commands() {
				names = append(names, sub.Name())
			}
			return usage("%s needs one of: %s", cmd.CommandPath(), strings.Join(names, ", "))
		}
	}
}

// waitByDefault is longer than a command that writes little has the file.
const waitByDefault = 5 * time.Second

func envOr(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
