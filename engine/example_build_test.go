package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/setup"
)

// Build makes the context of the next call of a model, as a preset says, and tells why it is so.
func ExampleEngine_Build() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	harbour(ctx, e)

	b, err := e.Build(ctx, build.Request{Conversation: "harbour", Preset: "takobot", Budget: 150, Input: "When does Ines build the brake in?"})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range b.Sections {
		if s.Name == build.History || s.Name == build.Input {
			fmt.Printf("## %s\n%s\n", s.Name, s.Text)
		}
	}
	for _, it := range b.Items {
		if it.Kind == "message" && !it.Kept && it.Seq > 4 {
			fmt.Println(it.Name, "is left out:", it.Reason)
		}
	}
	fmt.Println(b.Trim.Note)
	// Output:
	// ## history
	// User: Unrelated: what is a good soup for a cold evening?
	// Assistant: A leek and potato soup: forty minutes, one pot.
	// ## input
	// When does Ines build the brake in?
	// #5 is left out: budget
	// #6 is left out: budget
	// 6 messages left out
}

// A preset of one's own is a built-in one with other values, in Go or in a file.
func ExampleEngine_Build_own() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	harbour(ctx, e)

	own, err := build.ReadPresets(`
[presets.brief]
base = "istota"
sections = ["history", "input"]
[presets.brief.guarantee]
recent = 1
[presets.brief.select]
by = "lexical"
most = 1
`)
	if err != nil {
		log.Fatal(err)
	}
	b, err := e.Build(ctx, build.Request{Conversation: "harbour", Preset: "brief", Own: own, Input: "How many spare brakes do we order?"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.Text())
	fmt.Println(b.Selection.Outcome, b.Selection.Chosen)
	// Output:
	// ## history
	// [2026-03-06 09:00] User: Decision: we order two spare brakes, and keep one at the berth.
	// [2026-03-08 09:00] Bot: Noted: two spare brakes for HB-412, one kept at berth four.
	// [2026-03-14 09:00] User: Unrelated: what is a good soup for a cold evening?
	// [2026-03-16 09:00] Bot: A leek and potato soup: forty minutes, one pot.
	//
	// ## input
	// How many spare brakes do we order?
	// chosen [#3]
}

// VerifyContext builds a context that was kept again and compares the hashes; DiffContexts says what changed from one to another.
func ExampleEngine_VerifyContext() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{Conversation: setup.Conversation{FreshTailCount: 2, LeafTargetTokens: 60}})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	harbour(ctx, e)
	build := func(preset string) *build.Built {
		b, err := e.Build(ctx, build.Request{Conversation: "harbour", Preset: preset, Input: "And now?", Snapshot: true})
		if err != nil {
			log.Fatal(err)
		}
		return b
	}
	recent, whole := build("openboa"), build("goclaw")
	if _, err := e.Compact(ctx, compact.Request{Conversation: "harbour", Budget: 120}); err != nil {
		log.Fatal(err)
	}
	for _, b := range []struct{ name, id string }{{"openboa", recent.SnapshotID}, {"goclaw", whole.SnapshotID}} {
		v, err := e.VerifyContext(ctx, b.id, "")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s, after compaction: the same: %v, %d changes\n", b.name, v.Same, len(v.Changes))
	}
	d, err := e.DiffContexts(ctx, whole.SnapshotID, build("goclaw").SnapshotID, "")
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range d.Changes[:2] {
		fmt.Println(c.Kind, c.Name, "in", c.Section, "is", c.What)
	}
	all, err := e.ContextSnapshots(ctx, snapshotsOf("harbour"))
	if err != nil {
		log.Fatal(err)
	}
	first, err := e.ContextSnapshot(ctx, recent.SnapshotID, "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(all), "snapshots; the first shows", first.Counts.Messages, "messages by", first.Preset)
	// Output:
	// openboa, after compaction: the same: true, 0 changes
	// goclaw, after compaction: the same: false, 7 changes
	// text guidance in system is added
	// summary #1-6 in summary is added
	// 3 snapshots; the first shows 8 messages by openboa
}

// PruneContextSnapshots removes what nobody will compare any more.
func ExampleEngine_PruneContextSnapshots() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	harbour(ctx, e)
	for range 5 {
		if _, err := e.Build(ctx, build.Request{Conversation: "harbour", Preset: "openboa", Input: "And now?"}); err != nil {
			log.Fatal(err)
		}
	}
	for _, dry := range []bool{true, false} {
		p, err := e.PruneContextSnapshots(ctx, build.PruneRequest{Keep: 2, DryRun: dry})
		if err != nil {
			log.Fatal(err)
		}
		all, err := e.ContextSnapshots(ctx, snapshotsOf("harbour"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(p.Snapshots, "to go,", len(all), "there")
	}
	// Output:
	// 3 to go, 5 there
	// 3 to go, 2 there
}

func snapshotsOf(conversation string) build.SnapshotsRequest {
	return build.SnapshotsRequest{Conversation: conversation}
}
