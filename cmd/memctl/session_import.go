package main

import (
	"context"
	"os"
	"slices"

	"github.com/spf13/cobra"

	_ "modernc.org/sqlite" // the driver sqlite, in Go alone: it reads copies of hosts' databases

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/foreign"
	"github.com/mallardmem/mallard/engine/session"
)

// sqliteDriver is the name that modernc.org/sqlite gives its driver.
const sqliteDriver = "sqlite"

func newSessionImportCommand(a *app) *cobra.Command {
	var r session.ImportRequest
	cmd := &cobra.Command{
		Use:   "import [PATH…]",
		Short: "Read transcripts and databases of hosts into conversations",
		Long: `Import reads transcripts: files, or all in folders. With --host and no path it reads the folders that Claude Code, Codex or OpenClaw keeps
its own in. A line that can't be read is left out and reported with its number, and so is a file; the exit code is then 1, and also where no file was a
transcript. A last line that is only half written is left for the next time.

It also reads the SQLite databases of GoClaw and istota, which are named, not looked for in folders. One is copied to the folder for temporary files and read there:
the host's own file is neither opened as a database nor written. The file of DuckDB's sqlite extension in $MEMCTL_SQLITE reads the copy, else what
memctl has built in.`,
		Example: `  memctl session import --host claude
  memctl session import ~/.codex/sessions --scope project:harbor
  memctl session import .openboa --host openboa
  memctl session import goclaw.db istota.db
  memctl session import talk.jsonl --redact --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && r.Host == "" {
				return usage("name files or folders, or a --host")
			}
			r.Paths, r.Agent = args, a.agent
			return a.with(cmd.Context(), canWrite|canEmbed|canCreate|canExplore, func(e *engine.Engine) error {
				report, err := a.importSessions(cmd.Context(), e, r)
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
	cmd.Flags().Lookup("host").Usage = "whose they are: claude, codex, openclaw, takobot, openboa, plain, goclaw, istota (default: each file tells)"
	complete(cmd, "host", slices.Concat(session.Hosts(), foreign.Hosts()))
	return cmd
}

// importSessions reads what paths name: databases are read as such, all else as transcripts.
func (a *app) importSessions(ctx context.Context, e *engine.Engine, r session.ImportRequest) (*session.Report, error) {
	ofDatabases := slices.Contains(foreign.Hosts(), r.Host)
	var databases, others []string
	for _, path := range r.Paths {
		if ofDatabases || r.Host == "" && foreign.IsDatabase(path) {
			databases = append(databases, path)
		} else {
			others = append(others, path)
		}
	}
	report := &session.Report{Files: []session.FileReport{}}
	if !ofDatabases && (len(others) > 0 || len(databases) == 0) {
		r.Paths = others
		r.Progress = func(done, total int64) { a.progress.report("transcripts, in kB", int(done>>10), int(total>>10)) }
		var err error
		if report, err = session.Import(ctx, e, r); err != nil {
			return nil, err
		}
	}
	if len(databases) == 0 && !ofDatabases {
		return report, nil
	}
	if len(databases) == 0 {
		return nil, usage("name the database of %s", r.Host)
	}
	read, err := foreign.Import(ctx, e, foreign.Request{Paths: databases, Host: r.Host, Agent: a.agent, Scope: r.Scope, Redact: r.Redact,
		Driver: sqliteDriver, Extension: os.Getenv("MEMCTL_SQLITE"),
		Progress: func(conversations int) { a.progress.report("conversations", conversations, 0) }})
	if err != nil {
		return nil, err
	}
	for _, f := range read.Files {
		report.Add(f)
	}
	return report, nil
}
