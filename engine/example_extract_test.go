package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/extract"
)

func ExampleEngine_Extract() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{Embedder: static.New()})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	for _, text := range []string{"Hi, my name is Ines and I live in Lisbon.", "My favorite editor is Vim.", "It rained all day.", "Actually, my favorite editor is Zed."} {
		if _, err := e.Append(ctx, conversation.AppendRequest{Conversation: "standup", Messages: []conversation.Message{{Text: text}}}); err != nil {
			log.Fatal(err)
		}
	}
	report, err := e.Extract(ctx, extract.Request{Conversation: "standup"})
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range report.Drafts {
		fmt.Printf("%s, %s: %s\n", d.Verdict, d.Category, d.Text)
	}
	// Output:
	// create, profile: name: Ines
	// create, profile: home: Lisbon
	// create, preference: favorite editor: Vim
	// supersede, preference: favorite editor: Zed
}
