package engine

import (
	"errors"
	"fmt"
	"strings"
)

// Opening a file.
var (
	// ErrLocked: another process, or another handle of this one, has the file open. The message says what to do.
	ErrLocked = errors.New("file is in use")
	// ErrSchemaTooNew: a newer Mallard wrote the file.
	ErrSchemaTooNew = errors.New("file was written by a newer version")
	// ErrMigrationChanged: a migration that the file has had differs from the one in this program.
	ErrMigrationChanged = errors.New("migration differs from the one applied")
	// ErrModelMismatch: the file's vectors come from another embedding model.
	ErrModelMismatch = errors.New("embedding model mismatch")
	// ErrNoFTS: DuckDB's text extension is asked for and can't be loaded, or was not loaded. The message says what to do.
	ErrNoFTS = errors.New("no text extension")
	// ErrCorrupt: the file or its log is not as it was written, contradicts itself, or is no Mallard file. The message says what may help.
	ErrCorrupt = errors.New("file is damaged")
)

// Using an engine.
var (
	// ErrClosed: Close was called.
	ErrClosed = errors.New("engine is closed")
	// ErrReadOnly: a write on an engine opened with Options.ReadOnly.
	ErrReadOnly = errors.New("engine is read-only")
	// ErrNoEmbedder: a recall by vectors without a model, or of a file without vectors.
	ErrNoEmbedder = errors.New("no embedding model")
	// ErrNoLLM: what was asked needs a language model, and Options.LLM has none.
	ErrNoLLM = errors.New("no language model")
	// ErrBadVector: a model gave a vector of the wrong length, or one that is zero or not finite.
	ErrBadVector = errors.New("unusable vector")
)

// What happens to an engine. A write that failed was not written; where that can't be told, the message says so.
var (
	// ErrInternal: DuckDB failed in a way after which it answers nothing. The next call opens the database anew, and goes on.
	ErrInternal = errors.New("database failed")
	// ErrDiskFull: there is no room for what was to be written. Reading goes on; writing does as soon as there is room.
	ErrDiskFull = errors.New("disk is full")
	// ErrMemory: Options.MemoryLimit is too low for what was asked.
	ErrMemory = errors.New("out of memory")
)

// Requests.
var (
	// ErrInvalid: a field of a request has a value that is not allowed. The message names field, value and what is allowed.
	ErrInvalid = errors.New("invalid request")
	// ErrNotFound: no memory, message, conversation or setting of that name.
	ErrNotFound = errors.New("not found")
	// ErrAmbiguous: the ending of an id fits more than one.
	ErrAmbiguous = errors.New("ambiguous id")
	// ErrExists: the id is taken.
	ErrExists = errors.New("exists already")
	// ErrBadScope: a scope that is neither defined nor of a known form.
	ErrBadScope = errors.New("bad scope")
	// ErrScopeDenied: the agent may not use the scope.
	ErrScopeDenied = errors.New("scope denied")
	// ErrGrant: a grant that does not exist, was revoked or has expired, or does not cover what is asked.
	ErrGrant = errors.New("not granted")
	// ErrGrantSpent: the tokens of a grant are used up.
	ErrGrantSpent = errors.New("grant is used up")
	// ErrConflict: what was to be replaced has changed meanwhile. Nothing was written; try again.
	ErrConflict = errors.New("changed meanwhile")
)

// invalid is ErrInvalid for one field.
func invalid(field string, value any, allowed string) error {
	if s, ok := value.(string); ok {
		value = quote(s)
	}
	return fmt.Errorf("%w: %s is %v; allowed: %s", ErrInvalid, field, value, allowed)
}

// quote shortens and quotes a value for a message.
func quote(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		return fmt.Sprintf("%q…", string(runes[:most]))
	}
	return fmt.Sprintf("%q", s)
}

// oneOf lists allowed words for a message.
func oneOf[T ~string](words []T) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = string(w)
	}
	return strings.Join(parts, ", ")
}
