package engine_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

// compactedHarbour is an engine in which the talk of harbour stands as a summary and its two newest messages.
func compactedHarbour(ctx context.Context) (e *engine.Engine, summary string) {
	e, err := engine.Open(ctx, ":memory:", engine.Options{Conversation: setup.Conversation{FreshTailCount: 2, LeafTargetTokens: 60}})
	if err != nil {
		log.Fatal(err)
	}
	harbour(ctx, e)
	c, err := e.Compact(ctx, compact.Request{Conversation: "harbour", Budget: 120})
	if err != nil {
		log.Fatal(err)
	}
	return e, c.Passes[0].SummaryID
}

// Describe tells what is behind an id before anything is spent on it.
func ExampleEngine_Describe() {
	ctx := context.Background()
	e, summary := compactedHarbour(ctx)
	defer e.Close()
	d, err := e.Describe(ctx, lookup.DescribeRequest{ID: summary})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Kind, d.Summary.Kind, "in the context:", d.InContext)
	fmt.Println(d.Summary.Messages, "messages,", d.Summary.SourceTokens, "tokens")
	for _, node := range d.Manifest {
		fmt.Println("with its messages", node.CostWithMessages, "tokens, which fit:", node.FitsWithMessages)
	}
	// Output:
	// summary leaf in the context: true
	// 6 messages, 92 tokens
	// with its messages 147 tokens, which fit: true
}

// ExpandQuery answers a question from what summaries stand for; without a model it gives the messages themselves.
func ExampleEngine_ExpandQuery() {
	ctx := context.Background()
	e, _ := compactedHarbour(ctx)
	defer e.Close()
	answer, err := e.ExpandQuery(ctx, lookup.ExpandQueryRequest{Conversation: "harbour", Prompt: "Which part overheated?", TokenCap: 30})
	if err != nil {
		log.Fatal(err)
	}
	for _, excerpt := range answer.Excerpts {
		fmt.Println(excerpt.Message.Seq, excerpt.Message.Text)
	}
	// Output:
	// 2 The log says: hoist brake HB-412 overheated at 07:14. It was replaced in January.
}

// A grant lets a sub-agent expand what it covers, and no more than so many tokens in all its calls together.
func ExampleEngine_CreateGrant() {
	ctx := context.Background()
	e, summary := compactedHarbour(ctx)
	defer e.Close()
	grant, err := e.CreateGrant(ctx, lookup.GrantRequest{Conversations: []string{"harbour"}, TokenCap: 80})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		x, err := e.Expand(ctx, lookup.ExpandRequest{IDs: []string{summary}, Messages: true, Grant: grant.ID, Agent: "helper"})
		if err != nil {
			log.Fatal(err) // engine.ErrGrantSpent, when not a token is left
		}
		fmt.Println(len(x.Items), "messages,", x.Tokens, "tokens; there is more:", x.Truncated)
	}
	// Output:
	// 4 messages, 67 tokens; there is more: true
	// 0 messages, 0 tokens; there is more: true
}

// Recall finds summaries as it finds memories, and lifts messages to the summaries above them.
func ExampleEngine_Recall_lift() {
	ctx := context.Background()
	e, _ := compactedHarbour(ctx)
	defer e.Close()
	for _, q := range []recall.Query{
		{Text: "spare brakes", Kinds: []kinds.Kind{kinds.Summary}},
		{Text: "spare brakes", Kinds: []kinds.Kind{kinds.Message}, Lift: recall.LiftToSummary, Limit: 1},
	} {
		result, err := e.Recall(ctx, q)
		if err != nil {
			log.Fatal(err)
		}
		for _, hit := range result.Hits {
			if hit.Lifted != nil {
				fmt.Println(hit.Kind, "above", len(hit.Lifted.From), "messages that were found")
				continue
			}
			first, _, _ := strings.Cut(hit.Text, "\n")
			fmt.Println(hit.Kind, first)
		}
	}
	// Output:
	// summary [2026-03-06 09:00 UTC] user: Decision: we order two spare brakes, and keep one at the berth.
	// summary above 4 messages that were found
}

// RewriteSummary gives a summary another text, and DissolveSummary puts back what it stood for.
func ExampleEngine_DissolveSummary() {
	ctx := context.Background()
	e, summary := compactedHarbour(ctx)
	defer e.Close()
	s, err := e.RewriteSummary(ctx, compact.RewriteRequest{ID: summary, Text: "HB-412 overheated; two spare brakes came, Ines builds one in."})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Tokens, "tokens for", s.SourceTokens)
	if _, err := e.DissolveSummary(ctx, compact.DissolveRequest{ID: summary}); err != nil {
		log.Fatal(err)
	}
	items, err := e.Context(ctx, compact.ContextRequest{Conversation: "harbour"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(items), "items in the context")
	// Output:
	// 16 tokens for 92
	// 8 items in the context
}
