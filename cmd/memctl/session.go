package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/session"
)

func newSessionCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Read the transcripts of agent hosts, and follow them",
		Long: `Session brings in what agent hosts write down: Claude Code, Codex, OpenClaw, and plain JSON Lines of role, content and time. Each
session becomes a conversation that keeps every line; what the host summarised is shown as its summary, and what was edited
away stays findable. A transcript can be read as often as one likes: nothing is stored twice.`,
		Example: `  memctl session import --host claude
  memctl session watch ~/.codex/sessions
  memctl session list`,
	}
	cmd.AddCommand(newSessionImportCommand(a), newSessionWatchCommand(a), newSessionListCommand(a), newSessionRetryCommand(a), newSessionFlushCommand(a))
	return cmd
}

func newSessionImportCommand(a *app) *cobra.Command {
	var r session.ImportRequest
	cmd := &cobra.Command{
		Use:   "import [PATH…]",
		Short: "Read transcripts into conversations",
		Long: `Import reads transcripts: files, or all in folders. With --host and no path it reads the folders that the host keeps its own in.
A line that can't be read is left out and reported with its number, and so is a file; the exit code is then 1, and also where no file was a
transcript. A last line that is only half written is left for the next time.`,
		Example: `  memctl session import --host claude
  memctl session import ~/.codex/sessions --scope project:harbor
  memctl session import talk.jsonl --redact --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && r.Host == "" {
				return usage("name files or folders, or a --host")
			}
			r.Paths, r.Agent = args, a.agent
			return a.with(cmd.Context(), canWrite|canEmbed|canCreate|canExplore, func(e *engine.Engine) error {
				r.Progress = func(done, total int64) { a.progress.report("transcripts, in kB", int(done>>10), int(total>>10)) }
				report, err := session.Import(cmd.Context(), e, r)
				if err != nil {
					return err
				}
				if err := a.answer(report, func() { a.printSessions(report) }); err != nil {
					return err
				}
				if report.Failed+report.Skipped > 0 || nothingRead(report) {
					return errReported
				}
				return nil
			})
		},
	}
	sessionFlags(cmd.Flags(), &r.Host, &r.Scope, &r.Redact)
	complete(cmd, "host", session.Hosts())
	return cmd
}

// nothingRead reports whether none of the files is a transcript, or there are no files.
func nothingRead(r *session.Report) bool {
	return !slices.ContainsFunc(r.Files, func(f session.FileReport) bool { return f.Ignored == "" && f.Error == "" })
}

// sessionFlags are those of commands that read transcripts.
func sessionFlags(f *pflag.FlagSet, host *session.Host, scope *string, redact *bool) {
	f.StringVar((*string)(host), "host", "", "whose transcripts they are: claude, codex, openclaw, plain (default: each file tells)")
	f.StringVar(scope, "scope", "", "who shares the conversations (default project:<the session's working directory>, or global where it names none)")
	f.BoolVar(redact, "redact", false, "mask keys, tokens and passwords before anything is stored")
}

func (a *app) printSessions(r *session.Report) {
	for _, f := range r.Files {
		a.printSessionFile(f)
	}
	passed, ingested := 0, time.Time{}
	for _, f := range r.Files {
		if f.Ignored != "" {
			passed++
		}
		if f.IngestedAt.After(ingested) {
			ingested = f.IngestedAt
		}
	}
	switch {
	case len(r.Files) == 0:
		a.note("There are no transcripts there: no files of the name *.jsonl or *.jsonl.zst.")
	case nothingRead(r):
		for _, f := range r.Files {
			if f.Ignored != "" {
				a.printf("%s: passed over: %s\n", printable(f.Path), printable(f.Ignored))
			}
		}
	case passed > 0:
		a.note("%s passed over, which tell of no session; --json says why.", plural(passed, "file was", "files were"))
	}
	if !ingested.IsZero() {
		a.note("The newest of what they hold was ingested at %s.", minute(ingested))
	}
	a.printf("%s: %s added (%s), %d known already, %s skipped.\n", plural(len(r.Files), "file", "files"), plural(r.Messages, "message", "messages"),
		plural(r.Events, "event", "events"), r.Known, plural(r.Skipped, "line", "lines"))
}

// printSessionFile says what a transcript brought, if it did.
func (a *app) printSessionFile(f session.FileReport) {
	var said []string
	if f.Messages > 0 {
		said = append(said, plural(f.Messages, "message", "messages"))
	}
	if f.Parts > 0 {
		said = append(said, plural(f.Parts, "part", "parts")+" of earlier ones")
	}
	if f.Summaries > 0 {
		said = append(said, plural(f.Summaries, "summary", "summaries"))
	}
	if f.Checkpoints > 0 {
		said = append(said, plural(f.Checkpoints, "checkpoint", "checkpoints"))
	}
	if f.Moved > 0 {
		said = append(said, plural(f.Moved, "message", "messages")+" moved off the branch or back")
	}
	if f.Excluded != "" {
		said = append(said, f.Excluded)
	}
	if f.Pending > 0 {
		said = append(said, "the last line is not whole yet")
	}
	if len(said) > 0 && !a.quiet {
		a.printf("%s: %s\n", printable(f.Path), strings.Join(said, ", "))
	}
	for _, s := range f.Skipped {
		a.printf("%s:%d: skipped: %s\n", printable(f.Path), s.Line, printable(s.Reason))
	}
	if f.Error != "" {
		a.printf("%s: %s\n", printable(f.Path), printable(f.Error))
	}
	if f.VectorErr != "" {
		a.note("The model failed, so some have no vector until `memctl index rebuild`: %s", printable(f.VectorErr))
	}
}
