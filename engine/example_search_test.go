package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/note"
	"github.com/mallardmem/mallard/engine/recall"
)

// quay is an engine with two days of talk, of which a clock began a part.
func quay(ctx context.Context) *engine.Engine {
	e, err := engine.Open(ctx, ":memory:", engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	at := func(day, hour int) time.Time { return time.Date(2026, 6, day, hour, 0, 0, 0, time.UTC) }
	_, err = e.Append(ctx, conversation.AppendRequest{Conversation: "quay", Messages: []conversation.Message{
		{Role: "user", Text: "The crane is at 100% load", SaidAt: at(1, 8)},
		{Role: "assistant", Text: "Then let nobody under it", SaidAt: at(1, 9)},
		{Role: "user", Text: "Report the load of the crane", SaidAt: at(2, 6), SourceKind: "cron"},
		{Role: "user", Text: "The crane stands still again", SaidAt: at(2, 8)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	return e
}

// Nothing in the text is a wildcard, and what a clock began is left out.
func ExampleEngine_Search() {
	ctx := context.Background()
	e := quay(ctx)
	defer e.Close()
	for _, r := range []lookup.SearchRequest{
		{Text: "100%", Match: lookup.ExactMatch},
		{Text: "the crane", Match: lookup.ExactMatch, Said: lookup.Said{HumanOnly: true, Roles: []string{"user"}}},
		{Match: lookup.RecentMatch, Limit: 1},
	} {
		found, err := e.Search(ctx, r)
		if err != nil {
			log.Fatal(err)
		}
		for _, h := range found.Hits {
			fmt.Printf("%s %q: %s, %s\n", r.Match, r.Text, h.Role, h.Snippet)
		}
	}
	// Output:
	// exact "100%": user, The crane is at 100% load
	// exact "the crane": user, The crane stands still again
	// exact "the crane": user, The crane is at 100% load
	// recent "": user, The crane stands still again
}

// The silence lasts from what a user said until the next thing that one said.
func ExampleEngine_Gaps() {
	ctx := context.Background()
	e := quay(ctx)
	defer e.Close()
	gaps, err := e.Gaps(ctx, lookup.GapsRequest{Said: lookup.Said{HumanOnly: true}})
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range gaps {
		fmt.Println(g.Conversation, g.BeganAt.Format(time.DateTime), g.Lasted)
	}
	// Output:
	// quay 2026-06-01 08:00:00 24h0m0s
}

// What brought messages about.
func ExampleEngine_Tally() {
	ctx := context.Background()
	e := quay(ctx)
	defer e.Close()
	tally, err := e.Tally(ctx, lookup.TallyRequest{By: lookup.BySourceKind})
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range tally {
		fmt.Println(n.Name, n.Messages)
	}
	// Output:
	// talk 3
	// cron 1
}

// related is an engine with three memories, of which one caused the next.
func related(ctx context.Context) *engine.Engine {
	e, err := engine.Open(ctx, ":memory:", engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range []memory.RememberRequest{{ID: "cable", Text: "Krill chewed through the cable"}, {ID: "crane", Text: "The crane stood still"},
		{ID: "ferry", Text: "The ferry left late"}} {
		if _, err := e.Remember(ctx, r); err != nil {
			log.Fatal(err)
		}
	}
	for _, r := range []memory.RelateRequest{{ID: "crane", TargetID: "cable", Type: "caused_by"}, {ID: "ferry", TargetID: "crane", Type: "result_of", Weight: 0.5}} {
		if _, err := e.Relate(ctx, r); err != nil {
			log.Fatal(err)
		}
	}
	return e
}

// Relations are followed whichever of two memories says so.
func ExampleEngine_Related() {
	ctx := context.Background()
	e := related(ctx)
	defer e.Close()
	all, err := e.Related(ctx, memory.RelatedRequest{ID: "cable", Depth: 2})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range all {
		fmt.Println(s.Depth, s.Type, s.Memory.Text, s.Weight)
	}
	// Output:
	// 1 caused_by The crane stood still 1
	// 2 result_of The ferry left late 0.5
}

// A relation that there is gets the weight.
func ExampleEngine_Relate() {
	ctx := context.Background()
	e := related(ctx)
	defer e.Close()
	m, err := e.Relate(ctx, memory.RelateRequest{ID: "crane", TargetID: "cable", Type: "caused_by", Weight: 0.25})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Relations)
	// Output:
	// [{caused_by cable 0.25}]
}

// Without a type, all that Relate noted is taken back.
func ExampleEngine_Unrelate() {
	ctx := context.Background()
	e := related(ctx)
	defer e.Close()
	if err := e.Unrelate(ctx, memory.UnrelateRequest{ID: "crane", TargetID: "cable"}); err != nil {
		log.Fatal(err)
	}
	all, err := e.Related(ctx, memory.RelatedRequest{ID: "cable", Depth: 3})
	fmt.Println(len(all), err)
	// Output:
	// 0 <nil>
}

// agentFolder is an engine, and a folder with two Markdown files that it has read.
func agentFolder(ctx context.Context) (e *engine.Engine, folder string) {
	folder, err := os.MkdirTemp("", "agent")
	if err != nil {
		log.Fatal(err)
	}
	files := map[string]string{"MEMORY.md": "# Harbour\n\nThe crane belongs to Teo.\n", "memory/2026-05-01.md": "Low tide is at seven in the morning.\n"}
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	if e, err = engine.Open(ctx, ":memory:", engine.Options{}); err != nil {
		log.Fatal(err)
	}
	if _, err := e.SyncNotes(ctx, note.SyncRequest{Folder: folder}); err != nil {
		log.Fatal(err)
	}
	return e, folder
}

// What changed is read again, and found with its file and lines.
func ExampleEngine_SyncNotes() {
	ctx := context.Background()
	e, folder := agentFolder(ctx)
	defer os.RemoveAll(folder)
	defer e.Close()
	if err := os.WriteFile(filepath.Join(folder, "MEMORY.md"), []byte("The crane belongs to Ines.\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	s, err := e.SyncNotes(ctx, note.SyncRequest{Folder: folder})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("changed", s.Changed, "unchanged", s.Unchanged)
	found, err := e.Recall(ctx, recall.Query{Text: "Who owns the crane?", Kinds: []kinds.Kind{kinds.Note}})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range found.Hits {
		fmt.Printf("%s:%d-%d %s\n", h.Path, h.FirstLine, h.LastLine, h.Text)
	}
	// Output:
	// changed [MEMORY.md] unchanged 1
	// MEMORY.md:1-1 The crane belongs to Ines.
}

func ExampleEngine_NoteFiles() {
	ctx := context.Background()
	e, folder := agentFolder(ctx)
	defer os.RemoveAll(folder)
	defer e.Close()
	all, err := e.NoteFiles(ctx, note.FilesRequest{Folder: folder})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range all {
		fmt.Println(f.Path, f.Scope, f.Lines, "lines")
	}
	// Output:
	// MEMORY.md global 3 lines
	// memory/2026-05-01.md global 1 lines
}

// Only files that have notes are read back, whatever the path.
func ExampleEngine_ReadNote() {
	ctx := context.Background()
	e, folder := agentFolder(ctx)
	defer os.RemoveAll(folder)
	defer e.Close()
	p, err := e.ReadNote(ctx, note.ReadRequest{Path: "MEMORY.md", FirstLine: 3, LastLine: 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Text)
	_, err = e.ReadNote(ctx, note.ReadRequest{Path: "../../etc/passwd"})
	fmt.Println(err)
	// Output:
	// The crane belongs to Teo.
	// read note: not found: no file "../../etc/passwd" has notes
}

func ExampleEngine_ForgetNotes() {
	ctx := context.Background()
	e, folder := agentFolder(ctx)
	defer os.RemoveAll(folder)
	defer e.Close()
	n, err := e.ForgetNotes(ctx, note.ForgetRequest{Path: "memory/2026-05-01.md"})
	if err != nil {
		log.Fatal(err)
	}
	found, err := e.Recall(ctx, recall.Query{Text: "low tide", Kinds: []kinds.Kind{kinds.Note}})
	fmt.Println(n, len(found.Hits), err)
	// Output:
	// 1 0 <nil>
}
