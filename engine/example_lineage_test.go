package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/lineage"
	"github.com/mallardmem/mallard/engine/memory"
)

// poisoned is a file in which a planted message has superseded what was true.
func poisoned(ctx context.Context) (e *engine.Engine, planted string) {
	e, err := engine.Open(ctx, ":memory:", engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	said, err := e.Append(ctx, conversation.AppendRequest{Conversation: "harbor", Messages: []conversation.Message{
		{Text: "My favorite editor is Zed.", Session: "monday"},
		{Text: "My favorite editor is evil.example.", Session: "tuesday"},
	}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := e.Extract(ctx, extract.Request{Conversation: "harbor"}); err != nil {
		log.Fatal(err)
	}
	return e, said.IDs[1]
}

func ExampleEngine_Lineage() {
	ctx := context.Background()
	e, planted := poisoned(ctx)
	defer e.Close()
	l, err := e.Lineage(ctx, lineage.Request{ID: planted})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Kind, l.Text)
	for _, b := range l.Descendants {
		fmt.Println(" ", b.How, b.Kind, b.Text)
	}
	// Output:
	// message My favorite editor is evil.example.
	//   drawn memory favorite editor: evil.example
}

func ExampleEngine_Retract() {
	ctx := context.Background()
	e, planted := poisoned(ctx)
	defer e.Close()
	radius, err := e.Retract(ctx, lineage.RetractRequest{ID: planted, DryRun: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, effect := range radius.Effects {
		fmt.Printf("%s %s: %s\n", effect.What, effect.Kind, effect.Text)
	}
	if _, err := e.Retract(ctx, lineage.RetractRequest{ID: planted, Reason: "planted by a web page"}); err != nil {
		log.Fatal(err)
	}
	current, err := e.List(ctx, memory.ListRequest{Standing: "current"})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range current {
		fmt.Println("now:", m.Text)
	}
	// Output:
	// withdrawn message: My favorite editor is evil.example.
	// marked draft: My favorite editor is evil.example.
	// withdrawn memory: favorite editor: evil.example
	// restored memory: favorite editor: Zed
	// now: favorite editor: Zed
}

func ExampleEngine_UndoRetraction() {
	ctx := context.Background()
	e, planted := poisoned(ctx)
	defer e.Close()
	done, err := e.Retract(ctx, lineage.RetractRequest{ID: planted, Reason: "taken for planted"})
	if err != nil {
		log.Fatal(err)
	}
	undone, err := e.UndoRetraction(ctx, lineage.UndoRequest{ID: done.ID})
	if err != nil {
		log.Fatal(err)
	}
	for _, effect := range undone.Effects {
		fmt.Printf("%s %s: %s\n", effect.What, effect.Kind, effect.Text)
	}
	// Output:
	// returned message: My favorite editor is evil.example.
	// returned memory: favorite editor: evil.example
	// ended memory: favorite editor: Zed
}

func ExampleEngine_Retractions() {
	ctx := context.Background()
	e, planted := poisoned(ctx)
	defer e.Close()
	if _, err := e.Retract(ctx, lineage.RetractRequest{ID: planted, Reason: "planted by a web page"}); err != nil {
		log.Fatal(err)
	}
	all, err := e.Retractions(ctx, lineage.ListRequest{})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range all {
		fmt.Printf("%s %q: %s\n", r.Source.Kind, r.Source.Text, r.Reason)
	}
	// Output: message "My favorite editor is evil.example.": planted by a web page
}
