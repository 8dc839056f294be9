package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
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
		Short: "Read memories or messages from JSON, or memories from Markdown notes",
		Long: `Import reads one JSON object per line, or one JSON array of them, from a file, or from standard input for "-": memories with the
keys that export writes (only text is required), or messages with conversation, text, and as they are known speaker, role,
time, session, caption and key. It also reads what mem0 and memory-lancedb-pro export, and messages of LangChain.

Of a file whose name ends with .md, every bullet of five characters or more is a memory; the headings above it and the date that
a heading or the file's name begins with are kept with it. Of a folder that is MEMORY.md and the daily notes, whose names begin with
their date (2026-03-14.md), there and in its folder memory.

What is there already stays as it is, so an import can be repeated: a memory is known by its id or key, and without either by
its text, scope, category and time. A memory's field with a value that it can't have, such as a category that is none, takes its
default, and that is counted; with --strict the line is refused, and the field, its value and what is allowed are named. A
line with a fault is left out and reported, and the exit code is 1.`,
		Example: `  memctl import memories.jsonl --scope user:ines
  memctl import mem0.json --strict --dry-run
  memctl import MEMORY.md --scope user:ines
  memctl import notes/ --dry-run
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
			r.Agent = a.agent
			files, folder, err := importFiles(args[0])
			switch {
			case err != nil:
				return err
			case messages && (folder || interchange.IsMarkdown(args[0])):
				return usage("messages are JSON; the bullets of Markdown are memories")
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
				var all []importedFile
				for _, file := range files {
					result, err := a.importFile(cmd.Context(), file, r, do)
					if err != nil {
						return err
					}
					all = append(all, importedFile{filepath.Base(file), result, interchange.IsMarkdown(file)})
				}
				var document any = all
				if !folder {
					document = all[0].Imported
				}
				if err := a.answer(document, func() {
					for _, f := range all {
						if folder {
							a.printf("%s\n", printable(f.File))
						}
						a.printImported(f.Imported, what, r.DryRun, f.markdown)
					}
				}); err != nil {
					return err
				}
				if slices.ContainsFunc(all, func(f importedFile) bool { return len(f.Faults) > 0 }) {
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

// importedFile is what became of a file of a folder.
type importedFile struct {
	File string `json:"file"`
	*interchange.Imported
	markdown bool
}

// importFiles are the files to read: the one that is named, or the notes in a folder.
func importFiles(name string) (files []string, folder bool, err error) {
	if about, err := os.Stat(name); name == "-" || err != nil || !about.IsDir() {
		return []string{name}, false, nil // opening it tells what is wrong
	}
	for _, in := range []string{name, filepath.Join(name, "memory")} {
		entries, err := os.ReadDir(in)
		if err != nil && (in == name || !errors.Is(err, os.ErrNotExist)) {
			return nil, true, err
		}
		for _, entry := range entries {
			switch {
			case entry.IsDir() && filepath.Ext(entry.Name()) == ".lance":
				return nil, true, usage("%s is a folder of LanceDB, which is not read; docs/import.md tells how to make a file of it", in)
			case !entry.IsDir() && interchange.IsNotes(entry.Name()):
				files = append(files, filepath.Join(in, entry.Name()))
			}
		}
	}
	if len(files) == 0 {
		return nil, true, usage("%s has no notes; allowed: a file, or a folder with MEMORY.md or daily notes such as 2026-03-14.md", name)
	}
	return files, true, nil
}

// importFile reads one file. Its name says whether it is Markdown, and is kept with what comes from it.
func (a *app) importFile(ctx context.Context, name string, r interchange.ImportRequest, do importer) (*interchange.Imported, error) {
	in, err := a.input(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if name != "-" {
		r.Name, r.Markdown = filepath.Base(name), interchange.IsMarkdown(name)
	}
	return do(ctx, in, r)
}

// importer is Engine.Import or Engine.ImportMessages.
type importer = func(context.Context, io.Reader, interchange.ImportRequest) (*interchange.Imported, error)

func (a *app) printImported(r *interchange.Imported, what [2]string, dryRun, markdown bool) {
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
		read := plural(r.Lines, "line", "lines")
		if markdown {
			read = plural(r.Lines, "bullet", "bullets")
		}
		a.printf("%s read, %s. Nothing was stored.\n", read, plural(len(r.Faults), "fault", "faults"))
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
