// Package lookup is a model's tools for what is no longer in its context: grep finds, describe says what a summary or file is, expand shows what a
// summary stands for, expand query answers from that, and a grant bounds how much of it. Search is grep or a recall with weights of its own, as the match wants
// it, with the filters of a host; gaps and tally look at when, and how much, was said.
//
// It owns no table. Grants are in memory, and end with the handle; one call at a time uses a grant, and their lock (grants.mu) is held for no other call.
// What grep is asked stands in temporary tables of the connection that it has.
//
// It asks conversation, compact and memory for what ids name, recall for what answers a question, assemble for who is said to speak, scope what an agent sees.
//
// What bites: a search that takes too long gives what it found, and says so.
package lookup

import (
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/setup"
)

// Tools look into one file.
type Tools struct {
	file          *duck.File
	index         *index.Index
	scopes        *scope.Registry
	recaller      *recall.Recaller
	conversations *conversation.Store
	opts          setup.Options
	grants        grants
}

// New gives the tools for a file.
func New(file *duck.File, x *index.Index, scopes *scope.Registry, recaller *recall.Recaller, talk *conversation.Store, o setup.Options) *Tools {
	return &Tools{file: file, index: x, scopes: scopes, recaller: recaller, conversations: talk, opts: o}
}
