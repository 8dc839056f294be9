package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
)

// ImportRequest names the transcripts to bring in.
type ImportRequest struct {
	Paths []string // files and folders
	Host  Host     // whose they are; empty: each file tells. Without Paths it is the host whose own folders are read
	Agent string   // empty: an internal caller
	// Scope of the conversations; default project:<working directory>, or where that can't be a scope custom:<its last name>, or where the
	// file names none that of conversation.AppendRequest: the own scope of the agent that its session key names, or the engine's default. A file whose conversation is in another one already is refused.
	Scope  string
	Redact bool // keys, tokens and passwords are masked before anything is stored
	// Progress hears of the bytes that were done, of all. Optional.
	Progress func(done, total int64)
}

// Import reads transcripts into conversations. A file may be read as often as one likes: what is stored already stays as it is, and
// only what is new is added. A file that can't be read is reported and the others go on. Errors: engine.ErrInvalid, fs.ErrNotExist,
// those of the engine's writing, and the context's.
func Import(ctx context.Context, e *engine.Engine, r ImportRequest) (*Report, error) {
	if err := checkHost(r.Host); err != nil {
		return nil, fmt.Errorf("import sessions: %w", err)
	}
	if len(r.Paths) == 0 {
		if r.Host == "" {
			return nil, fmt.Errorf("import sessions: %w: paths and host are empty; allowed: either", engine.ErrInvalid)
		}
		var err error
		if r.Paths, err = Find(r.Host); err != nil {
			return nil, fmt.Errorf("import sessions: %w", err)
		}
	}
	files, err := filesOf(r.Paths)
	if err != nil {
		return nil, fmt.Errorf("import sessions: %w", err)
	}
	im, err := newImporter(ctx, e, r)
	if err != nil {
		return nil, fmt.Errorf("import sessions: %w", err)
	}
	var total, done int64
	for _, f := range files {
		total += f.size
	}
	report := &Report{Files: []FileReport{}}
	for _, f := range files {
		im.progress = func(bytes int64) {
			if r.Progress != nil {
				r.Progress(min(done+bytes, total), total)
			}
		}
		file, err := im.file(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("import sessions: %s: %w", f.path, err)
		}
		report.Add(file)
		done += f.size
		im.progress(0)
	}
	return report, im.health(ctx, report)
}

// importer brings transcripts into an engine, one after the other.
type importer struct {
	e        *engine.Engine
	r        ImportRequest
	cursors  map[string]conversation.Cursor
	stored   []conversation.Conversation
	progress func(bytes int64)
	open     *kept // when transcripts are followed; nil: each is read once
}

func newImporter(ctx context.Context, e *engine.Engine, r ImportRequest) (*importer, error) {
	im := &importer{e: e, r: r, cursors: map[string]conversation.Cursor{}, progress: func(int64) {}}
	return im, im.refresh(ctx)
}

// refresh reads what the engine has.
func (im *importer) refresh(ctx context.Context) (err error) {
	cursors, err := im.e.Cursors(ctx)
	if err != nil {
		return err
	}
	for _, c := range cursors {
		im.cursors[c.Path] = c
	}
	im.stored, err = im.e.Conversations(ctx, im.r.Agent)
	return err
}

// health fills in when files last brought something.
func (im *importer) health(ctx context.Context, report *Report) error {
	cursors, err := im.e.Cursors(ctx)
	if err != nil {
		return fmt.Errorf("import sessions: %w", err)
	}
	at := map[string]conversation.Cursor{}
	for _, c := range cursors {
		at[c.Path] = c
	}
	for i := range report.Files {
		f := &report.Files[i]
		f.IngestedAt = at[f.Path].IngestedAt
	}
	return nil
}

// file reads one transcript. What is wrong with the file is in the report; an error is one of the engine, or the context's.
func (im *importer) file(ctx context.Context, f found) (report FileReport, err error) {
	if f.err != nil {
		return im.failed(ctx, f, f.err)
	}
	in, err := os.Open(f.path)
	if err != nil {
		return im.failed(ctx, f, err)
	}
	defer func() {
		if at := im.open.get(f.path); at == nil || at.in != in {
			in.Close()
		}
	}()
	s, err := sourceOf(in)
	if err != nil {
		return im.failed(ctx, f, err)
	}
	if compressed(f.path) {
		if cursor, ok := im.cursors[f.path]; ok && cursor.FileID == s.stamp() && im.fits(Host(cursor.Host)) == nil {
			return FileReport{Path: f.path, Host: Host(cursor.Host), ConversationID: cursor.ConversationID, Unchanged: true}, nil
		}
		plain, remove, err := s.unpack(ctx)
		if err != nil {
			return im.failed(ctx, f, err)
		}
		defer remove()
		s = plain
	}
	return im.read(ctx, f, s)
}

// failed reports why a file could not be read.
func (im *importer) failed(ctx context.Context, f found, err error) (FileReport, error) {
	report := FileReport{Path: f.path}
	switch {
	case ctx.Err() != nil:
		return report, ctx.Err()
	case errors.Is(err, ErrNotTranscript) && !f.named:
		report.Ignored = err.Error()
	default:
		report.Error = err.Error()
	}
	return report, nil
}

// read brings in what is new in a source.
func (im *importer) read(ctx context.Context, f found, s source) (report FileReport, err error) {
	cursor, err := im.cursorOf(ctx, s, f.path)
	if err != nil {
		return im.failed(ctx, f, err)
	}
	if err := im.fits(Host(cursor.Host)); err != nil {
		return im.failed(ctx, f, err)
	}
	report.Path, report.Host, report.ConversationID = f.path, Host(cursor.Host), cursor.ConversationID
	if cursor.Bytes > 0 && cursor.Bytes == s.size {
		report.Unchanged = true
		return report, nil
	}
	if host, err := im.host(ctx, s, cursor); err == nil && host == Openboa && holdsLearnings(ctx, s.in, s.size) {
		return im.learnings(ctx, f, s, cursor)
	}
	t, err := im.transcript(ctx, s, f.path, &cursor)
	if err != nil {
		return im.failed(ctx, f, err)
	}
	if t == nil {
		report.Pending = s.size
		return report, nil
	}
	report.Host = t.Host
	if err := t.Read(ctx, s.size); err != nil {
		return im.failed(ctx, f, err)
	}
	if t.refused != "" {
		return im.failed(ctx, f, errors.New(t.refused))
	}
	if cursor.Bytes == 0 {
		budget, count := im.e.Bootstrap()
		if err := t.Bootstrap(budget, count); err != nil {
			return im.failed(ctx, f, err)
		}
	}
	if t.nameless {
		report.Ignored = "no line says yet which session it is"
		return report, nil
	}
	t.facts(f.path)
	cursor.Path, cursor.Host, cursor.FileID, cursor.FirstLine = f.path, string(t.Host), s.stamp(), t.FirstLine
	err = im.take(ctx, t, cursor, &report)
	if report.Excluded != "" || err != nil || compressed(f.path) || !im.open.put(f.path, t, s) {
		im.open.drop(f.path)
	}
	if refused(err) {
		failed, err := im.failed(ctx, f, err)
		report.Ignored, report.Error = failed.Ignored, failed.Error
		return report, err
	}
	return report, err
}

// host is the one that a file is of: as its cursor says, else as its lines do; empty: there is no whole line yet. A transcript of Takobot that lost its
// header has the lines of a plain one, and is taken for what the caller says that it is.
func (im *importer) host(ctx context.Context, s source, cursor conversation.Cursor) (Host, error) {
	if cursor.Host != "" {
		return Host(cursor.Host), nil
	}
	host, err := Detect(ctx, s.in, s.size)
	if host == Plain && im.r.Host == Takobot && takobotRows(ctx, s.in, s.size) {
		host = Takobot
	}
	if err != nil || host == "" {
		return "", err
	}
	return host, im.fits(host)
}

// fits refuses a host that is not the one asked for; empty: it is not known yet.
func (im *importer) fits(host Host) error {
	if host == "" || im.r.Host == "" || host == im.r.Host {
		return nil
	}
	return fmt.Errorf("%w of %s: it is one of %s", ErrNotTranscript, im.r.Host, host)
}

// rest reads what was written to a file that is followed after the last look at it, where its name has gone over to another one, or
// to none. It gives nil where that is nothing.
func (im *importer) rest(ctx context.Context, path string) (*FileReport, error) {
	at := im.open.get(path)
	if at == nil || at.in == nil {
		return nil, nil
	}
	s, err := sourceOf(at.in)
	if info, missing := os.Stat(path); err != nil || missing == nil && fileID(info) == s.id || s.size <= at.t.Bytes {
		return nil, nil
	}
	report, err := im.read(ctx, found{path: path}, s)
	return &report, err
}

// refused reports whether an error is about one file, and others may do better.
func refused(err error) bool {
	return errors.Is(err, errUnreadable) || errors.Is(err, engine.ErrInvalid) || errors.Is(err, engine.ErrBadScope) || errors.Is(err, engine.ErrScopeDenied)
}

// cursorOf gives how far a file was read; from the beginning, when it is another one than then, or was cut.
func (im *importer) cursorOf(ctx context.Context, s source, path string) (conversation.Cursor, error) {
	cursor, ok := im.cursors[path]
	if !ok {
		return conversation.Cursor{}, nil
	}
	first, err := firstLineOf(ctx, s.in, s.size)
	if err != nil {
		return cursor, err
	}
	same, written := s.sameAs(cursor.FileID)
	if !same || written && cursor.Bytes == s.size || cursor.FirstLine != first || cursor.Bytes > s.size || !lineEnd(s.in, cursor.Bytes) {
		im.open.drop(path)
		return conversation.Cursor{}, nil
	}
	return cursor, nil
}

// lineEnd reports whether a line ends at an offset, with its newline or right before it.
func lineEnd(in io.ReaderAt, offset int64) bool {
	var b [2]byte
	if n, _ := in.ReadAt(b[:], max(offset-1, 0)); offset == 0 || n == 0 {
		return offset == 0
	}
	return b[0] == '\n' || (b[0] == '}' || b[0] == ']') && (b[1] == '\n' || b[1] == '\r' || b[1] == 0)
}

// firstLineOf is the hash of a file's first line; empty: it is not whole.
func firstLineOf(ctx context.Context, in io.ReaderAt, size int64) (sum string, err error) {
	_, err = eachLine(ctx, in, 0, size, 1, func(l line) error {
		sum = hashOf(l.text)
		return io.EOF
	})
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return sum, nil
}

// transcript gives the transcript of a file as far as its cursor, which goes back to the beginning where it does not fit; nil: the file
// has no whole line yet.
func (im *importer) transcript(ctx context.Context, s source, path string, cursor *conversation.Cursor) (*Transcript, error) {
	if at := im.open.get(path); at != nil && at.t.Bytes == cursor.Bytes && cursor.Bytes > 0 {
		at.t.r = s.in
		return at.t, nil
	}
	host, err := im.host(ctx, s, *cursor)
	if err != nil || host == "" {
		return nil, err
	}
	t, err := Open(s.in, host, path)
	if err != nil {
		return nil, err
	}
	t.Redact = im.r.Redact
	if cursor.Bytes == 0 {
		return t, nil
	}
	if err := t.Read(ctx, cursor.Bytes); err != nil {
		return nil, err
	}
	if t.Bytes != cursor.Bytes || t.Lines != cursor.Lines { // the file was rewritten
		cursor.Bytes, cursor.Lines = 0, 0
		return im.transcript(ctx, s, path, cursor)
	}
	return t, nil
}
