package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

// harbourTalk has eight messages of a conversation.
func harbourTalk(ctx context.Context, e *engine.Engine) {
	r := conversation.AppendRequest{Conversation: "harbour"}
	for n := range 8 {
		r.Messages = append(r.Messages, conversation.Message{Role: []string{"user", "assistant"}[n%2], SaidAt: enginetest.Noon.Add(time.Duration(n) * time.Minute),
			Text: fmt.Sprintf("The gale moved crane %d off its rails, and the pilot waits for the tug until the crew has put it back.", n)})
	}
	if _, err := e.Append(ctx, r); err != nil {
		log.Fatal(err)
	}
}

// A checkpoint notes how a conversation stands, at shares of the budget and after so many messages of the user, or when somebody asks for it.
func ExampleEngine_MaybeCheckpoint() {
	ctx := context.Background()
	model := enginetest.Answers(`{"summary": "Eight cranes are off their rails.", "topics": ["cranes", "gale"], "decisions": [], "questions": ["When does the tug come?"]}`)
	e, err := engine.Open(ctx, ":memory:", engine.Options{LLM: model})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	harbourTalk(ctx, e)
	for _, tokens := range []int{49_000, 52_000, 53_000} { // as the provider counted them
		m, err := e.MaybeCheckpoint(ctx, checkpoint.Request{Conversation: "harbour", Budget: 200_000, Live: tokens})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tokens, m.Reason)
	}
	all, err := e.Checkpoints(ctx, checkpoint.ListRequest{Conversation: "harbour"})
	if err != nil {
		log.Fatal(err)
	}
	k, err := e.GetCheckpoint(ctx, all[0].ID, "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(k.Text())
	again, err := e.Checkpoint(ctx, checkpoint.Request{Conversation: "harbour"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Reason)
	// Output:
	// 49000 none is due
	// 52000 25 % of the budget
	// 53000 nothing was said since the last one
	// Eight cranes are off their rails.
	//
	// Topics: cranes, gale
	//
	// Open questions:
	// - When does the tug come?
	// nothing was said since the last one
}

// A host's own checkpoint is adopted once.
func ExampleEngine_AdoptCheckpoint() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	harbourTalk(ctx, e)
	for range 2 {
		k, adopted, err := e.AdoptCheckpoint(ctx, checkpoint.AdoptRequest{Conversation: "harbour", Key: "host:7", Summary: "Eight cranes are off their rails.", TokensAt: 50_000})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(k.ID != "", adopted)
	}
	// Output:
	// true true
	// true false
}

// Before a context is compacted a model is asked to write down what it must not forget. The prompt comes until it was given.
func ExampleEngine_FlushPrompt() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{Now: func() time.Time { return enginetest.Noon },
		Rolling: setup.Rolling{FlushThresholds: []string{"75 user Write what matters into memory/YYYY-MM-DD.md."}}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	harbourTalk(ctx, e)
	for _, tokens := range []int{140_000, 150_000, 151_000} {
		p, err := e.FlushPrompt(ctx, checkpoint.Request{Conversation: "harbour", Budget: 200_000, Live: tokens})
		if err != nil {
			log.Fatal(err)
		}
		if p == nil {
			fmt.Println(tokens, "no prompt")
			continue
		}
		fmt.Println(tokens, p.As+":", p.Text)
		if _, err := e.AckFlush(ctx, checkpoint.AckRequest{Conversation: "harbour", Cycle: p.Cycle, Percent: p.Percent}); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 140000 no prompt
	// 150000 user: Write what matters into memory/2026-06-15.md.
	// 151000 no prompt
}

// The policy rolling keeps one summary before the newest messages. While no model answers a line stands in for it, and RetryPending has it written later.
func ExampleEngine_RetryPending() {
	ctx := context.Background()
	model := enginetest.Answers(errors.New("503 Service Unavailable"), "Six cranes are off their rails, and the pilot waits.")
	e, err := engine.Open(ctx, ":memory:", engine.Options{LLM: model, Rolling: setup.Rolling{MinMessages: 2, EmergencyPercent: 30}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	harbourTalk(ctx, e)
	c, err := e.Compact(ctx, compact.Request{Conversation: "harbour", Policy: compact.Rolling, Force: true})
	if err != nil {
		log.Fatal(err)
	}
	show := func() {
		items, err := e.Context(ctx, compact.ContextRequest{Conversation: "harbour"})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d items, the first: %s\n", len(items), items[0].Text)
	}
	fmt.Println(c.Passes[0].Source)
	show()
	failing, err := e.FailingModels(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(failing[0].Name, failing[0].LastClass)
	r, err := e.RetryPending(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(r.Rewritten), "summary written")
	show()
	// Output:
	// stub
	// 5 items, the first: [No summary is available of 4 messages, 2 of them the user's, 2026-06-15 12:00 UTC to 2026-06-15 12:03 UTC. It is to be written later; until then they can be expanded.]
	// scripted server_error
	// 1 summary written
	// 5 items, the first: Six cranes are off their rails, and the pilot waits.
}
