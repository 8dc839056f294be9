// Package assemble makes what a model is shown of a conversation: the summaries and messages that fit its budget, in the form that its provider wants.
//
// It owns no table and writes nothing. The newest messages come whole; what is older gives way first; a tool's call and its result stay together. Golden
// files hold the form of each provider.
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
