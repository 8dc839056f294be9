package foreign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/session"
)

// The hosts whose databases are read. The name is also the model of the summaries that came from one.
const (
	GoClaw session.Host = "goclaw"
	Istota session.Host = "istota"
)

// Hosts lists them.
func Hosts() []session.Host { return []session.Host{GoClaw, Istota} }

// host says how the database of one is told, and read.
type host struct {
	name session.Host
	is   func(context.Context, *database) bool
	// talks gives the conversations of a database, one after the other.
	talks func(ctx context.Context, d *database, report *session.FileReport, do func(*talk) error) error
}

var hosts = []host{{GoClaw, isGoClaw, goClawTalks}, {Istota, isIstota, istotaTalks}}

// Request names the databases to bring in.
type Request struct {
	Paths []string     // files
	Host  session.Host // whose they are; empty: their tables tell
	Agent string       // empty: an internal caller
	Scope string       // of the conversations; default that of every write, or without an agent the own scope of the one that a session's key names
	// Redact masks keys, tokens and passwords before anything is stored.
	Redact bool
	// Driver is the name of a database/sql driver for SQLite that the program links; it opens a copy of the file by its path. Not needed with Extension.
	Driver string
	// Extension is the file of DuckDB's sqlite extension, of the version of the engine's DuckDB. It is preferred to the driver. Optional.
	Extension string
	// Progress hears how many conversations of a database were done. Optional.
	Progress func(conversations int)
}

// Import brings databases into conversations. One may be read as often as one likes: what is stored already stays as it is, only what is new is added, and
// a database that did not change is not read. One that can't be read is reported, and the others go on. Errors: engine.ErrInvalid,
// engine.ErrClosed, engine.ErrReadOnly, engine.ErrCorrupt, and the context's; those of what one database says are in the report.
func Import(ctx context.Context, e *engine.Engine, r Request) (*session.Report, error) {
	if r.Host != "" && !slices.Contains(Hosts(), r.Host) {
		return nil, fmt.Errorf("import databases: %w: host is %q; allowed: goclaw, istota, or none", engine.ErrInvalid, string(r.Host))
	}
	if len(r.Paths) == 0 {
		return nil, fmt.Errorf("import databases: %w: paths is empty; allowed: one or more files", engine.ErrInvalid)
	}
	cursors, err := e.Cursors(ctx)
	if err != nil {
		return nil, fmt.Errorf("import databases: %w", err)
	}
	report := &session.Report{Files: []session.FileReport{}}
	for _, path := range r.Paths {
		if path, err = filepath.Abs(path); err != nil {
			return nil, fmt.Errorf("import databases: %w", err)
		}
		i := slices.IndexFunc(cursors, func(c conversation.Cursor) bool { return c.Path == path })
		known := conversation.Cursor{Path: path}
		if i >= 0 {
			known = cursors[i]
		}
		file := session.FileReport{Path: path}
		err := r.file(ctx, e, known, &file)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil, fmt.Errorf("import databases: %s: %w", path, ctx.Err())
		case errors.Is(err, engine.ErrClosed), errors.Is(err, engine.ErrReadOnly), errors.Is(err, engine.ErrCorrupt):
			return nil, fmt.Errorf("import databases: %s: %w", path, err)
		default:
			file.Error = err.Error()
		}
		report.Add(file)
	}
	if cursors, err = e.Cursors(ctx); err != nil {
		return nil, fmt.Errorf("import databases: %w", err)
	}
	for i := range report.Files {
		for _, c := range cursors {
			f := &report.Files[i]
			if strings.HasPrefix(c.Path, cursorPath(f.Path, "")) && c.IngestedAt.After(f.IngestedAt) {
				f.IngestedAt = c.IngestedAt
			}
		}
	}
	return report, nil
}

// file brings one database in. Its cursor moves when everything is stored.
func (r Request) file(ctx context.Context, e *engine.Engine, known conversation.Cursor, report *session.FileReport) error {
	if info, err := os.Stat(known.Path); err != nil {
		return err
	} else if !info.Mode().IsRegular() || !IsDatabase(known.Path) {
		return fmt.Errorf("%w: it is no database of SQLite", session.ErrNotTranscript)
	}
	now, err := stampOf(known.Path)
	if err != nil {
		return err
	}
	if known.FileID == now.all && (r.Host == "" || r.Host == session.Host(known.Host)) {
		report.Host, report.Unchanged = session.Host(known.Host), true
		return nil
	}
	d, close, err := r.open(ctx, known.Path)
	if err != nil {
		return err
	}
	err = r.take(ctx, e, d, known, now, report)
	return errors.Join(err, close())
}

// take brings an open copy in.
func (r Request) take(ctx context.Context, e *engine.Engine, d *database, known conversation.Cursor, now stamp, report *session.FileReport) error {
	i := slices.IndexFunc(hosts, func(h host) bool { return h.is(ctx, d) })
	if i < 0 {
		return fmt.Errorf("%w: its tables are not those of goclaw or istota%s", session.ErrNotTranscript, d.damage(ctx))
	}
	if r.Host != "" && hosts[i].name != r.Host {
		return fmt.Errorf("%w of %s: it is one of %s", session.ErrNotTranscript, r.Host, hosts[i].name)
	}
	report.Host, report.Read = hosts[i].name, d.read
	t, err := newTaker(ctx, e, r, known.Path, report)
	if err != nil {
		return err
	}
	err = hosts[i].talks(ctx, d, report, func(v *talk) error {
		err := t.take(ctx, v)
		if r.Progress != nil {
			r.Progress(report.Threads)
		}
		return err
	})
	if err != nil {
		return err
	}
	rows := int64(0)
	for _, n := range d.read {
		rows += int64(n)
	}
	report.Lines = rows
	return e.SetCursor(ctx, conversation.Cursor{Path: known.Path, Host: string(report.Host), FileID: now.all, Bytes: now.size, Lines: rows})
}

// damage says why a file that begins as a database is none, where that can be told.
func (d *database) damage(ctx context.Context) string {
	rows, err := d.db.QueryContext(ctx, "SELECT count(*) FROM sqlite_master")
	if err != nil {
		return ": " + err.Error()
	}
	return errText(rows.Close())
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}
