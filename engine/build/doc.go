// Package build makes the context of the next call of a model: what was said, what stands for it, what is remembered, and what is said now, within a budget, in
// the form that a preset says. It is one pipeline for every host: load, filter, guarantee, select, enrich, budget, render, seal. A preset is data; no stage
// asks for its name.
//
// It owns the table context_snapshots: what was shown, by ids and hashes alone, so that a build can be made again and compared (Verify), and two of them held
// against each other (Diff). A purge of a conversation takes its snapshots along.
//
// It asks conversation for messages, assemble for the context and for the shapes of providers, recall for memories, window for every plan: which rows are in a
// window, who is guaranteed, what fits. What a selector chose is recorded, and a replay takes the record in place of asking a model again.
//
// What bites: no transaction and no lock is held while a selector or a recall thinks, so that messages may come in between; Until is settled at the first look,
// and those are not shown. What the host gives (input, texts, excerpts) is in the hash, but in no row: a replay takes it by its hash. The name of an item is the
// same in every copy of a conversation, its id is not.
package build

import (
	"context"
	"database/sql"

	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/setup"
)

// Builder builds contexts from one file.
type Builder struct {
	file          *duck.File
	index         *index.Index
	scopes        *scope.Registry
	conversations *conversation.Store
	recaller      *recall.Recaller
	assembler     *assemble.Assembler
	opts          setup.Options
}

// New gives what builds from a file, and has purges of conversations take snapshots along.
func New(file *duck.File, x *index.Index, scopes *scope.Registry, talk *conversation.Store, recaller *recall.Recaller, assembler *assemble.Assembler, o setup.Options) *Builder {
	talk.OnPurge(func(ctx context.Context, tx *duck.Write, conversationID string, messages []string) error {
		if messages != nil { // snapshots have none of what they said
			return nil
		}
		_, err := tx.Exec(ctx, "build_purge_conversation", sql.Named("conversation_id", conversationID))
		return err
	})
	return &Builder{file: file, index: x, scopes: scopes, conversations: talk, recaller: recaller, assembler: assembler, opts: o}
}
