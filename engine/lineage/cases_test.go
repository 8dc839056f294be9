package lineage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lineage"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// steps are those to a memory, as text.
func steps(t *testing.T, e *engine.Engine, id string) (all []string) {
	t.Helper()
	for _, row := range enginetest.Rows(t, e, fmt.Sprintf("SELECT concat_ws(' ', how, source_kind, derivation) FROM report.lineage WHERE id = '%s' ORDER BY derivation, how, source_kind", id)) {
		all = append(all, row[0].(string))
	}
	return all
}

// TestSourcesOfModel: what a model found and merged came from messages, calls and the older memory. Either of two that were merged takes the text along; a
// confirmation by another message holds it; and a call is a source like any other.
func TestSourcesOfModel(t *testing.T) {
	t.Parallel()
	const found = `{"memories": [{"category": "preference", "abstract": "Editor: Ana uses %s", "overview": "- it", "content": "Ana uses %s.", "turns": [1]}]}`
	answers := []string{fmt.Sprintf(found, "Vim for Go", "Vim for Go"), fmt.Sprintf(found, "Vim for Go and C", "Vim for Go and C"),
		`{"decision": "merge", "match_index": 1, "reason": "both", "context_label": ""}`, `{"abstract": "Editor: Ana uses Vim for Go and for C", "overview": "- Vim", "content": "Both."}`,
		fmt.Sprintf(found, "Vim for Go and for C", "Vim for Go and for C"), `{"decision": "support", "match_index": 1, "reason": "again", "context_label": "work"}`}
	llm := &enginetest.LLM{Answer: func(context.Context, string, string, int) (string, error) {
		if len(answers) == 0 {
			return "", errors.New("no more answers")
		}
		answer := answers[0]
		answers = answers[1:]
		return answer, nil
	}}
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, LLM: llm})
	first := say(t, e, "c", "I use Vim for Go.")[0]
	second := say(t, e, "c", "I use Vim for Go and C.")[0]
	merged := current(t, e)
	if !cmp.Equal(merged, []string{"Editor: Ana uses Vim for Go and for C"}) {
		t.Fatalf("%q", merged)
	}
	all, err := e.List(t.Context(), memory.ListRequest{Standing: "current"})
	if err != nil {
		t.Fatal(err)
	}
	m := all[0]
	if want := []string{"asked call 0", "asked call 0", "drawn message 0", "merged memory 0", "superseded memory 0"}; !cmp.Equal(want, steps(t, e, m.ID)) {
		t.Errorf("sources of the merged: %q", steps(t, e, m.ID))
	}
	l, err := e.Lineage(t.Context(), lineage.Request{ID: m.ID})
	if err != nil {
		t.Fatal(err)
	}
	kindsOf := map[string]int{}
	for _, b := range l.Ancestors {
		kindsOf[string(b.How)+" "+string(b.Kind)]++
	}
	if want := map[string]int{"asked call": 2, "drawn message": 1, "merged memory": 1, "superseded memory": 1}; !cmp.Equal(want, kindsOf) || len(l.Descendants) != 0 {
		t.Errorf("lineage: %v, %+v", kindsOf, l.Descendants)
	}
	was := rows(t, e)
	// The first message is in the merged text.
	done := retract(t, e, first)
	if got := current(t, e); len(got) != 0 {
		t.Errorf("without the first: %q", got)
	}
	undo(t, e, done.ID)
	same(t, "undone", was, rows(t, e))
	// Without the second the older text is back.
	done = retract(t, e, second)
	if got := current(t, e); !cmp.Equal(got, []string{"Editor: Ana uses Vim for Go"}) {
		t.Errorf("without the second: %q", got)
	}
	undo(t, e, done.ID)
	// Another message says so too, and that is a confirmation.
	third := say(t, e, "c", "At work I use Vim for Go and C.")[0]
	if s := enginetest.Get(t, e, m.ID).SupportOf(); s.TotalObservations != 2 || !slices.Contains(steps(t, e, m.ID), "supported message 1") {
		t.Fatalf("%+v, %q", s, steps(t, e, m.ID))
	}
	done = retract(t, e, second)
	if got := current(t, e); !cmp.Equal(got, merged) || done.Count(lineage.Kept) != 1 {
		t.Errorf("without the second, with the third: %q, %q", got, what(done))
	}
	other := retract(t, e, third)
	if got := current(t, e); !cmp.Equal(got, []string{"Editor: Ana uses Vim for Go"}) || enginetest.Get(t, e, m.ID).SupportOf().TotalObservations != 1 {
		t.Errorf("without both: %q, %q", got, what(other))
	}
	undo(t, e, done.ID)
	if got := current(t, e); !cmp.Equal(got, merged) {
		t.Errorf("with the second again: %q", got)
	}
	undo(t, e, other.ID)
	// The call that found the first.
	call := l.Ancestors[slices.IndexFunc(l.Ancestors, func(b *lineage.Branch) bool { return b.Kind == memory.CallKind })]
	if call.Text == "" || !strings.Contains(call.Text, llm.Model()) {
		t.Errorf("call: %+v", call.Node)
	}
	done = retract(t, e, call.ID)
	if done.Count(lineage.Kept)+done.Count(lineage.Withdrawn) < 2 {
		t.Errorf("without a call: %q", what(done))
	}
	undo(t, e, done.ID)
}

// TestUndoAfterChanges: what happened between a retraction and its undoing is respected.
func TestUndoAfterChanges(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T) *engine.Engine {
		return enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Conversation: enginetest.Small(1, 30)})
	}
	t.Run("superseded meanwhile", func(t *testing.T) {
		t.Parallel()
		e := open(t)
		said := say(t, e, "c", "My favorite editor is Vim.", "My favorite editor is Emacs.")
		done := retract(t, e, said[1])
		say(t, e, "c", "My favorite editor is Zed.")
		if got := current(t, e); !cmp.Equal(got, []string{"favorite editor: Zed"}) {
			t.Fatalf("%q", got)
		}
		undo(t, e, done.ID)
		if got := current(t, e); !cmp.Equal(got, []string{"favorite editor: Zed"}) {
			t.Errorf("undone: %q", got)
		}
		by := map[string]string{}
		for _, m := range everyMemory(t, e) {
			if m.SupersededBy != "" {
				by[m.Text] = enginetest.Get(t, e, m.SupersededBy).Text
			}
		}
		if want := map[string]string{"favorite editor: Vim": "favorite editor: Emacs", "favorite editor: Emacs": "favorite editor: Zed"}; !cmp.Equal(want, by) {
			t.Errorf("the succession: %v", by)
		}
	})
	t.Run("between two that stand", func(t *testing.T) {
		t.Parallel()
		e := open(t)
		said := say(t, e, "c", "My favorite editor is Vim.", "My favorite editor is Emacs.", "My favorite editor is Zed.")
		was := rows(t, e)
		done := retract(t, e, said[1])
		for _, m := range everyMemory(t, e) {
			if m.Text == "favorite editor: Vim" && (m.SupersededBy == "" || enginetest.Get(t, e, m.SupersededBy).Text != "favorite editor: Zed") {
				t.Errorf("Vim is ended by %q", m.SupersededBy)
			}
		}
		if done.Count(lineage.Restored) != 0 || done.Count(lineage.Relinked) == 0 {
			t.Errorf("%q", what(done))
		}
		undo(t, e, done.ID)
		same(t, "undone", was, rows(t, e))
	})
	t.Run("what it superseded is no source", func(t *testing.T) {
		t.Parallel()
		e := open(t)
		said := say(t, e, "c", "My favorite editor is Vim.", "My favorite editor is Zed.", "My favorite editor is Zed.")
		retract(t, e, said[0])
		done := retract(t, e, said[2])
		if got := current(t, e); !cmp.Equal(got, []string{"favorite editor: Zed"}) || done.Count(lineage.Kept) != 1 || done.Count(lineage.Unsupported) != 1 {
			t.Errorf("%q, %q", got, what(done))
		}
	})
	t.Run("purged meanwhile", func(t *testing.T) {
		t.Parallel()
		e := open(t)
		said := say(t, e, "c", "My favorite editor is Vim.", "My favorite editor is Emacs.", "I live in Lisbon.")
		done := retract(t, e, said[1])
		for _, m := range everyMemory(t, e) {
			if m.RetractedBy != "" {
				if _, err := e.Purge(t.Context(), memory.PurgeRequest{ID: m.ID}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "c", IDs: said[1:2]}); err != nil {
			t.Fatal(err)
		}
		back := undo(t, e, done.ID)
		if back.Count(lineage.Returned) != 0 || back.Count(lineage.Kept) != 1 || len(traces(t, e, "c", "Emacs")) > 0 {
			t.Errorf("%q, %q", what(back), traces(t, e, "c", "Emacs"))
		}
		if got := current(t, e); !slices.Contains(got, "favorite editor: Vim") {
			t.Errorf("%q", got)
		}
	})
	t.Run("its conversation was purged", func(t *testing.T) {
		t.Parallel()
		e := open(t)
		said := say(t, e, "c", "My favorite editor is Vim.", "My favorite editor is Emacs.")
		done := retract(t, e, said[1])
		if _, err := e.PurgeConversation(t.Context(), "c", ""); err != nil {
			t.Fatal(err)
		}
		enginetest.Check(t, e)
		if n := enginetest.Rows(t, e, "SELECT count(*) FROM memory_sources WHERE kind = 'message'"); n[0][0].(int64) != 0 {
			t.Errorf("%v sources are left", n)
		}
		back := undo(t, e, done.ID)
		t.Logf("%q", what(back))
	})
	for _, how := range []string{"compacted", "dissolved", "rewritten", "purged beside"} {
		t.Run(how+" meanwhile", func(t *testing.T) {
			t.Parallel()
			e := open(t)
			said := say(t, e, "c", "My favorite editor is Vim.", "The weather was fine on the whole coast.", "My favorite editor is Emacs.", "I live in Lisbon.", "It rained for most of the day.")
			if _, err := e.Compact(t.Context(), compact.Request{Conversation: "c", Force: true}); err != nil {
				t.Fatal(err)
			}
			done := retract(t, e, said[2])
			if done.Count(lineage.Rewritten)+done.Count(lineage.Removed) == 0 {
				t.Fatalf("no summary over it: %q", what(done))
			}
			var err error
			switch how {
			case "compacted":
				say(t, e, "c", "The harbour has nine berths for boats.", "The crane is broken since the storm of May.", "My name is Ana Souza.")
				_, err = e.Compact(t.Context(), compact.Request{Conversation: "c", Force: true})
			case "dissolved":
				_, err = e.DissolveSummary(t.Context(), compact.DissolveRequest{ID: summaryOf(t, e, "c")})
			case "rewritten":
				_, err = e.RewriteSummary(t.Context(), compact.RewriteRequest{ID: summaryOf(t, e, "c"), Text: "short"})
			case "purged beside":
				_, err = e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "c", IDs: said[:1]})
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := enginetest.Rows(t, e, "SELECT count(*) FROM retraction_effects WHERE kind = 'summary' AND was IS NOT NULL"); how == "purged beside" && n[0][0].(int64) != 0 {
				t.Errorf("%v summaries as they were are kept after a purge", n)
			}
			undo(t, e, done.ID)
			if len(traces(t, e, "c", "Emacs")) == 0 {
				t.Error("nothing came back")
			}
			enginetest.Check(t, e) // it has its place
		})
	}
}

// TestHiddenFromTools: describe and the drafts say nothing of what is retracted, and a message in an extraction under way is refused.
func TestHiddenFromTools(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	id := say(t, e, "c", "My favorite editor is Emacs.")[0]
	m := everyMemory(t, e)[0]
	retract(t, e, id)
	for _, id := range []string{id, m.ID} {
		d, err := e.Describe(t.Context(), lookup.DescribeRequest{ID: id})
		if err != nil || strings.Contains(fmt.Sprintf("%+v %+v %s", d.Message, d.Memory, d.Text()), "Emacs") {
			t.Errorf("%s: %+v, %v", id, d, err)
		}
	}
	drafts, err := e.Drafts(t.Context(), extract.DraftsRequest{})
	if err != nil || len(drafts) != 1 || !drafts[0].Retracted {
		t.Errorf("%+v, %v", drafts, err)
	}
	if got := enginetest.Messages(t, e, "c")[0]; got.SetAside != conversation.AsideRetracted || got.Text == "" {
		t.Errorf("for its owner it is there: %+v", got)
	}
}

// TestRetractRefuses is what can't be retracted, and by whom.
func TestRetractRefuses(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	own := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "own", Scope: "agent:scout", Messages: enginetest.Dialogue("u the crane is broken")}).IDs[0]
	if _, err := e.Remember(t.Context(), memory.RememberRequest{ID: "mem_global", Text: "no crane works", Sources: []string{own}}); err != nil {
		t.Fatal(err)
	}
	was := rows(t, e)
	for _, test := range []struct {
		name string
		r    lineage.RetractRequest
		want error
	}{
		{"nothing", lineage.RetractRequest{ID: "msg_none", Reason: "x"}, fault.ErrNotFound},
		{"no reason", lineage.RetractRequest{ID: own, Reason: " "}, fault.ErrInvalid},
		{"another's", lineage.RetractRequest{ID: own, Reason: "x", Agent: "other"}, fault.ErrNotFound},
		{"a reason that is no text", lineage.RetractRequest{ID: own, Reason: "\xff"}, fault.ErrInvalid},
	} {
		if _, err := e.Retract(t.Context(), test.r); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
	for _, depth := range []int{-1, 101} {
		if _, err := e.Lineage(t.Context(), lineage.Request{ID: own, Depth: depth}); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
	for _, id := range []string{"msg_none", "xx"} {
		if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: "x", Sources: []string{id}}); !errors.Is(err, fault.ErrNotFound) {
			t.Errorf("from %s: %v", id, err)
		}
	}
	if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: "x", Agent: "other", Sources: []string{own}}); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("from what it may not read: %v", err)
	}
	same(t, "refused", was, rows(t, e))
	for agent, want := range map[string]int{"": 1, "scout": 1, "other": 0} {
		if l, err := e.Lineage(t.Context(), lineage.Request{ID: "mem_global", Agent: agent}); err != nil || len(l.Ancestors) != want {
			t.Errorf("lineage for %q: %+v, %v", agent, l, err)
		}
	}
	// An agent that may write all of it.
	done, err := e.Retract(t.Context(), lineage.RetractRequest{ID: own, Reason: "x", Agent: "scout"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Retract(t.Context(), lineage.RetractRequest{ID: own, Reason: "x"}); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("twice: %v", err)
	}
	if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: "x", Sources: []string{own}}); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("from what is retracted: %v", err)
	}
	if _, err := e.UndoRetraction(t.Context(), lineage.UndoRequest{ID: done.ID, Agent: "other"}); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("undone by another: %v", err)
	}
	if all, err := e.Retractions(t.Context(), lineage.ListRequest{Agent: "other"}); err != nil || len(all) != 0 {
		t.Errorf("shown to another: %+v, %v", all, err)
	}
	undo(t, e, done.ID)
	if all, err := e.Retractions(t.Context(), lineage.ListRequest{}); err != nil || len(all) != 1 || all[0].UndoneAt.IsZero() || all[0].Source.Text != "the crane is broken" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestLineageRoundInACircle ends.
func TestLineageRoundInACircle(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	a := enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_a", Text: "a crane"})
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_b", Text: "a berth", Sources: []string{a.ID}})
	if err := enginetest.TamperOpen(t.Context(), e, "INSERT INTO memory_sources VALUES ('mem_a', 0, 'named', 'memory', 'mem_b', NULL, NULL, NULL, NULL, NULL, now()::TIMESTAMP)"); err != nil {
		t.Fatal(err)
	}
	l, err := e.Lineage(t.Context(), lineage.Request{ID: a.ID})
	if err != nil || len(l.Descendants) != 1 || len(l.Descendants[0].Branches) != 1 || !l.Descendants[0].Branches[0].Again || l.Descendants[0].Branches[0].ID != a.ID {
		t.Errorf("%+v, %v", l, err)
	}
	done := retract(t, e, "mem_b")
	if got := current(t, e); len(got) != 0 {
		t.Errorf("%q", got)
	}
	undo(t, e, done.ID)
}

// TestMigratedSources: of a file from before, drafts tell what memories came from, and memories whom they superseded.
func TestMigratedSources(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	enginetest.Unpack(t, "../internal/duck/testdata/schema_7.db.gz", path)
	db := enginetest.PlainDuckDB(t, path, "")
	for _, statement := range []string{
		"INSERT INTO drafts (id, conversation_id, message_ids, scope, category, rule, text, importance, confidence, verdict, action, reason, memory_id, said_at, made_at) SELECT 'drf_old', conversation_id, [id], 'global', 'entity', 'asked', 'x', 0.7, 0.7, 'create', 'create', 'new', (SELECT min(id) FROM memories), '2026-01-01', '2026-01-01' FROM messages ORDER BY seq LIMIT 1",
		"INSERT INTO drafts (id, conversation_id, message_ids, scope, category, rule, text, importance, confidence, verdict, action, reason, match_id, context, said_at, made_at) SELECT 'drf_two', conversation_id, [id], 'global', 'entity', 'asked', 'x', 0.7, 0.7, 'support', 'support', 'again', (SELECT min(id) FROM memories), 'work', '2026-01-02', '2026-01-02' FROM messages ORDER BY seq LIMIT 1",
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	e := enginetest.OpenAt(t, path, engine.Options{})
	id := enginetest.Rows(t, e, "SELECT min(id) FROM memories")[0][0].(string)
	if got := steps(t, e, id); !slices.Contains(got, "drawn message 0") || !slices.Contains(got, "supported message 1") {
		t.Errorf("%q", got)
	}
	if rows := enginetest.Rows(t, e, "SELECT count(*) FROM memories WHERE trust IS NULL OR trust <> CASE source WHEN 'manual' THEN 'stated' WHEN 'legacy' THEN 'imported' ELSE 'extracted' END"); rows[0][0].(int64) != 0 {
		t.Errorf("trust of %v memories", rows)
	}
}

// TestUndoBesideOthers: what becomes longer while the undoing makes its document is found with all that it says.
func TestUndoBesideOthers(t *testing.T) {
	t.Parallel()
	var meanwhile func()
	words := enginetest.Words{}
	e := enginetest.Open(t, engine.Options{Embedder: thinking{words, func() {
		if do := meanwhile; do != nil {
			meanwhile = nil
			do()
		}
	}}})
	id := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Key: "k", Text: "the crane is broken"}}}).IDs[0]
	done := retract(t, e, id)
	longer := false
	meanwhile = func() {
		enginetest.AddBlocks(t, e, conversation.AddBlocksRequest{Conversation: "c", MessageKey: "k", Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "since the storm of May"}}})
		longer = true
	}
	undo(t, e, done.ID)
	if found := enginetest.RecallIDs(t, e, recall.Query{Text: "storm", Kinds: []kinds.Kind{kinds.Message}, Mode: recall.LexicalMode}); !longer || !cmp.Equal(found, []string{id}) {
		t.Errorf("longer %t, found %q", longer, found)
	}
}

// thinking is a model during whose thoughts something happens.
type thinking struct {
	enginetest.Words
	during func()
}

func (m thinking) EmbedTexts(ctx context.Context, texts []string) ([][]float32, error) {
	m.during()
	return m.Words.EmbedTexts(ctx, texts)
}
