package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/note"
)

func newNotesCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notes",
		Short: "Recall what stands in Markdown files",
		Long: `Notes are stretches of Markdown files, such as MEMORY.md, that recall --kind note and search --kind note find, with the file's path and the lines. The
files are only read.`,
		Example: `  memctl notes sync ~/agent
  memctl recall "when is the tide low" --kind note`,
	}
	cmd.AddCommand(newNotesSyncCommand(a), newNotesListCommand(a), newNotesShowCommand(a), newNotesForgetCommand(a))
	return cmd
}

func newNotesSyncCommand(a *app) *cobra.Command {
	var r note.SyncRequest
	cmd := &cobra.Command{
		Use:   "sync FOLDER [FILE…]",
		Short: "Read the Markdown files of a folder that are new or changed",
		Long: `Sync reads FILEs of a folder, and all Markdown files in FILEs that are folders; without any, MEMORY.md and the folder memory. What is the same as
before is passed over, what is gone leaves. Links are not followed, and a file of more than 4 MB, or of no valid UTF-8, is refused.`,
		Example: `  memctl notes sync ~/agent
  memctl notes sync ~/agent . --scope project:harbour`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Agent, r.Folder = a.agent, args[0]
			if len(args) > 1 {
				r.Files = args[1:]
			}
			return a.with(cmd.Context(), canWrite|canCreate|canEmbed, func(e *engine.Engine) error {
				s, err := e.SyncNotes(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answerStored(s, "notes have, in part,", s.VectorErr, func() {
					a.printf("%s: %d added, %d changed, %d unchanged, %d removed; %s written.\n", printable(s.Folder), len(s.Added), len(s.Changed), s.Unchanged,
						len(s.Removed), plural(s.Notes, "note", "notes"))
					if r.Files == nil && len(s.Added)+len(s.Changed)+s.Unchanged+len(s.Removed)+len(s.Refused) == 0 {
						a.note("There is neither MEMORY.md nor a folder memory. With . behind the folder all its Markdown files are read.")
					}
					for _, x := range s.Refused {
						a.note("Refused %s: %s.", printable(x.Path), printable(x.Why))
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&r.Scope, "scope", "", "who may see them (default by the agent, else the configured one)")
	return cmd
}

func newNotesListCommand(a *app) *cobra.Command {
	var r note.FilesRequest
	cmd := &cobra.Command{
		Use:     "list [FOLDER]",
		Short:   "List the files that have notes",
		Long:    "List prints the files that have notes, of a FOLDER or of all, as they were when sync read them last.",
		Example: "  memctl notes list",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.Agent = a.agent; len(args) == 1 {
				r.Folder = args[0]
			}
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				all, err := e.NoteFiles(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(orEmpty(all), func() {
					if len(all) == 0 {
						a.note("No file has notes.")
						return
					}
					t := a.table("path", "notes", "lines", "scope", "changed", "folder")
					for _, f := range all {
						t.AppendRow([]any{printable(f.Path), f.Notes, f.Lines, f.Scope, minute(f.ModifiedAt), printable(f.Folder)})
					}
					t.Render()
				})
			})
		},
	}
	return cmd
}

func newNotesShowCommand(a *app) *cobra.Command {
	var r note.ReadRequest
	cmd := &cobra.Command{
		Use:   "show PATH",
		Short: "Print lines of a file that has notes",
		Long:  `Show prints a file that has notes as it was when sync read it last, all of it or --from-line to --to-line. Other files it doesn't read.`,
		Example: `  memctl notes show memory/2026-05-01.md
  memctl notes show MEMORY.md --from-line 10 --to-line 20`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notZero(cmd, "from-line", "to-line"); err != nil {
				return err
			}
			r.Agent, r.Path = a.agent, args[0]
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				p, err := e.ReadNote(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(p, func() { a.printf("%s\n", printable(p.Text)) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Folder, "folder", "", "the folder of the file, where several have the path")
	f.IntVar(&r.FirstLine, "from-line", 0, "first line, from 1")
	f.IntVar(&r.LastLine, "to-line", 0, "last line")
	return cmd
}

func newNotesForgetCommand(a *app) *cobra.Command {
	var r note.ForgetRequest
	cmd := &cobra.Command{
		Use:   "forget [PATH]",
		Short: "Remove the notes of a file, or of a folder",
		Long: `Forget removes the notes of the file PATH, or with --folder alone of all files of a folder, for good. The files stay, and a sync that finds them gives them
notes again.`,
		Example: `  memctl notes forget memory/2026-05-01.md
  memctl notes forget --folder ~/agent`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.Agent = a.agent; len(args) == 1 {
				r.Path = args[0]
			}
			return a.with(cmd.Context(), canWrite, func(e *engine.Engine) error {
				n, err := e.ForgetNotes(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.answer(map[string]int{"files": n}, func() { a.printf("Removed the notes of %s.\n", plural(n, "file", "files")) })
			})
		},
	}
	cmd.Flags().StringVar(&r.Folder, "folder", "", "the folder")
	return cmd
}

// place is where in a file something stands.
func place(path string, first, last int) string {
	return fmt.Sprintf("%s:%d-%d", printable(path), first, last)
}
