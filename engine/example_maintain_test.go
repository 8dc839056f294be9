package engine_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/memory"
)

func ExampleEngine_Maintain() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{Embedder: static.New()})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	lastYear := time.Now().AddDate(-1, 0, 0)
	for _, text := range []string{"the crew likes strong black tea", "the crew likes very strong black tea"} {
		if _, err := e.Remember(ctx, memory.RememberRequest{Text: text, CreatedAt: lastYear}); err != nil {
			log.Fatal(err)
		}
	}
	done, err := e.Maintain(ctx, memory.MaintainRequest{DryRun: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range done.Merged {
		fmt.Printf("%d would become:\n%s\n", len(m.From), m.Text)
	}
	for _, c := range done.Tiers {
		fmt.Printf("%s to %s: %s\n", c.From, c.To, c.Reason)
	}
	// Output:
	// 2 would become:
	// the crew likes very strong black tea
	// the crew likes strong black tea
	// working to peripheral: older than sixty days and hardly used
	// working to peripheral: older than sixty days and hardly used
}

func ExampleEngine_SetRetention() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Remember(ctx, memory.RememberRequest{Text: "The ferry was late", Category: memory.Event, CreatedAt: time.Now().AddDate(-1, 0, 0)}); err != nil {
		log.Fatal(err)
	}
	policy := memory.Retention{Rules: []memory.RetentionRule{{Name: "stale events", Categories: []memory.Category{memory.Event}, UnusedDays: 180, Action: memory.ForgetAction}}}
	preview, err := e.Maintain(ctx, memory.MaintainRequest{DryRun: true, Retention: &policy})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("would take", len(preview.Retained[0].Taken), "and of those it would have taken,", preview.Retained[0].Missed, "were used later")
	if err := e.SetRetention(ctx, policy); err != nil {
		log.Fatal(err)
	}
	if _, err := e.Maintain(ctx, memory.MaintainRequest{}); err != nil {
		log.Fatal(err)
	}
	left, err := e.List(ctx, memory.ListRequest{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(left), "left")
	// Output:
	// would take 1 and of those it would have taken, 0 were used later
	// 0 left
}

func ExampleEngine_Retention() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	rule := memory.RetentionRule{Name: "trifles", Tiers: []memory.Tier{memory.Peripheral}, OlderDays: 365, LessImportant: 0.3, Action: memory.ArchiveAction}
	if err := e.SetRetention(ctx, memory.Retention{Rules: []memory.RetentionRule{rule}}); err != nil {
		log.Fatal(err)
	}
	policy, err := e.Retention(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range policy.Rules {
		fmt.Println(r.Name, "older than", r.OlderDays, "days:", r.Action)
	}
	// Output:
	// trifles older than 365 days: archive
}
