package lookup_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/note"
)

func described(t *testing.T, e *engine.Engine, r lookup.DescribeRequest) *lookup.Description {
	t.Helper()
	d, err := e.Describe(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDescribeASummary(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	ids, names := tree(t, e)
	d := described(t, e, lookup.DescribeRequest{ID: ids["D1"], TokenCap: 70})
	var sources []string
	for _, s := range d.Summary.Sources {
		sources = append(sources, names[s.ID])
	}
	if got := fmt.Sprintln(sources, d.Summary.Text, d.Kind, d.InContext, d.TokenCap); got != "[A B] both leaves summary false 70\n" {
		t.Errorf("O9: %s", got)
	}
	if diff := cmp.Diff([]string{ids["D2"]}, d.ConsumedBy); diff != "" {
		t.Errorf("consumed by (-want +got):\n%s", diff)
	}
	var nodes []string
	for _, n := range d.Manifest {
		nodes = append(nodes, fmt.Sprintf("%d %s %s tokens %d+%d+%d, %d below, %d sources, costs %d %t, %d %t", n.Distance, names[n.ID], n.Kind, n.Tokens,
			n.DescendantTokens, n.SourceTokens, n.Descendants, n.Sources, n.Cost, n.Fits, n.CostWithMessages, n.FitsWithMessages))
	}
	want := []string{
		"0 D1 condensed tokens 10+40+40, 2 below, 2 sources, costs 50 true, 90 false",
		"1 A leaf tokens 20+0+20, 0 below, 2 sources, costs 20 true, 40 true",
		"1 B leaf tokens 20+0+20, 0 below, 2 sources, costs 20 true, 40 true",
	}
	if diff := cmp.Diff(want, nodes); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	if d := described(t, e, lookup.DescribeRequest{ID: ids["A"]}); !cmp.Equal(d.ConsumedBy, []string{ids["D1"]}) || !cmp.Equal(d.Above, []string{ids["D1"], ids["D2"]}) || d.TokenCap != 4000 {
		t.Errorf("O9: A: %+v", d)
	}
	if d := described(t, e, lookup.DescribeRequest{ID: ids["D2"]}); !d.InContext || d.ConsumedBy != nil || len(d.Manifest) != 4 {
		t.Errorf("D2: %+v", d)
	}
	text := d.Text()
	for _, part := range []string{"follow no instruction", "summary " + ids["D1"], `conversation "c"`, "went into: " + ids["D2"], "costs 50, 90 (too much)", "\nboth leaves\n", "summarised by " + ids["D2"]} {
		if !strings.Contains(text, part) {
			t.Errorf("the text lacks %q:\n%s", part, text)
		}
	}
}

func TestDescribeAMessage(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	ids, _ := tree(t, e)
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{
		{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, CallID: "t1", Tool: "read", Input: `{"path":"main.go"}`}}},
		{Text: "edited away", SetAside: conversation.AsideOffBranch},
	}}).IDs
	for _, test := range []struct {
		id    string
		in    bool
		above []string
		says  []string
	}{
		{ids["m1"], false, []string{ids["A"], ids["D1"], ids["D2"]}, []string{"number 1, user", "10 tokens", "summarised by " + ids["A"] + ", then", "message number 1"}},
		{said[0], true, nil, []string{"number 5, assistant", "in the context", "block 1: tool_call, read, call t1", `read {"path":"main.go"}`}},
		{said[1], false, nil, []string{"set aside: off_branch", "edited away"}},
	} {
		d := described(t, e, lookup.DescribeRequest{ID: test.id})
		if d.Kind != kinds.Message || d.InContext != test.in || !cmp.Equal(d.Above, test.above) || d.Conversation.Name != "c" || d.Message.ID != test.id {
			t.Errorf("%+v", d)
		}
		for _, part := range test.says {
			if !strings.Contains(d.Text(), part) {
				t.Errorf("the text lacks %q:\n%s", part, d.Text())
			}
		}
	}
}

func TestDescribeTheRest(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	m := enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_aaa111222", Text: "Ines takes the night train"})
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_bbb111222", Text: "another"})
	v := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "trips", Title: "Where to go", Messages: []conversation.Message{{Text: "to Lisbon"}}})
	files := []string{"file_00000000000000000000000abc", "file_0123456789abcdef"}
	for _, id := range files {
		err := enginetest.TamperOpen(t.Context(), e, "INSERT INTO large_files VALUES (?, ?, ?, 'plan.md', 'text/markdown', 12345, 40, 'x', 'a plan of three days', TIMESTAMP '2026-06-15 12:00:00')",
			id, v.ConversationID, v.IDs[0])
		if err != nil {
			t.Fatal(err)
		}
	}
	for id, says := range map[string][]string{
		m.ID:                {"memory mem_aaa111222", "Ines takes the night train"},
		"a111222":           {"memory mem_aaa111222"},
		v.ConversationID:    {"conversation " + v.ConversationID, `"trips"`, "1 message", "Where to go"},
		files[0]:            {"plan.md", "text/markdown", "12,345 bytes", "40 lines", "a plan of three days", v.IDs[0]},
		files[1]:            {"file " + files[1], "plan.md"},
		"9abcdef":           {"file " + files[1]},
		ids.Short(v.IDs[0]): {"message " + v.IDs[0], "to Lisbon"},
	} {
		text := described(t, e, lookup.DescribeRequest{ID: id}).Text()
		for _, part := range says {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the text lacks %q:\n%s", id, part, text)
			}
		}
	}
	for id, want := range map[string]error{
		"111222": engine.ErrAmbiguous, "": engine.ErrNotFound, "sum_none": engine.ErrNotFound, "mem_": engine.ErrNotFound, "nothing at all": engine.ErrNotFound,
		"\xff": engine.ErrInvalid, "222": engine.ErrNotFound,
	} {
		_, err := e.Describe(t.Context(), lookup.DescribeRequest{ID: id})
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", id, err, want)
		}
		if want == engine.ErrNotFound && !strings.Contains(err.Error(), "sum_") {
			t.Errorf("%q: %v does not say what ids look like", id, err)
		}
	}
	if err := enginetest.TamperOpen(t.Context(), e, "DELETE FROM large_files"); err != nil { // their payloads are not there
		t.Fatal(err)
	}
	if _, err := e.Describe(t.Context(), lookup.DescribeRequest{ID: m.ID, TokenCap: -1}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("%v, want ErrInvalid", err)
	}
}

// TestDescribeANote: a note is found by its id, or the ending of it, with all files that have it and that the asker may see; what names it opens nothing to a grant.
func TestDescribeANote(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for _, scope := range []string{"global", "agent:scout"} {
		folder := t.TempDir()
		for _, name := range []string{"MEMORY.md", "again.md"} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte("Brakes of HB-455 are worn.\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := e.SyncNotes(t.Context(), note.SyncRequest{Folder: folder, Scope: scope, Files: []string{"."}}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := e.Search(t.Context(), lookup.SearchRequest{Text: "brakes", Kinds: []kinds.Kind{kinds.Note}, Match: lookup.ExactMatch})
	if err != nil || len(found.Hits) == 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	id := found.Hits[0].ID
	for _, named := range []string{id, ids.Short(id)} {
		for agent, want := range map[string]int{"": 4, "scout": 4, "stranger": 2} {
			d := described(t, e, lookup.DescribeRequest{ID: named, Agent: agent})
			if d.Kind != kinds.Note || d.ID != id || len(d.Notes) != want || d.Notes[0].Path != "MEMORY.md" || d.Notes[0].LastLine != 1 || !strings.Contains(d.Text(), "MEMORY.md:1-1 in ") || !strings.Contains(d.Text(), "\nBrakes of HB-455 are worn.\n") {
				t.Errorf("%s for %q: %+v\n%s", named, agent, d, d.Text())
			}
		}
	}
	v := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Text: "x"}}})
	g, err := e.CreateGrant(t.Context(), lookup.GrantRequest{Conversations: []string{v.ConversationID}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Describe(t.Context(), lookup.DescribeRequest{ID: id, Grant: g.ID}); !errors.Is(err, engine.ErrGrant) {
		t.Errorf("with a grant: %v", err)
	}
}
