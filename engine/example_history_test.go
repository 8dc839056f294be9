package engine_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// A memory that is edited keeps what it was: History shows what changed when, and KnownAt finds the former text by its own words.
func ExampleEngine_History() {
	ctx := context.Background()
	now := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	e, err := engine.Open(ctx, ":memory:", engine.Options{Now: func() time.Time { return now }})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	r, err := e.Remember(ctx, memory.RememberRequest{Text: "Release day is Thursday"})
	if err != nil {
		log.Fatal(err)
	}
	may := now
	now = now.AddDate(0, 1, 0)
	text := "Release day is Friday"
	if _, err := e.Update(ctx, memory.UpdateRequest{ID: r.ID, Text: &text}); err != nil {
		log.Fatal(err)
	}
	h, err := e.History(ctx, memory.HistoryRequest{ID: r.ID})
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range h.Versions {
		fmt.Println(v.KnownFrom.Format("2 January"), v.Memory.Text)
		for _, c := range v.Changes {
			fmt.Printf("  %s: %v → %v\n", c.Field, c.Old, c.New)
		}
	}
	then, err := e.Recall(ctx, recall.Query{Text: "Thursday", KnownAt: may})
	if err != nil {
		log.Fatal(err)
	}
	today, err := e.Recall(ctx, recall.Query{Text: "Thursday"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(then.Hits), then.Hits[0].Text, "–", len(today.Hits))
	// Output:
	// 1 May Release day is Thursday
	// 1 June Release day is Friday
	//   text: Release day is Thursday → Release day is Friday
	// 1 Release day is Thursday – 0
}
