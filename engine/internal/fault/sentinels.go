package fault

import (
	"errors"
	"slices"
)

// The errors that callers ask for with errors.Is, each with the words that messages begin with. When each is given is said in one place, engine/errors.go, by
// whose names callers know them.
var (
	ErrLocked           = sentinel("file is in use")
	ErrSchemaTooNew     = sentinel("file was written by a newer version")
	ErrMigrationChanged = sentinel("migration differs from the one applied")
	ErrModelMismatch    = sentinel("embedding model mismatch")
	ErrNoFTS            = sentinel("no text extension")
	ErrCorrupt          = sentinel("file is damaged")

	ErrClosed     = sentinel("engine is closed")
	ErrReadOnly   = sentinel("engine is read-only")
	ErrNoEmbedder = sentinel("no embedding model")
	ErrNoReranker = sentinel("no reranker")
	ErrNoLLM      = sentinel("no language model")
	ErrBadVector  = sentinel("unusable vector")

	ErrMissingVectors = sentinel("vectors are missing")

	ErrInternal = sentinel("database failed")
	ErrDiskFull = sentinel("disk is full")
	ErrMemory   = sentinel("out of memory")

	ErrInvalid     = sentinel("invalid request")
	ErrNotFound    = sentinel("not found")
	ErrAmbiguous   = sentinel("ambiguous id")
	ErrExists      = sentinel("exists already")
	ErrBadScope    = sentinel("bad scope")
	ErrScopeDenied = sentinel("scope denied")
	ErrGrant       = sentinel("not granted")
	ErrGrantSpent  = sentinel("grant is used up")
	ErrConflict    = sentinel("changed meanwhile")
	ErrBudget      = sentinel("over the budget")
)

var sentinels []error

func sentinel(text string) error {
	err := errors.New(text)
	sentinels = append(sentinels, err)
	return err
}

// Sentinels gives them all.
func Sentinels() []error { return slices.Clone(sentinels) }
