// Package checkpoint notes how a conversation stands while its context fills: checkpoints, which say what it is about, and prompts that ask a model to write
// down what it must not forget before the context is compacted.
//
// It owns the tables checkpoints and flush_state. A checkpoint changes nothing of the conversation; one that was made since the context was last compacted covers
// what it has read, and compact may make its summary of it.
//
// It asks conversation for what was said and how full the context is, window whether anything is due, chain for the models; one checkpoint of a conversation is
// made at a time, by a call that waits for the model: whether that is done in the background is the host's to choose.
//
// What bites: a checkpoint holds text. A purge of a message takes along every checkpoint that has read as far, and while a message is retracted those that knew it
// are as if they were not there.
package checkpoint

import (
	"context"
	"database/sql"
	"sync"

	"github.com/mallardmem/mallard/engine/chain"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/setup"
)

// Checkpoints keeps the checkpoints of a file, and which prompts have fired.
type Checkpoints struct {
	file   *duck.File
	index  *index.Index
	scopes *scope.Registry
	talk   *conversation.Store
	chain  *chain.Chain
	opts   setup.Options

	mu     sync.Mutex // innermost, held for no call
	making map[string]bool
}

// New gives the checkpoints of a file, and has purges take them along.
func New(file *duck.File, x *index.Index, scopes *scope.Registry, talk *conversation.Store, models *chain.Chain, o setup.Options) *Checkpoints {
	talk.OnPurge(purge)
	return &Checkpoints{file: file, index: x, scopes: scopes, talk: talk, chain: models, opts: o, making: map[string]bool{}}
}

func purge(ctx context.Context, tx *duck.Write, conversationID string, ids []string) error {
	of := sql.Named("conversation_id", conversationID)
	if ids != nil {
		_, err := tx.Exec(ctx, "checkpoints_purge", of, sql.Named("ids", ids))
		return err
	}
	for _, query := range []string{"checkpoints_purge_conversation", "flush_purge"} {
		if _, err := tx.Exec(ctx, query, of); err != nil {
			return err
		}
	}
	return nil
}
