package engine_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/setup"
)

// harbour is a talk of four weeks, as a host would append it turn by turn.
func harbour(ctx context.Context, e *engine.Engine) {
	day := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for i, said := range []string{
		"The crane at berth four is down again. Can you find out why?",
		"The log says: hoist brake HB-412 overheated at 07:14. It was replaced in January.",
		"Decision: we order two spare brakes, and keep one at the berth.",
		"Noted: two spare brakes for HB-412, one kept at berth four.",
		"The brakes came today. Ines will build one in on Thursday.",
		"I will remind Ines on Thursday morning.",
		"Unrelated: what is a good soup for a cold evening?",
		"A leek and potato soup: forty minutes, one pot.",
	} {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		_, err := e.Append(ctx, conversation.AppendRequest{Conversation: "harbour", Messages: []conversation.Message{
			{Key: fmt.Sprint("turn-", i), Role: role, Text: said, SaidAt: day.AddDate(0, 0, 2*i)}}})
		if err != nil {
			log.Fatal(err)
		}
	}
}

// Compact makes summaries of what is old, Assemble shows a model what fits, and Grep and Expand find what was summarised away. Nothing
// of it needs a model.
func ExampleEngine_Compact() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{Conversation: setup.Conversation{FreshTailCount: 2, LeafTargetTokens: 60}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	harbour(ctx, e)

	c, err := e.Compact(ctx, compact.Request{Conversation: "harbour", Budget: 120})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Changed, c.Reason, c.TokensBefore, "to", c.TokensAfter, "tokens")
	items, err := e.Context(ctx, compact.ContextRequest{Conversation: "harbour"})
	if err != nil {
		log.Fatal(err)
	}
	for _, i := range items {
		fmt.Println(i.Kind, i.Messages, i.Text)
	}

	found, err := e.Grep(ctx, lookup.GrepRequest{Conversation: "harbour", Pattern: "overheated brake", Kinds: []kinds.Kind{kinds.Message}, Limit: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.Hits {
		fmt.Println(hit.Seq, hit.Snippet)
	}
	expanded, err := e.Expand(ctx, lookup.ExpandRequest{IDs: []string{items[0].Ref}, Messages: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(expanded.Items), "messages,", expanded.Tokens, "tokens")
	// Output:
	// true compacted 117 to 80 tokens
	// summary 6 [2026-03-06 09:00 UTC] user: Decision: we order two spare brakes, and keep one at the berth.
	// [2026-03-12 09:00 UTC] assistant: I will remind Ines on Thursday morning.
	// Expand for details about: HB-412, January, berth four
	// message 1 Unrelated: what is a good soup for a cold evening?
	// message 1 A leek and potato soup: forty minutes, one pot.
	// 2 The log says: hoist brake HB-412 overheated at 07:14. It was replaced in January.
	// 6 messages, 92 tokens
}

// Assemble gives what a model is shown, within a budget, in the shape that its provider wants.
func ExampleEngine_Assemble() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{Conversation: setup.Conversation{FreshTailCount: 2}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	harbour(ctx, e)
	a, err := e.Assemble(ctx, assemble.Request{Conversation: "harbour", Budget: 60})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Tokens, "of", a.Budget, "tokens;", a.Left.Items, "items left out")
	for _, m := range a.OpenAI() {
		fmt.Printf("%s: %v\n", m.Role, m.Content)
	}
	// Output:
	// 50 of 60 tokens; 4 items left out
	// user: The brakes came today. Ines will build one in on Thursday.
	// assistant: I will remind Ines on Thursday morning.
	// user: Unrelated: what is a good soup for a cold evening?
	// assistant: A leek and potato soup: forty minutes, one pot.
}
