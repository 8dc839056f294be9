// Package assemble makes what a model is shown of a conversation: the summaries and messages that fit its budget, in the form that its provider wants.
//
// It owns no table and no lock, and writes nothing. The messages of the fresh tail always come, if need be with references in place of what tools gave; of the
// rest the newest come, or those that answer the prompt best. A tool's call and its result stay together.
//
// It asks conversation for messages and what lies apart of them, compact for summaries, window for the tail and the order that models accept, index for the
// words of a prompt and recall for the weights that they are scored with. Golden files hold the form of each provider.
//
// What bites: a budget counts what is stored; what a provider puts around it is not counted.
package assemble

import (
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/setup"
)

// Assembler assembles from one file.
type Assembler struct {
	file          *duck.File
	index         *index.Index
	conversations *conversation.Store
	opts          setup.Options
}

// New gives what assembles from a file.
func New(file *duck.File, x *index.Index, talk *conversation.Store, o setup.Options) *Assembler {
	return &Assembler{file: file, index: x, conversations: talk, opts: o}
}
