// Package conversation keeps what was said: conversations, their messages with all blocks, large files, and how far a host's transcripts were read.
//
// It owns the tables conversations, messages, parts, large_files, context_items and cursors. A message is never lost, and changes only by growing (AddBlocks):
// what leaves a context is set aside and says why, and only a purge takes a text away. Messages of a conversation are numbered without a gap, in the order they
// came. Append is one transaction, with words and vectors. What a kind of block is, costs and is found by stands in part.go.
//
// It asks duck for transactions, index for words, vectors and numbers, payload for what is large and text/standin for what stands in its place, scope what
// an agent may do. The guard of models and the conversation of the last Append (grown) are in memory: the guard has a lock of its own, which is held for
// no call, and the writer's lock owns grown.
//
// What bites: a message that is given again is known by its key alone; grown is forgotten whenever a write is rolled back, and does not count when another
// write came between; a model that explores files thinks before the writer's lock is taken, and is bounded by the guard.
package conversation

import (
	"context"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/payload"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/text"
)

// Store keeps the conversations of a file.
type Store struct {
	file      *duck.File
	contents  *payload.Contents
	index     *index.Index
	scopes    *scope.Registry
	opts      setup.Options
	estimator text.Estimator // of new conversations
	gates     gates
	grown     *grown // the conversation of the last Append; the writer's lock owns it
	Guard     modelGuard

	longer   []func(ctx context.Context, tx *duck.Write, messageID string, tokens int) error
	archived []func(ctx context.Context, tx *duck.Write, conversationID string) error
	purged   []func(ctx context.Context, tx *duck.Write, conversationID string, ids []string) error
}

// New gives the conversations of a file, and names their messages to its index.
func New(file *duck.File, contents *payload.Contents, x *index.Index, scopes *scope.Registry, o setup.Options) (*Store, error) {
	estimator, err := text.NewEstimator(o.Conversation.Estimator)
	if err != nil {
		return nil, err
	}
	cs := &Store{file: file, contents: contents, index: x, scopes: scopes, opts: o, estimator: estimator, gates: newGates(o.Conversation),
		Guard: modelGuard{o: o.Conversation, now: o.Now}}
	file.OnRollback(cs.forgetGrown)
	x.AddSource(messageSource(cs))
	return cs, nil
}

// OnLonger has grow called, in the transaction of the write, for a message that summaries stand for and that has become longer by some tokens. It is set
// before the first write.
func (cs *Store) OnLonger(grow func(ctx context.Context, tx *duck.Write, messageID string, tokens int) error) {
	cs.longer = append(cs.longer, grow)
}

// OnArchived has end called, in the transaction of the write, for a conversation that is archived. It is set before the first write.
func (cs *Store) OnArchived(end func(ctx context.Context, tx *duck.Write, conversationID string) error) {
	cs.archived = append(cs.archived, end)
}

// OnPurge has gone called, in the transaction of the write, for messages of a conversation that are purged, or without ids for the whole conversation. It is
// set before the first write.
func (cs *Store) OnPurge(gone func(ctx context.Context, tx *duck.Write, conversationID string, ids []string) error) {
	cs.purged = append(cs.purged, gone)
}
