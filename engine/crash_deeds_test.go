package engine_test

import (
	"bytes"
	"context"

	"github.com/mallardmem/mallard/engine"
)

// large is more than a row keeps beside itself.
var large = bytes.Repeat([]byte("z"), 1<<17)

// deeds are what changes a conversation. Each is done to the file of crashFile, with the ids and times of crashOptions, so that it leaves the
// same whoever does it.
var deeds = []struct {
	name string
	do   func(ctx context.Context, e *engine.Engine) error
}{
	{"append", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Append(ctx, engine.AppendRequest{Conversation: "talk", Cursor: &engine.Cursor{Path: "/talk", Host: "h"}, Messages: []engine.Message{{Text: "one more", SaidAt: noon, Raw: large},
			{Role: "assistant", SaidAt: noon, Blocks: []engine.Block{{Type: engine.ToolCallBlock, CallID: "c", Tool: "look", Input: "{}"}}}}})
		return err
	}},
	{"make all vectors anew", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.RebuildIndex(ctx, engine.RebuildRequest{Vectors: true})
		return err
	}},
	{"compact", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Compact(ctx, engine.CompactRequest{Conversation: "talk", Force: true})
		return err
	}},
	{"rewrite", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.RewriteSummary(ctx, engine.RewriteRequest{ID: "sum_before_3", Text: "shorter"})
		return err
	}},
	{"dissolve", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.DissolveSummary(ctx, engine.DissolveRequest{ID: "sum_before_3"})
		return err
	}},
	{"adopt", func(ctx context.Context, e *engine.Engine) error {
		_, _, err := e.AdoptSummary(ctx, engine.AdoptRequest{Conversation: "talk", Text: "what the host made of it", FirstKept: "key 7", At: noon})
		return err
	}},
	{"add blocks", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.AddBlocks(ctx, engine.AddBlocksRequest{Conversation: "talk", MessageKey: "key 8", Cursor: &engine.Cursor{Path: "/talk", Host: "h"},
			Blocks: []engine.Block{{Type: engine.TextBlock, Text: "and more", Raw: large}}})
		return err
	}},
	{"add blocks below a summary", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.AddBlocks(ctx, engine.AddBlocksRequest{Conversation: "talk", MessageKey: "key 2", Blocks: []engine.Block{{Type: engine.TextBlock, Text: "and more"}}})
		return err
	}},
	{"set branch", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.SetBranch(ctx, engine.BranchRequest{Conversation: "talk", Left: []string{"key 8"}})
		return err
	}},
	{"return to a branch", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.SetBranch(ctx, engine.BranchRequest{Conversation: "yard", Found: []string{"left"}})
		return err
	}},
	{"new session", func(ctx context.Context, e *engine.Engine) error {
		depth := 2
		_, err := e.NewSession(ctx, engine.NewSessionRequest{Conversation: "talk", RetainDepth: &depth})
		return err
	}},
	{"reset session", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.ResetSession(ctx, engine.ArchiveRequest{Conversation: "talk"})
		return err
	}},
	{"end session", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.EndSession(ctx, engine.EndSessionRequest{Conversation: "talk", Reason: "deleted"})
		return err
	}},
	{"prune heartbeats", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.PruneHeartbeats(ctx, engine.PruneHeartbeatsRequest{Conversation: "yard"})
		return err
	}},
	{"prune set aside", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.PruneSetAside(ctx, engine.PruneSetAsideRequest{})
		return err
	}},
	{"purge messages", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.PurgeMessages(ctx, engine.PurgeMessagesRequest{Conversation: "talk", IDs: []string{"msg_before_2", "msg_before_8"}})
		return err
	}},
	{"purge conversation", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.PurgeConversation(ctx, "yard", "")
		return err
	}},
}
