package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/setup"
)

// TestTalkersAtOnce: whatever changes a few conversations, side by side; at no moment is anything in contradiction.
func TestTalkersAtOnce(t *testing.T) {
	enginetest.Alone(t)
	path := enginetest.NewFile(t)
	o := engine.Options{Embedder: enginetest.Words{}, Threads: 2, Conversation: setup.Conversation{FreshTailCount: 4, LeafChunkTokens: 100, LeafMinFanout: 2,
		CondensedMinFanout: 2, CondensedTargetTokens: 40, LeafTargetTokens: 40}}
	e := enginetest.OpenFile(t, path, o)
	verbs := talkers(e)
	for _, name := range []string{"Append", "Check"} {
		verbs[name] = crowd(e, "")[name]
	}
	atOnce(t, e, verbs)
	enginetest.Check(t, enginetest.OpenFile(t, path, o))
}

// talkers is what many goroutines do to the few conversations of the crowd.
func talkers(e *engine.Engine) map[string]func(context.Context, *rand.Rand) error {
	talk := func(rng *rand.Rand) string { return fmt.Sprint("talk ", rng.IntN(3)) }
	// message gives the id of one that was said lately.
	message := func(ctx context.Context, talk string, rng *rand.Rand) string {
		c, err := e.Conversation(ctx, talk, "")
		if err != nil || c.Messages == 0 {
			return "msg_none"
		}
		all, err := e.Messages(ctx, conversation.MessagesRequest{Conversation: c.ID, From: max(1, c.Messages-30)})
		if err != nil || len(all) == 0 {
			return "msg_none"
		}
		return all[rng.IntN(len(all))].ID
	}
	// summary gives the id of one that stands in the context.
	summary := func(ctx context.Context, rng *rand.Rand) string {
		items, err := e.Context(ctx, compact.ContextRequest{Conversation: talk(rng)})
		if err != nil || len(items) == 0 || items[0].Kind != kinds.Summary {
			return "sum_none"
		}
		return items[0].Ref
	}
	return map[string]func(context.Context, *rand.Rand) error{
		"Compact": func(ctx context.Context, rng *rand.Rand) error {
			_, err := e.Compact(ctx, compact.Request{Conversation: talk(rng), Budget: 400, Force: rng.IntN(2) == 0})
			return err
		},
		"RewriteSummary": func(ctx context.Context, rng *rand.Rand) error {
			_, err := e.RewriteSummary(ctx, compact.RewriteRequest{ID: summary(ctx, rng), Text: fmt.Sprint("brief ", rng.IntN(100))})
			return err
		},
		"DissolveSummary": func(ctx context.Context, rng *rand.Rand) error {
			_, err := e.DissolveSummary(ctx, compact.DissolveRequest{ID: summary(ctx, rng)})
			return err
		},
		"AddBlocks": func(ctx context.Context, rng *rand.Rand) error {
			name := talk(rng)
			_, err := e.AddBlocks(ctx, conversation.AddBlocksRequest{Conversation: name, MessageID: message(ctx, name, rng), Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: enginetest.Sentence(rng)}}})
			return err
		},
		"PurgeMessages": func(ctx context.Context, rng *rand.Rand) error {
			name := talk(rng)
			_, err := e.PurgeMessages(ctx, compact.PurgeMessagesRequest{Conversation: name, IDs: []string{message(ctx, name, rng)}})
			return err
		},
		"NewSession": func(ctx context.Context, rng *rand.Rand) error {
			depth := rng.IntN(3)
			_, err := e.NewSession(ctx, conversation.NewSessionRequest{Conversation: talk(rng), RetainDepth: &depth})
			return err
		},
		"ResetSession": func(ctx context.Context, rng *rand.Rand) error {
			_, err := e.ResetSession(ctx, conversation.ArchiveRequest{Conversation: talk(rng)})
			return err
		},
		"PurgeConversation": func(ctx context.Context, rng *rand.Rand) error {
			_, err := e.PurgeConversation(ctx, talk(rng), "")
			return err
		},
		"Assemble": func(ctx context.Context, rng *rand.Rand) error {
			_, err := e.Assemble(ctx, assemble.Request{Conversation: talk(rng), Budget: 300})
			return err
		},
		"Grep": func(ctx context.Context, rng *rand.Rand) error {
			_, err := e.Grep(ctx, lookup.GrepRequest{Conversation: talk(rng), Pattern: enginetest.Sentence(rng)})
			return err
		},
	}
}
