package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/turn"
)

func ExampleEngine_BeforeTurn() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{Embedder: static.New()})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Remember(ctx, memory.RememberRequest{Text: "Ines is allergic to penicillin", Category: memory.Profile}); err != nil {
		log.Fatal(err)
	}
	for _, prompt := range []string{"Hello!", "What is Ines allergic to?", "Ines has a cold, and what is she allergic to again?"} {
		known, err := e.BeforeTurn(ctx, turn.Turn{Session: "clinic", Prompt: prompt})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("turn %d shows %d, skipped: %q\n", known.Turn, len(known.Hits), known.Skipped)
		for _, h := range known.Hits {
			fmt.Println(h.Text)
		}
		for _, h := range known.Held {
			fmt.Println("held back:", h.Reason)
		}
	}
	// Output:
	// turn 1 shows 0, skipped: "small talk"
	// turn 2 shows 1, skipped: ""
	// Ines is allergic to penicillin
	// turn 3 shows 0, skipped: ""
	// held back: repeated
}

func ExampleEngine_AfterTurn() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{Embedder: static.New(), Turns: setup.Turns{ExtractMessages: 2}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	for _, said := range []string{"Please remember that my favorite editor is Zed.", "And we decided to ship on Friday."} {
		done, err := e.AfterTurn(ctx, turn.Turn{Conversation: "standup", Prompt: said, Answer: "I will keep that in mind."})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d kept, waiting: %q\n", done.Added, done.Waiting)
		if done.Extraction != nil {
			for _, d := range done.Extraction.Drafts {
				fmt.Printf("%s, %s: %s\n", d.Verdict, d.Category, d.Text)
			}
		}
	}
	// Output:
	// 2 kept, waiting: "unread: 1 of 2 messages, 47 of 8000 characters"
	// 2 kept, waiting: ""
	// create, preference: favorite editor: Zed
	// create, event: And we decided to ship on Friday.
}
