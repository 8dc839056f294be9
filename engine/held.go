package engine

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
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Files beside the file, while it is open for writing or after a crash.
const (
	logSuffix        = ".wal"            // DuckDB's log
	secondLogSuffix  = ".wal.checkpoint" // what another program wrote during a checkpoint of its own
	journalSuffix    = ".journal"        // what a checkpoint under way overwrites
	witnessSuffix    = ".synced"         // how much of the log was acknowledged
	damagedLogSuffix = ".wal.damaged"    // a log as a crash left it, before it was cut
	unmadeSuffix     = ".new"            // a file that is being made
	shredSuffix      = ".shred"          // the folder in which Shred makes the file anew
)

// held is this process's own hold on a file: what DuckDB does not do for it. Whoever has the writer's lock owns it.
type held struct {
	path     string
	file     *os.File          // locked. It is closed after DuckDB has closed its own: closing any gives up the process's lock
	witness  *duckfile.Witness // nil: the file is only read
	log      duckfile.Acknowledged
	untold   bool          // the log may have a transaction behind that which failed, and could not be taken out yet
	commits  int           // in the log
	reserved int64         // bytes that the disk keeps for the log
	pause    time.Duration // before the keeper tries again, after the last checkpoint failed; else 0
	rest     time.Time     // its end
	notices  []string      // what a crash had left, and what became of it
	setAside string        // the log that was cut, as it was
}

// hold locks the file at path for this process. Errors: ErrLocked.
func hold(path string, readOnly bool) (*held, error) {
	mode := os.O_RDWR
	if readOnly {
		mode = os.O_RDONLY
	}
	for {
		file, err := os.OpenFile(path, mode, 0)
		if err != nil {
			return nil, err
		}
		h := &held{path: path, file: file}
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
func (h *held) named() bool {
	info, err := h.file.Stat()
	now, gone := os.Stat(h.path)
	return err == nil && gone == nil && os.SameFile(info, now)
}

// lock is taken before anything beside the file is touched, and again after DuckDB has closed the file.
func (h *held) lock(readOnly bool) error {
	if err := lockFile(h.file, readOnly); err != nil {
		return fmt.Errorf("%w: %s is open in %s; stop it, or read a copy made with `memctl snapshot` there (%w)", ErrLocked, h.path, holder(h.file, readOnly), err)
	}
	return nil
}

// mend brings file and log into a state that DuckDB opens, if a crash has left another: a checkpoint that was broken off is undone, and
// what was never acknowledged is cut from the log. Nobody has the file open. Errors: ErrCorrupt where more than that is damaged.
func (h *held) mend(now time.Time) error {
	if err := h.untell(); err != nil {
		return err
	}
	restored, err := duckfile.Restore(h.path+journalSuffix, h.file)
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
	witness, last, known, err := duckfile.OpenWitness(h.path + witnessSuffix)
	if err != nil {
		return err
	}
	h.witness = witness
	h.log, h.commits, h.reserved = duckfile.Acknowledged{ID: f.ID, Iteration: f.Iteration}, 0, 0
	if h.log.Length, err = h.mendLog(f, last, known && last.ID == f.ID && last.Iteration == f.Iteration, now); err != nil {
		return err
	}
	if last != h.log || !known {
		err = errors.Join(h.witness.Note(h.log), h.witness.Sync())
	}
	return errors.Join(err, remove(h.path+journalSuffix))
}

// untell takes out of the log what failed, as long as this process knows that it did.
func (h *held) untell() error {
	if !h.untold {
		return nil
	}
	length, err := h.logLength()
	if err == nil && length > h.log.Length {
		err = h.shortenLog(h.log.Length)
	}
	h.untold = err != nil
	return err
}

// look reads what the headers say, and refuses a file that is not what they say: DuckDB may end the process over one that is too short, and while it replays
// a log into blocks that are damaged.
func (h *held) look() (*duckfile.File, error) {
	info, err := h.file.Stat()
	if err != nil {
		return nil, err
	}
	f, err := duckfile.ReadFile(h.file)
	if err == nil && f.Torn {
		err = errTornHeader
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
		return nil, fmt.Errorf("%w: %s: %w; %s", ErrCorrupt, h.path, err, recoverHint)
	}
	return f, nil
}

var errTornHeader = errors.New("one of its headers is not as it was written")

// quicklyRead is how long a file may be for all of its blocks to be looked at before a log is replayed: some 120 ms.
const quicklyRead = 256 << 20

// recoverHint ends what is said of a file that can't be opened.
const recoverHint = "`memctl recover FILE OUT` saves what can be read"

// mendLog cuts from the log what a crash has left of a transaction that nobody was told of, and gives the length of the rest. What was
// acknowledged, as far as known says that it is known, must be whole.
func (h *held) mendLog(f *duckfile.File, last duckfile.Acknowledged, known bool, now time.Time) (int64, error) {
	if _, err := os.Stat(h.path + secondLogSuffix); err == nil {
		return h.logLength() // another program's: DuckDB joins the two
	}
	acknowledged := int64(0)
	if known {
		acknowledged = last.Length
	}
	l, err := scanLog(h.path + logSuffix)
	if l != nil {
		h.commits = l.Commits
	}
	damaged := func(format string, args ...any) (int64, error) {
		return 0, fmt.Errorf("%w: %s: %s; %s", ErrCorrupt, h.path+logSuffix, fmt.Sprintf(format, args...), recoverHint)
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
		if err := f.SyncHeader(h.file); err != nil {
			return 0, err
		}
		return 0, errors.Join(remove(h.path+logSuffix), duckfile.SyncFolder(filepath.Dir(h.path)))
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
func (h *held) cut(l *duckfile.Log, n int64, now time.Time) error {
	name := h.path + logSuffix
	kept := ""
	if !l.Cut && l.Damaged < l.Size {
		var err error
		if h.setAside, err = keepLog(name, h.path+damagedLogSuffix+now.UTC().Format("-20060102T150405")); err != nil {
			return err
		}
		kept = " The log as it was is kept as " + h.setAside + "."
	}
	h.notice("The log ended in %d bytes of a write that was never acknowledged; they were cut off.%s", l.Size-n, kept)
	if err := h.shortenLog(n); err != nil || n > 0 {
		return err
	}
	return remove(name)
}

// syncLog waits until the log is on disk: a process that was killed may not have.
func (h *held) syncLog() error {
	log, err := os.OpenFile(h.path+logSuffix, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(log.Sync(), log.Close(), duckfile.SyncFolder(filepath.Dir(h.path)))
}

// shortenLog leaves the first n bytes of the log, and returns when that is on disk.
func (h *held) shortenLog(n int64) error {
	log, err := os.OpenFile(h.path+logSuffix, os.O_RDWR, 0)
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

// scanLog reads how far a log is whole; nil: there is none.
func scanLog(name string) (*duckfile.Log, error) {
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
func (h *held) logLength() (int64, error) {
	info, err := os.Stat(h.path + logSuffix)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// logAhead is room for the log beyond its end. A transaction that is longer fails while it is written, which DuckDB outlives.
const logAhead = 4 << 20

// committing makes sure of the room for what COMMIT writes. DuckDB ends the process when the last bytes of certain transactions find none: those that
// delete a row and insert another of the same key.
func (h *held) committing() error {
	if h.log.Length+logAhead <= h.reserved {
		return nil
	}
	size := h.log.Length + 2*logAhead
	if err := reserveSpace(h.path+logSuffix, size); err != nil {
		return fmt.Errorf("room for the log: %w", err)
	}
	h.reserved = size
	return nil
}

// committed notes that the log as it is now is acknowledged. The name of a new log is made to last first.
func (h *held) committed() error {
	length, err := h.logLength()
	if err == nil && h.log.Length == 0 && length > 0 {
		err = duckfile.SyncFolder(filepath.Dir(h.path))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errCommit, err)
	}
	if length != h.log.Length {
		h.log.Length = length
		h.commits++
		h.witness.Note(h.log) // where that fails, what was noted before is still true
	}
	return nil
}

// checkpointed notes that the log is in the file.
func (h *held) checkpointed() error {
	f, err := duckfile.ReadFile(h.file)
	if err != nil {
		return err
	}
	length, err := h.logLength()
	if err != nil {
		return err
	}
	h.log, h.commits, h.reserved, h.pause = duckfile.Acknowledged{ID: f.ID, Iteration: f.Iteration, Length: length}, 0, 0, 0
	return errors.Join(h.witness.Note(h.log), h.witness.Sync(), remove(h.path+journalSuffix))
}

// replay is about how long it takes to open the file after a crash, beside what it takes without: on two cores 2 ms for each transaction in the log and
// 20 for each megabyte.
func (h *held) replay() time.Duration {
	return time.Duration(h.commits)*2*time.Millisecond + time.Duration(h.log.Length)*20*time.Nanosecond
}

// release gives the file up; DuckDB has closed it. Nothing stays beside a file whose log is in it.
func (h *held) release() error {
	var errs []error
	if h.witness != nil {
		length, err := h.logLength()
		if errs = append(errs, err, h.witness.Close()); err == nil && length == 0 && h.log.Length == 0 {
			errs = append(errs, remove(h.path+witnessSuffix))
		}
	}
	return errors.Join(append(errs, h.file.Close())...)
}

func (h *held) notice(format string, args ...any) {
	h.notices = append(h.notices, fmt.Sprintf(format, args...))
}

// remove removes a file that may be gone already.
func remove(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// makeFile makes an empty file of DuckDB: under another name until it is whole, so that nobody finds half of one. One that another process makes at
// the same time will do.
func makeFile(ctx context.Context, path string) error {
	connector, err := duckdb.NewConnector(":memory:?threads=1", nil)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	unmade := unmadeName(path)
	_, err = db.ExecContext(ctx, strings.NewReplacer("{path}", strings.ReplaceAll(unmade, "'", "''"), "{version}", storageVersion).Replace(sqlfiles.Query("make")))
	if err = errors.Join(err, db.Close()); err == nil {
		err = place(unmade, path)
	}
	if err != nil {
		os.Remove(unmade)
	}
	if errors.Is(err, ErrExists) {
		return nil
	}
	return err
}
