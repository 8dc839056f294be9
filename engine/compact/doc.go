// Package compact makes and keeps what stands for messages: summaries over messages, and summaries over summaries.
//
// It owns the tables summaries, summary_sources, compactions and compaction_debts; what it changes in contexts, conversation writes for it. Every message is
// in its context, or under one summary, or set aside, at every commit.
//
// It asks conversation for contexts, messages and the guard of models, window for what is to be done, prompts and text/extract for the summary itself, chain for
// models in their order and checkpoint for what may stand in their place (of the policy Rolling), index and payload for what a purge takes along. A compaction takes turns with others of its conversation; a model thinks with that turn and no lock of the file, and
// its summary is written only if what it read is as it was.
//
// What bites: an extractive summary is the fallback of every model that fails, and is tried again by RetryFallbacks; a summary that is purged of
// a message is made anew in the same transaction, with what of it can be told without a model, which is why purging messages is this room's.
package compact

import (
	"github.com/mallardmem/mallard/engine/chain"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/payload"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/setup"
)

// Compactor keeps the summaries of a file.
type Compactor struct {
	file          *duck.File
	contents      *payload.Contents
	index         *index.Index
	scopes        *scope.Registry
	conversations *conversation.Store
	opts          setup.Options
	chain         *chain.Chain
	compacting    taken
	tried         inVain
}

// New gives the summaries of a file, and names them to its index.
func New(file *duck.File, contents *payload.Contents, x *index.Index, scopes *scope.Registry, talk *conversation.Store, models *chain.Chain, o setup.Options) *Compactor {
	cp := &Compactor{file: file, contents: contents, index: x, scopes: scopes, conversations: talk, chain: models, opts: o}
	x.AddSource(summarySource(cp))
	talk.OnLonger(growSummaries)
	talk.OnArchived(deleteDebt)
	return cp
}
