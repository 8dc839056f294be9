// Package extract draws memories from talk: a text, or messages of a conversation, becomes drafts, each is compared with what is known, and a verdict says
// what becomes of it. docs/memories.md has the rules.
//
// It owns the tables drafts, admissions, extraction_cursors and model_calls; memories are written for it by memory, in the same transaction as the drafts and the
// cursor. A draft is never deleted but with its conversation: what a purge takes away leaves a row that says nothing, so that it isn't made again.
//
// It asks conversation for messages, text/capture for statements, memory for proposals, index for the likeness of texts. What is compared is read without a lock and
// thought over likewise (a model may think then); the write begins only then, and if the cursor has moved or a memory that it would change is gone, all starts over.
//
// What bites: the proposals of one window see each other as if they were stored, and one may end another; a verdict about an event or a case is create or
// skip, whatever a model says; a message that is purged takes the words of its drafts along, but the memories stay.
package extract

import (
	"context"
	"database/sql"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/setup"
)

// Extractor draws memories from the talk of a file.
type Extractor struct {
	file          *duck.File
	index         *index.Index
	scopes        *scope.Registry
	memories      *memory.Store
	conversations *conversation.Store
	opts          setup.Options
	noise         noise
}

// New gives what extracts from a file, and has purges take drafts along.
func New(file *duck.File, x *index.Index, scopes *scope.Registry, memories *memory.Store, talk *conversation.Store, o setup.Options) *Extractor {
	ex := &Extractor{file: file, index: x, scopes: scopes, memories: memories, conversations: talk, opts: o}
	talk.OnPurge(purgeMessages)
	memories.OnPurge(purgeMemory)
	return ex
}

func purgeMessages(ctx context.Context, tx *duck.Write, conversationID string, ids []string) error {
	of := sql.Named("conversation_id", conversationID)
	if ids != nil {
		if _, err := tx.Exec(ctx, "extract_purge_messages", of, sql.Named("ids", ids)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "extract_purge_reasons")
		return err
	}
	for _, query := range []string{"extract_purge_conversation", "extract_cursor_forget", "extract_purge_calls"} {
		if _, err := tx.Exec(ctx, query, of); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, "extract_purge_admissions")
	return err
}

func purgeMemory(ctx context.Context, tx *duck.Write, id string) error {
	for _, query := range []string{"extract_purge_memory", "extract_purge_nearest"} {
		if _, err := tx.Exec(ctx, query, sql.Named("id", id)); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, "extract_purge_reasons")
	return err
}
