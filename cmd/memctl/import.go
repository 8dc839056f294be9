package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/memory"
)

func newImportCommand(a *app) *cobra.Command {
	var r interchange.ImportRequest
	var messages bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Read memories or messages from JSON Lines or a JSON array",
		Long: `Import reads one JSON object per line, or one JSON array of them, from a file, or from standard input for "-": memories with the
keys that export writes (only text is required), or messages with conversation, text, and as they are known speaker, role,
time, session, caption and key. It also reads what mem0 exports, and messages of LangChain.

What is there already stays as it is, so an import can be repeated: a memory is known by its id or key, and without either by
its text, scope, category and time. A memory's field with a value that it can't have, such as a category that is none, takes its
default, and that is counted; with --strict the line is refused, and the field, its value and what is allowed are named. A
line with a fault is left out and reported, and the exit code is 1.`,
		Example: `  memctl import memories.jsonl --scope user:ines
  memctl import mem0.json --strict --dry-run
  memctl import talk.jsonl --messages --dry-run
  memctl import langchain.json --messages --conversation standup
  memctl export --db old.db | memctl import -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case messages && r.Trust != "":
				return usage("trust is for memories")
			case messages && r.Strict:
				return usage("strict is for memories; of messages no field takes a default")
			case !messages && cmd.Flags().Changed("conversation"):
				return usage("conversation is for messages; add --messages")
			case cmd.Flags().Changed("conversation") && strings.TrimSpace(r.Conversation) == "":
				return usage("conversation is %q; allowed: a name", r.Conversation)
			}
			in, err := a.input(args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			r.Agent = a.agent
			if args[0] != "-" {
				r.Name = filepath.Base(args[0])
			}
			how := canWrite | canEmbed | canCreate | canExplore
			if r.DryRun {
				how = 0
			}
			return a.with(cmd.Context(), how, func(e *engine.Engine) error {
				do, what := e.Import, [2]string{"memory", "memories"}
				if messages {
					do, what = e.ImportMessages, [2]string{"message", "messages"}
				}
				result, err := do(cmd.Context(), in, r)
				if err != nil {
					return err
				}
				if err := a.answer(result, func() { a.printImported(result, what, r.DryRun) }); err != nil {
					return err
				}
				if len(result.Faults) > 0 {
					return errReported
				}
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&messages, "messages", false, "the lines are messages")
	f.BoolVar(&r.DryRun, "dry-run", false, "only look for faults")
	f.BoolVar(&r.Strict, "strict", false, "refuse a memory with a value that its field can't have")
	f.StringVar(&r.Conversation, "conversation", "", "the conversation of messages whose lines name none")
	f.StringVar(&r.Trust, "trust", "", "how far to trust all memories, whatever the lines say: stated, extracted, imported or untrusted")
	complete(cmd, "trust", memory.Trusts())
	f.StringVar(&r.Scope, "scope", "", "the scope for all of them, whatever the lines say")
	return cmd
}

func (a *app) printImported(r *interchange.Imported, what [2]string, dryRun bool) {
	for _, fault := range r.Faults {
		a.printf("line %d: %s\n", fault.Line, printable(fault.Err))
	}
	for _, fault := range r.WithoutVector {
		a.note("Line %d has no vector: %s", fault.Line, printable(fault.Err))
	}
	if r.VectorErr != "" {
		a.note("The model failed, so some have no vector until `memctl index rebuild`: %s", r.VectorErr)
	}
	a.printDefaulted(r.Defaulted)
	if dryRun {
		a.printf("%s read, %s. Nothing was stored.\n", plural(r.Lines, "line", "lines"), plural(len(r.Faults), "fault", "faults"))
		return
	}
	if r.Excluded > 0 {
		a.printf("%s left out, of sessions that the configuration excludes.\n", plural(r.Excluded, what[0], what[1]))
	}
	a.printf("%s stored, %d known already, %s.\n", plural(r.Created, what[0], what[1]), r.Known, plural(len(r.Faults), "fault", "faults"))
}

// printDefaulted says of which fields values were not taken over.
func (a *app) printDefaulted(defaulted map[string]int) {
	if len(defaulted) == 0 {
		return
	}
	all, fields := 0, []string{}
	for _, field := range slices.Sorted(maps.Keys(defaulted)) {
		all += defaulted[field]
		fields = append(fields, fmt.Sprintf("%s %d", field, defaulted[field]))
	}
	a.printf("%s gave way to the default: %s. --strict refuses and names them.\n", plural(all, "value", "values"), strings.Join(fields, ", "))
}
