// Package lineage tells what came from what, and withdraws a source with all that descends from it.
//
// It owns the tables retractions and retraction_effects. Memories say themselves what they came from (memory_sources), and so do summaries; what it changes, their rooms
// write for it. A retraction is one transaction, and so is undoing it. A memory stands while all sources of one of its derivations stand, so which memories are
// withdrawn follows from the retractions that stand alone, in whatever order they came.
//
// It asks memory, conversation and compact for the changes, scope what an agent may do, duck for transactions. Undoing makes documents anew before the writer's
// lock is taken, for a model may think, and starts over where something has changed meanwhile.
//
// What bites: the text of what is withdrawn stays, and retraction_effects has that of summaries as they were, until the messages are purged; what a retraction
// did is kept so that undoing gives it back to the letter, and where somebody has changed it since, as far as that goes.
package lineage

import (
	"context"
	"database/sql"

	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/scope"
)

// Keeper knows the lineage of a file.
type Keeper struct {
	file          *duck.File
	scopes        *scope.Registry
	memories      *memory.Store
	conversations *conversation.Store
	compactor     *compact.Compactor
}

// New gives the lineage of a file, and has purges take along what it holds.
func New(file *duck.File, scopes *scope.Registry, memories *memory.Store, talk *conversation.Store, compactor *compact.Compactor) *Keeper {
	k := &Keeper{file: file, scopes: scopes, memories: memories, conversations: talk, compactor: compactor}
	talk.OnPurge(k.purgeMessages)
	memories.OnPurge(func(ctx context.Context, tx *duck.Write, id string) error {
		_, err := tx.Exec(ctx, "lineage_purge", sql.Named("ids", []string{id}))
		return err
	})
	return k
}

// purgeMessages forgets what summaries of a conversation said before something was withdrawn from under them: they may say what is purged. Messages that are gone
// with their conversation are no sources any more.
func (k *Keeper) purgeMessages(ctx context.Context, tx *duck.Write, conversationID string, ids []string) error {
	if _, err := tx.Exec(ctx, "lineage_purge_summaries", sql.Named("conversation_id", conversationID)); err != nil || ids != nil {
		return err
	}
	gone, err := duck.Column[string](ctx, tx.Conn, "lineage_gone")
	if err != nil || len(gone) == 0 {
		return err
	}
	if _, err := tx.Exec(ctx, "lineage_purge", sql.Named("ids", gone)); err != nil {
		return err
	}
	return k.memories.ForgetSources(ctx, tx, gone)
}
