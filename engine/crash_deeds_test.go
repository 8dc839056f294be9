package engine_test

import (
	"bytes"
	"context"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/lineage"
	"github.com/mallardmem/mallard/engine/note"
)

// large is more than a row keeps beside itself.
var large = bytes.Repeat([]byte("z"), 1<<17)

// deed is one thing that is done to a file.
type deed struct {
	name string
	do   func(ctx context.Context, e *engine.Engine) error
}

// deeds are what changes a conversation. Each is done to the file of crashFile, with the ids and times of crashOptions, so that it leaves the
// same whoever does it.
var deeds = []deed{
	{"append", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Append(ctx, conversation.AppendRequest{Conversation: "talk", Cursor: &conversation.Cursor{Path: "/talk", Host: "h"}, Messages: []conversation.Message{{Text: "one more", SaidAt: enginetest.Noon, Raw: large},
			{Role: "assistant", SaidAt: enginetest.Noon, Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, CallID: "c", Tool: "look", Input: "{}"}}}}})
		return err
	}},
	{"make all vectors anew", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.RebuildIndex(ctx, index.RebuildRequest{Vectors: true})
		return err
	}},
	{"compact", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Compact(ctx, compact.Request{Conversation: "talk", Force: true})
		return err
	}},
	{"make a checkpoint", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Checkpoint(ctx, checkpoint.Request{Conversation: "talk"})
		return err
	}},
	{"compact in the rolling way", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Compact(ctx, compact.Request{Conversation: "talk", Policy: compact.Rolling, Budget: 1})
		return err
	}},
	{"say that a prompt was given", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.AckFlush(ctx, checkpoint.AckRequest{Conversation: "dock", Percent: 75})
		return err
	}},
	{"read a file of Markdown", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.SyncNotes(ctx, note.SyncRequest{Folder: "../docs/decisions", Files: []string{"0020-the-past-lies-apart.md"}})
		return err
	}},
	{"rewrite", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.RewriteSummary(ctx, compact.RewriteRequest{ID: "sum_before_3", Text: "shorter"})
		return err
	}},
	{"dissolve", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.DissolveSummary(ctx, compact.DissolveRequest{ID: "sum_before_3"})
		return err
	}},
	{"adopt", func(ctx context.Context, e *engine.Engine) error {
		_, _, err := e.AdoptSummary(ctx, compact.AdoptRequest{Conversation: "talk", Text: "what the host made of it", FirstKept: "key 7", At: enginetest.Noon})
		return err
	}},
	{"add blocks", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.AddBlocks(ctx, conversation.AddBlocksRequest{Conversation: "talk", MessageKey: "key 8", Cursor: &conversation.Cursor{Path: "/talk", Host: "h"},
			Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "and more", Raw: large}}})
		return err
	}},
	{"add blocks below a summary", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.AddBlocks(ctx, conversation.AddBlocksRequest{Conversation: "talk", MessageKey: "key 2", Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "and more"}}})
		return err
	}},
	{"set branch", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.SetBranch(ctx, conversation.BranchRequest{Conversation: "talk", Left: []string{"key 8"}})
		return err
	}},
	{"return to a branch", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.SetBranch(ctx, conversation.BranchRequest{Conversation: "yard", Found: []string{"left"}})
		return err
	}},
	{"new session", func(ctx context.Context, e *engine.Engine) error {
		depth := 2
		_, err := e.NewSession(ctx, conversation.NewSessionRequest{Conversation: "talk", RetainDepth: &depth})
		return err
	}},
	{"reset session", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.ResetSession(ctx, conversation.ArchiveRequest{Conversation: "talk"})
		return err
	}},
	{"end session", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.EndSession(ctx, conversation.EndSessionRequest{Conversation: "talk", Reason: "deleted"})
		return err
	}},
	{"prune heartbeats", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.PruneHeartbeats(ctx, conversation.PruneHeartbeatsRequest{Conversation: "yard"})
		return err
	}},
	{"prune set aside", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.PruneSetAside(ctx, compact.PruneSetAsideRequest{})
		return err
	}},
	{"purge messages", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.PurgeMessages(ctx, compact.PurgeMessagesRequest{Conversation: "talk", IDs: []string{"msg_before_2", "msg_before_8"}})
		return err
	}},
	{"retract", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Retract(ctx, lineage.RetractRequest{ID: "msg_before_2", Reason: "planted"})
		return err
	}},
	{"undo a retraction", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.UndoRetraction(ctx, lineage.UndoRequest{ID: "ret_before_1"})
		return err
	}},
	{"purge conversation", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.PurgeConversation(ctx, "yard", "")
		return err
	}},
}
