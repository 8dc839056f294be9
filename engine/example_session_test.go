package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// Messages of blocks: what a model thought, called and was given. What is too large for a context is kept apart, and read back.
func ExampleEngine_Append_blocks() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{Conversation: setup.Conversation{LargeFileTokens: 1000}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	report := strings.Repeat("berth;crane;hours\n4;HB-412;7\n", 500)
	_, err = e.Append(ctx, conversation.AppendRequest{Conversation: "yard", Messages: []conversation.Message{
		{Key: "m1", Role: "user", Text: "How long did the cranes run?"},
		{Key: "m2", Role: "assistant", Blocks: []conversation.Block{
			{Type: conversation.ThinkingBlock, Text: "The report has it."},
			{Type: conversation.ToolCallBlock, CallID: "c1", Tool: "read_file", Input: `{"path": "hours.csv"}`}}},
		{Key: "m3", Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "c1", Tool: "read_file", Output: report}}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	files, err := e.LargeFiles(ctx, "yard", "")
	if err != nil {
		log.Fatal(err)
	}
	piece, err := e.ReadLargeFile(ctx, conversation.ReadLargeFileRequest{ID: files[0].ID, StartLine: 1, EndLine: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d bytes kept apart\n%s", files[0].Bytes, piece.Content)
	// Output:
	// 14500 bytes kept apart
	// berth;crane;hours
	// 4;HB-412;7
}

// A host that has sessions names a conversation by them. A new session begins with an empty context or with what was condensed; a reset
// begins another conversation. Nothing is lost by either.
func ExampleEngine_NewSession() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	say := func(session, text string) *conversation.Appended {
		a, err := e.Append(ctx, conversation.AppendRequest{SessionKey: "agent:main", SessionID: session, Messages: []conversation.Message{{Role: "user", Text: text}}})
		if err != nil {
			log.Fatal(err)
		}
		return a
	}
	first := say("s1", "The crane at berth four is down.")
	begun, err := e.NewSession(ctx, conversation.NewSessionRequest{SessionKey: "agent:main"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(begun.Messages, "message left the context")
	second := say("s2", "Good morning.")
	fmt.Println("the same conversation:", first.ConversationID == second.ConversationID)
	if _, err := e.ResetSession(ctx, conversation.ArchiveRequest{SessionKey: "agent:main"}); err != nil {
		log.Fatal(err)
	}
	third := say("s3", "Let us start over.")
	fmt.Println("the same conversation:", second.ConversationID == third.ConversationID)
	found, err := e.Grep(ctx, lookup.GrepRequest{Conversation: "agent:main", Pattern: "crane"}) // in all of that key
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Hits[0].Snippet)
	// Output:
	// 1 message left the context
	// the same conversation: true
	// the same conversation: false
	// The crane at berth four is down.
}

// With Deferred, Compact only notes what is due, and CompactPending does it when nobody waits.
func ExampleEngine_CompactPending() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{Conversation: setup.Conversation{FreshTailCount: 2, LeafTargetTokens: 60, Deferred: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	harbour(ctx, e)
	c, err := e.Compact(ctx, compact.Request{Conversation: "harbour", Budget: 120})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Reason, c.Changed)
	done, err := e.CompactPending(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range done {
		fmt.Println(c.Reason, c.Changed)
	}
	// Output:
	// deferred false
	// compacted true
}

// Doctor explains every fault of a file, and with Apply repairs it after a copy was made.
func ExampleEngine_Doctor() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "mallard-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	e, err := engine.Open(ctx, filepath.Join(folder, "agent.db"), engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	harbour(ctx, e)
	d, err := e.Doctor(ctx, upkeep.DoctorRequest{Apply: true, Backup: filepath.Join(folder, "before.db")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(d.Findings), "findings,", len(d.Left), "left")
	// Output: 0 findings, 0 left
}

// PruneSetAside removes for good what left the context long ago and is no talk.
func ExampleEngine_PruneSetAside() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{Conversation: setup.Conversation{PruneHeartbeats: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	_, err = e.Append(ctx, conversation.AppendRequest{Conversation: "harbour", Messages: []conversation.Message{
		{Role: "user", Text: "Read HEARTBEAT.md and follow it."}, {Role: "assistant", Text: "HEARTBEAT_OK"}}})
	if err != nil {
		log.Fatal(err)
	}
	for _, dry := range []bool{true, false, true} {
		p, err := e.PruneSetAside(ctx, compact.PruneSetAsideRequest{DryRun: dry})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(p.Messages, "messages; only counted:", p.DryRun)
	}
	// Output:
	// 2 messages; only counted: true
	// 2 messages; only counted: false
	// 0 messages; only counted: true
}
