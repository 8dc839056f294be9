package duck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// What DuckDB says went wrong is understood in this file alone. The driver has the type of an error, which says enough of some; all others are told by
// their English words. Tests make what can be made, here and where files are locked, damaged and full, so that other words of a newer DuckDB are noticed.
const (
	saysInUse       = "Could not set lock"
	saysInvalidated = "has been invalidated"
	saysTaken       = `Duplicate key "id: `
	saysTooLarge    = "pattern too large"
)

var (
	saysFull    = []string{"No space left on device", "Disk quota exceeded"}
	saysDamaged = []string{"not a valid DuckDB database file", "Corrupt database file", "Could not read enough bytes", "Failure while replaying WAL file", "Corrupt WAL file"}
)

// says reports whether an error has some of the words.
func says(err error, words ...string) bool {
	text := err.Error()
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// FirstLine is what DuckDB says before its advice.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// IsOf reports whether one of DuckDB's errors in err is of one of the types.
func IsOf(err error, types ...duckdb.ErrorType) bool {
	return slices.ContainsFunc(errorsIn(err), func(e *duckdb.Error) bool { return slices.Contains(types, e.Type) })
}

// errorsIn gives the errors of DuckDB in err, which may join several.
func errorsIn(err error) (found []*duckdb.Error) {
	switch wrapped := err.(type) {
	case *duckdb.Error:
		return []*duckdb.Error{wrapped}
	case interface{ Unwrap() error }:
		return errorsIn(wrapped.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range wrapped.Unwrap() {
			found = append(found, errorsIn(e)...)
		}
	}
	return found
}

// kindOf is the sentinel for an error of DuckDB or of the disk, or nil.
func kindOf(err error) error {
	switch {
	case errors.Is(err, fault.ErrDiskFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || says(err, saysFull...):
		return fault.ErrDiskFull
	case Invalidates(err):
		return fault.ErrInternal
	case IsOf(err, duckdb.ErrorTypeOutOfMemory):
		return fault.ErrMemory
	}
	return nil
}

// Invalidates reports whether DuckDB answers nothing any more after such an error.
func Invalidates(err error) bool {
	return IsOf(err, duckdb.ErrorTypeInternal, duckdb.ErrorTypeFatal) ||
		slices.ContainsFunc(errorsIn(err), func(e *duckdb.Error) bool { return says(e, saysInvalidated) })
}

// Damaged knows errors about a file that is not as it was written.
func Damaged(err error) bool { return says(err, saysDamaged...) }

// TooLarge knows the refusal of a regular expression that would take too much memory.
func TooLarge(err error) bool { return says(err, saysTooLarge) }

// openError says what a person can do when the file can't be opened.
func openError(path string, err error) error {
	switch said := FirstLine(err.Error()); {
	case says(err, saysInUse):
		return fmt.Errorf("%w: %s is open in another process; stop it, or read a copy made with `memctl snapshot` there (%s)", fault.ErrLocked, path, said)
	case Damaged(err):
		return fmt.Errorf("%w: %s: %s; %s", fault.ErrCorrupt, path, said, RecoverHint)
	}
	return err
}

// QueryError is err of a named query; a block that can't be read makes it ErrCorrupt.
func QueryError(name string, err error) error {
	if Damaged(err) {
		return fmt.Errorf("query %s: %w: %w", name, fault.ErrCorrupt, err)
	}
	return fmt.Errorf("query %s: %w", name, err)
}

// cancelled is why a transaction, or what a connection was lent for, ended. A statement that is stopped while it is planned says that it was, but not that its context did it.
func cancelled(ctx context.Context, err error) error {
	if why := ctx.Err(); why != nil && !errors.Is(err, why) && IsOf(err, duckdb.ErrorTypeInterrupt) {
		return fmt.Errorf("%w: %w", why, err)
	}
	return err
}

// takenID gives the id that a table has already, if that is what an error says. Ids that callers bring were looked up before.
func takenID(err error) string {
	_, after, _ := strings.Cut(err.Error(), saysTaken)
	id, _, _ := strings.Cut(after, `"`)
	return id
}
