package engine

import "github.com/mallardmem/mallard/engine/internal/fault"

// Opening a file. Rooms give these errors and those below; this is where each is explained.
var (
	// ErrLocked: another process, or another handle of this one, has the file open. The message says what to do.
	ErrLocked = fault.ErrLocked
	// ErrSchemaTooNew: a newer Mallard wrote the file.
	ErrSchemaTooNew = fault.ErrSchemaTooNew
	// ErrMigrationChanged: a migration that the file has had differs from the one in this program.
	ErrMigrationChanged = fault.ErrMigrationChanged
	// ErrModelMismatch: the file's vectors come from another embedding model. The message says how to go on.
	ErrModelMismatch = fault.ErrModelMismatch
	// ErrNoFTS: DuckDB's text extension is asked for and can't be loaded, or was not loaded. The message says what to do.
	ErrNoFTS = fault.ErrNoFTS
	// ErrCorrupt: the file or its log is not as it was written, contradicts itself, or is no Mallard file. The message says what may help.
	ErrCorrupt = fault.ErrCorrupt
)

// Using an engine.
var (
	// ErrClosed: Close was called.
	ErrClosed = fault.ErrClosed
	// ErrReadOnly: a write on an engine opened with Options.ReadOnly.
	ErrReadOnly = fault.ErrReadOnly
	// ErrNoEmbedder: a recall by vectors without a model, or of a file without vectors.
	ErrNoEmbedder = fault.ErrNoEmbedder
	// ErrNoReranker: a recall that is to be reranked by a model, and Options.Reranker is none.
	ErrNoReranker = fault.ErrNoReranker
	// ErrNoLLM: what was asked needs a language model, and Options.LLM is none.
	ErrNoLLM = fault.ErrNoLLM
	// ErrBadVector: a model gave a vector of the wrong length, or one that is zero or not finite.
	ErrBadVector = fault.ErrBadVector
	// ErrMissingVectors: a model is to be the file's, and documents have no vector of it. The message says how many, and what to do.
	ErrMissingVectors = fault.ErrMissingVectors
)

// What happens to an engine. A write that failed was not written; where that can't be told, the message says so.
var (
	// ErrInternal: DuckDB failed in a way after which it answers nothing. The next call opens the database anew, and goes on.
	ErrInternal = fault.ErrInternal
	// ErrDiskFull: there is no room for what was to be written. Reading goes on; writing does as soon as there is room.
	ErrDiskFull = fault.ErrDiskFull
	// ErrMemory: Options.MemoryLimit is too low for what was asked. The message says what it is.
	ErrMemory = fault.ErrMemory
)

// Requests.
var (
	// ErrInvalid: a field of a request has a value that is not allowed. The message names field, value and what is allowed.
	ErrInvalid = fault.ErrInvalid
	// ErrNotFound: no memory, message, conversation or setting of that name.
	ErrNotFound = fault.ErrNotFound
	// ErrAmbiguous: the ending of an id fits more than one.
	ErrAmbiguous = fault.ErrAmbiguous
	// ErrExists: the id is taken.
	ErrExists = fault.ErrExists
	// ErrBadScope: a scope that is neither defined nor of a known form.
	ErrBadScope = fault.ErrBadScope
	// ErrScopeDenied: the agent may not use the scope.
	ErrScopeDenied = fault.ErrScopeDenied
	// ErrGrant: a grant that does not exist, was revoked or has expired, or does not cover what is asked.
	ErrGrant = fault.ErrGrant
	// ErrGrantSpent: the tokens of a grant are used up.
	ErrGrantSpent = fault.ErrGrantSpent
	// ErrConflict: what was to be replaced has changed meanwhile. Nothing was written; try again.
	ErrConflict = fault.ErrConflict
	// ErrBudget: what a context must show is more than its budget, and the request is strict.
	ErrBudget = fault.ErrBudget
)
