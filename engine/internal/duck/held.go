package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine/internal/duckfile"
	"github.com/mallardmem/mallard/engine/internal/fault"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Acknowledged is what the witness says of the log of a file that is only read; its length is 0 where it says nothing.
func (h *Held) Acknowledged() (last duckfile.Acknowledged, err error) {
	f, err := duckfile.ReadFile(h.File)
	if err != nil {
		return last, err
	}
	last, known, err := duckfile.ReadWitness(h.Path + WitnessSuffix)
	if !known || last.ID != f.ID || last.Iteration != f.Iteration {
		last = duckfile.Acknowledged{}
	}
	return last, err
}

// Files beside the file, while it is open for writing or after a crash.
const (
	LogSuffix        = ".wal"            // DuckDB's log
	SecondLogSuffix  = ".wal.checkpoint" // what another program wrote during a checkpoint of its own
	JournalSuffix    = ".journal"        // what a checkpoint under way overwrites
	WitnessSuffix    = ".synced"         // how much of the log was acknowledged
	DamagedLogSuffix = ".wal.damaged"    // a log as a crash left it, before it was cut
	UnmadeSuffix     = ".new"            // a file that is being made
	shredSuffix      = ".shred"          // the folder in which Shred makes the file anew
)

// Held is this process's own hold on a file: what DuckDB does not do for it. Whoever has the writer's lock owns it.
type Held struct {
	Path     string
	File     *os.File          // locked. It is closed after DuckDB has closed its own: closing any gives up the process's lock
	witness  *duckfile.Witness // nil: the file is only read
	Log      duckfile.Acknowledged
	untold   bool          // the log may have a transaction behind that which failed, and could not be taken out yet
	commits  int           // in the log
	reserved int64         // bytes that the disk keeps for the log
	pause    time.Duration // before the keeper tries again, after the last checkpoint failed; else 0
	rest     time.Time     // its end
	notices  []string      // what a crash had left, and what became of it
	setAside string        // the log that was cut, as it was
}

// Hold locks the file at path for this process. Errors: ErrLocked.
func Hold(path string, readOnly bool) (*Held, error) {
	mode := os.O_RDWR
	if readOnly {
		mode = os.O_RDONLY
	}
	for {
		file, err := os.OpenFile(path, mode, 0)
		if err != nil {
			return nil, err
		}
		h := &Held{Path: path, File: file}
		if err := h.lock(readOnly); err != nil {
			file.Close()
			return nil, err
		}
		if h.named() {
			return h, nil
		}
		file.Close() // another process has shredded it in between
	}
}

// named reports whether the file that is locked is the one that has the name.
func (h *Held) named() bool {
	info, err := h.File.Stat()
	now, gone := os.Stat(h.Path)
	return err == nil && gone == nil && os.SameFile(info, now)
}

// lock is taken before anything beside the file is touched, and again after DuckDB has closed the file.
func (h *Held) lock(readOnly bool) error {
	if err := lockFile(h.File, readOnly); err != nil {
		return fmt.Errorf("%w: %s is open in %s; stop it, or read a copy made with `memctl snapshot` there (%w)", fault.ErrLocked, h.Path, holder(h.File, readOnly), err)
	}
	return nil
}

// mend brings file and log into a state that DuckDB opens, if a crash has left another: a checkpoint that was broken off is undone, and
// what was never acknowledged is cut from the log. Nobody has the file open. Errors: ErrCorrupt where more than that is damaged.
func (h *Held) mend(now time.Time) error {
	if err := h.untell(); err != nil {
		return err
	}
	restored, err := duckfile.Restore(h.Path+JournalSuffix, h.File)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if restored == duckfile.BeforeSwitch {
		h.notice("A checkpoint was broken off; the file was brought back to the state before it, and its log has the rest.")
	}
	f, err := h.look()
	if err != nil {
		return err
	}
	if h.witness != nil {
		h.witness.Close()
	}
	witness, last, known, err := duckfile.OpenWitness(h.Path + WitnessSuffix)
	if err != nil {
		return err
	}
	h.witness = witness
	h.Log, h.commits, h.reserved = duckfile.Acknowledged{ID: f.ID, Iteration: f.Iteration}, 0, 0
	if h.Log.Length, err = h.mendLog(f, last, known && last.ID == f.ID && last.Iteration == f.Iteration, now); err != nil {
		return err
	}
	if last != h.Log || !known {
		err = errors.Join(h.witness.Note(h.Log), h.witness.Sync())
	}
	return errors.Join(err, Remove(h.Path+JournalSuffix))
}

// untell takes out of the log what failed, as long as this process knows that it did.
func (h *Held) untell() error {
	if !h.untold {
		return nil
	}
	length, err := h.logLength()
	if err == nil && length > h.Log.Length {
		err = h.shortenLog(h.Log.Length)
	}
	h.untold = err != nil
	return err
}

// look reads what the headers say, and refuses a file that is not what they say: DuckDB may end the process over one that is too short, and while it replays
// a log into blocks that are damaged.
func (h *Held) look() (*duckfile.File, error) {
	info, err := h.File.Stat()
	if err != nil {
		return nil, err
	}
	f, err := duckfile.ReadFile(h.File)
	if err == nil && f.Torn {
		err = ErrTornHeader
	}
	if err == nil {
		err = f.CheckLength(info.Size())
	}
	if log, gone := h.logLength(); err == nil && gone == nil && log > 0 && info.Size() <= quicklyRead {
		var damaged []int64
		if damaged, err = f.Verify(nil); err == nil && len(damaged) > 0 {
			err = fmt.Errorf("the checksum of block %d is wrong", damaged[0])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w; %s", fault.ErrCorrupt, h.Path, err, RecoverHint)
	}
	return f, nil
}

// ErrTornHeader: a crash or a disk has left a header that is none.
var ErrTornHeader = errors.New("one of its headers is not as it was written")

// quicklyRead is how long a file may be for all of its blocks to be looked at before a log is replayed: some 120 ms.
const quicklyRead = 256 << 20

// RecoverHint ends what is said of a file that can't be opened.
const RecoverHint = "`memctl recover FILE OUT` saves what can be read"

// mendLog cuts from the log what a crash has left of a transaction that nobody was told of, and gives the length of the rest. What was
// acknowledged, as far as known says that it is known, must be whole.
func (h *Held) mendLog(f *duckfile.File, last duckfile.Acknowledged, known bool, now time.Time) (int64, error) {
	if _, err := os.Stat(h.Path + SecondLogSuffix); err == nil {
		return h.logLength() // another program's: DuckDB joins the two
	}
	acknowledged := int64(0)
	if known {
		acknowledged = last.Length
	}
	l, err := ScanLog(h.Path + LogSuffix)
	if l != nil {
		h.commits = l.Commits
	}
	damaged := func(format string, args ...any) (int64, error) {
		return 0, fmt.Errorf("%w: %s: %s; %s", fault.ErrCorrupt, h.Path+LogSuffix, fmt.Sprintf(format, args...), RecoverHint)
	}
	switch {
	case err != nil:
		return 0, err
	case l == nil && acknowledged > 0:
		return damaged("the log is gone, and had %d bytes of acknowledged writes", acknowledged)
	case l == nil:
		return 0, nil
	case l.Named && l.ID != f.ID:
		return damaged("the log is of another file")
	case l.Named && l.Iteration+1 == f.Iteration: // a checkpoint took all of it into the file, and could not remove it any more
		if err := f.SyncHeader(h.File); err != nil {
			return 0, err
		}
		return 0, errors.Join(Remove(h.Path+LogSuffix), duckfile.SyncFolder(filepath.Dir(h.Path)))
	case l.Named && l.Iteration != f.Iteration:
		return damaged("the log was written for state %d of the file, which is in state %d", l.Iteration, f.Iteration)
	case l.End < acknowledged:
		return damaged("the log is whole up to byte %d of %d, and %d were acknowledged", l.End, l.Size, acknowledged)
	case l.Whole() && l.Size > acknowledged: // from now on it is
		return l.Size, h.syncLog()
	case l.Whole():
		return l.Size, nil
	case l.Followed:
		return damaged("the log is damaged at byte %d, and acknowledged writes lie behind it", l.Damaged)
	case !known && !l.Cut && !l.Blank && l.Damaged < l.Size:
		return damaged("the log is damaged at byte %d, and how much of it was acknowledged is not known", l.Damaged)
	}
	return l.End, h.cut(l, l.End, now)
}

// cut shortens the log to its first n bytes. One that has more than the beginning of a transaction behind them is kept under another name.
func (h *Held) cut(l *duckfile.Log, n int64, now time.Time) error {
	name := h.Path + LogSuffix
	kept := ""
	if !l.Cut && l.Damaged < l.Size {
		var err error
		if h.setAside, err = keepLog(name, h.Path+DamagedLogSuffix+now.UTC().Format("-20060102T150405")); err != nil {
			return err
		}
		kept = " The log as it was is kept as " + h.setAside + "."
	}
	h.notice("The log ended in %d bytes of a write that was never acknowledged; they were cut off.%s", l.Size-n, kept)
	if err := h.shortenLog(n); err != nil || n > 0 {
		return err
	}
	return Remove(name)
}

// syncLog waits until the log is on disk: a process that was killed may not have.
func (h *Held) syncLog() error {
	log, err := os.OpenFile(h.Path+LogSuffix, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(log.Sync(), log.Close(), duckfile.SyncFolder(filepath.Dir(h.Path)))
}

// shortenLog leaves the first n bytes of the log, and returns when that is on disk.
func (h *Held) shortenLog(n int64) error {
	log, err := os.OpenFile(h.Path+LogSuffix, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(log.Truncate(n), log.Sync(), log.Close())
}

// keepLog copies the log to a new file of that name, or of one like it.
func keepLog(name, as string) (string, error) {
	in, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	for n := 1; ; n++ {
		to := as
		if n > 1 {
			to = fmt.Sprintf("%s-%d", as, n)
		}
		out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) && n < 1000 {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = io.Copy(out, in)
		return to, errors.Join(err, out.Sync(), out.Close(), duckfile.SyncFolder(filepath.Dir(to)))
	}
}

// ScanLog reads how far a log is whole; nil: there is none.
func ScanLog(name string) (*duckfile.Log, error) {
	log, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil || info.Size() == 0 {
		return nil, err
	}
	return duckfile.ScanLog(log, info.Size())
}

// logLength is how long the log is now.
func (h *Held) logLength() (int64, error) {
	info, err := os.Stat(h.Path + LogSuffix)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// LogAhead is room for the log beyond its end. A transaction that is longer fails while it is written, which DuckDB outlives.
const LogAhead = 4 << 20

// committing makes sure of the room for what COMMIT writes. DuckDB ends the process when the last bytes of certain transactions find none: those that
// delete a row and insert another of the same key.
func (h *Held) committing() error {
	if h.Log.Length+LogAhead <= h.reserved {
		return nil
	}
	size := h.Log.Length + 2*LogAhead
	if err := reserveSpace(h.Path+LogSuffix, size); err != nil {
		return fmt.Errorf("room for the log: %w", err)
	}
	h.reserved = size
	return nil
}

// committed notes that the log as it is now is acknowledged. The name of a new log is made to last first.
func (h *Held) committed() error {
	length, err := h.logLength()
	if err == nil && h.Log.Length == 0 && length > 0 {
		err = duckfile.SyncFolder(filepath.Dir(h.Path))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCommit, err)
	}
	if length != h.Log.Length {
		h.Log.Length = length
		h.commits++
		h.witness.Note(h.Log) // where that fails, what was noted before is still true
	}
	return nil
}

// checkpointed notes that the log is in the file.
func (h *Held) checkpointed() error {
	f, err := duckfile.ReadFile(h.File)
	if err != nil {
		return err
	}
	length, err := h.logLength()
	if err != nil {
		return err
	}
	h.Log, h.commits, h.reserved, h.pause = duckfile.Acknowledged{ID: f.ID, Iteration: f.Iteration, Length: length}, 0, 0, 0
	return errors.Join(h.witness.Note(h.Log), h.witness.Sync(), Remove(h.Path+JournalSuffix))
}

// replay is about how long it takes to open the file after a crash, beside what it takes without: on two cores 2 ms for each transaction in the log and
// 20 for each megabyte.
func (h *Held) replay() time.Duration {
	return time.Duration(h.commits)*2*time.Millisecond + time.Duration(h.Log.Length)*20*time.Nanosecond
}

// release gives the file up; DuckDB has closed it. Nothing stays beside a file whose log is in it.
func (h *Held) release() error {
	var errs []error
	if h.witness != nil {
		length, err := h.logLength()
		if errs = append(errs, err, h.witness.Close()); err == nil && length == 0 && h.Log.Length == 0 {
			errs = append(errs, Remove(h.Path+WitnessSuffix))
		}
	}
	return errors.Join(append(errs, h.File.Close())...)
}

func (h *Held) notice(format string, args ...any) {
	h.notices = append(h.notices, fmt.Sprintf(format, args...))
}

// Remove removes a file that may be gone already.
func Remove(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// MakeFile makes an empty file of DuckDB: under another name until it is whole, so that nobody finds half of one. One that another process makes at
// the same time will do.
func MakeFile(ctx context.Context, path string) error {
	connector, err := duckdb.NewConnector(":memory:?threads=1", nil)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	unmade := UnmadeName(path)
	_, err = db.ExecContext(ctx, strings.NewReplacer("{path}", strings.ReplaceAll(unmade, "'", "''"), "{version}", storageVersion).Replace(sqlfiles.Query("make")))
	if err = errors.Join(err, db.Close()); err == nil {
		err = Place(unmade, path)
	}
	if err != nil {
		os.Remove(unmade)
	}
	if errors.Is(err, fault.ErrExists) {
		return nil
	}
	return err
}

// unchanged is an error where the file is in another state than it was when it was copied.
func (h *Held) unchanged(state *duckfile.File) error {
	now, err := duckfile.ReadFile(h.File)
	if err != nil {
		return err
	}
	length, err := h.logLength()
	if err == nil && (now.ID != state.ID || now.Iteration != state.Iteration || length > 0) {
		err = fmt.Errorf("%w: the file was written to meanwhile", fault.ErrConflict)
	}
	return err
}

// become gives the file of next, which is locked, the name, and lets go of the one that had it.
func (h *Held) become(next *Held, name string) error {
	if err := os.Rename(next.Path, name); err != nil {
		return err
	}
	old := h.File
	h.File = next.File
	return errors.Join(old.Close(), duckfile.SyncFolder(filepath.Dir(name)))
}
