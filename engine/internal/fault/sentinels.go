package fault

import "errors"

// Opening a file. What each means stands in package engine, which gives them to its callers.
var (
	ErrLocked           = errors.New("file is in use")
	ErrSchemaTooNew     = errors.New("file was written by a newer version")
	ErrMigrationChanged = errors.New("migration differs from the one applied")
	ErrModelMismatch    = errors.New("embedding model mismatch")
	ErrNoFTS            = errors.New("no text extension")
	ErrCorrupt          = errors.New("file is damaged")
)

// Using an engine.
var (
	ErrClosed     = errors.New("engine is closed")
	ErrReadOnly   = errors.New("engine is read-only")
	ErrNoEmbedder = errors.New("no embedding model")
	ErrNoLLM      = errors.New("no language model")
	ErrBadVector  = errors.New("unusable vector")
)

// What happens to an engine. A write that failed was not written; where that can't be told, the message says so.
var (
	ErrInternal = errors.New("database failed")
	ErrDiskFull = errors.New("disk is full")
	ErrMemory   = errors.New("out of memory")
)

// Requests.
var (
	ErrInvalid     = errors.New("invalid request")
	ErrNotFound    = errors.New("not found")
	ErrAmbiguous   = errors.New("ambiguous id")
	ErrExists      = errors.New("exists already")
	ErrBadScope    = errors.New("bad scope")
	ErrScopeDenied = errors.New("scope denied")
	ErrGrant       = errors.New("not granted")
	ErrGrantSpent  = errors.New("grant is used up")
	ErrConflict    = errors.New("changed meanwhile")
)
