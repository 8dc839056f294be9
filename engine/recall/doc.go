// Package recall answers a question with what is remembered: it takes the question apart, gathers candidates by words and vectors, and ranks them, all
// in SQL; then it tells how each came to its place.
//
// It owns no table. What the file is asked is in temporary tables of the connection that a recall has, which last for a number of recalls and are emptied between;
// what is ranked is read by the statement where it is in Go (offer.go). Sets of weights are settings of the file, named weights:<set>, and read once. Weights are
// data: a stage of ranking that they leave out is not run. A signal is a weight, a column of the query recall_rank and a field of Candidate; the explanation
// has a row for each. Beside words and vectors, relations of memories and texts that say the question bring candidates (besides.go), where the weights have it. How likely a hit is right (confidence.go) is said after the ranking, and changes no order.
//
// It asks duck for a connection, index for the tokenizer, the model and the state of the fts index, text/dates for the periods of a question, scope what
// an agent sees; of memory it needs the words alone: categories, tiers, levels.
//
// What bites: the question's vector is made between two transactions, on a connection that is kept; so what is ranked may have a write that the
// rarity of its words has not, and whoever closes the file waits for the model. A row that was deleted from a temporary table stays in it and is scanned, so the
// tables are made anew now and then, which drops every plan of the connection. A window without a partition or order can end DuckDB, so no statement has one.
package recall

import (
	"sync"
	"sync/atomic"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/setup"
)

// Recaller answers from one file.
type Recaller struct {
	file   *duck.File
	index  *index.Index
	scopes *scope.Registry
	opts   setup.Options

	sets knownSets
	hold sync.Once // of ranking
	held atomic.Bool
}

// New gives what recalls from a file.
func New(file *duck.File, x *index.Index, scopes *scope.Registry, o setup.Options) *Recaller {
	return &Recaller{file: file, index: x, scopes: scopes, opts: o}
}

// Close gives up what ranks. Nobody recalls any more.
func (rc *Recaller) Close() {
	if rc.held.Swap(false) {
		ranking.Release()
	}
}
