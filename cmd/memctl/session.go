package main

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mallardmem/mallard/engine/session"
)

func newSessionCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Read the transcripts of agent hosts, and follow them",
		Long: `Session brings in what agent hosts write down: Claude Code, Codex, OpenClaw, Takobot, openboa, and plain JSON Lines of role, content and time, and
the databases of GoClaw and istota. Each session becomes a conversation that keeps every line; what the host summarised is shown as its summary, and what was edited
away stays findable. A transcript can be read as often as one likes: nothing is stored twice.`,
		Example: `  memctl session import --host claude
  memctl session watch ~/.codex/sessions
  memctl session list`,
	}
	cmd.AddCommand(newSessionImportCommand(a), newSessionWatchCommand(a), newSessionListCommand(a), newSessionRetryCommand(a), newSessionFlushCommand(a))
	return cmd
}

// nothingRead reports whether none of the files is a transcript, or there are no files.
func nothingRead(r *session.Report) bool {
	return !slices.ContainsFunc(r.Files, func(f session.FileReport) bool { return f.Ignored == "" && f.Error == "" })
}

// sessionFlags are those of commands that read transcripts.
func sessionFlags(f *pflag.FlagSet, host *session.Host, scope *string, redact *bool) {
	f.StringVar((*string)(host), "host", "", "whose transcripts they are: claude, codex, openclaw, takobot, openboa, plain (default: each file tells)")
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
	if f.Marked > 0 {
		said = append(said, plural(f.Marked, "message", "messages")+" withheld or shown")
	}
	if f.Redacted > 0 {
		said = append(said, plural(f.Redacted, "message", "messages")+" taken back")
	}
	if f.Memories > 0 {
		said = append(said, plural(f.Memories, "memory", "memories"))
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
	for _, why := range slices.Sorted(maps.Keys(f.LeftOut)) {
		a.note("%s: left out: %s: %d", printable(f.Path), printable(why), f.LeftOut[why])
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
