package build_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
)

// did is the call of a tool and what it gave.
func did(id, tool, output string) []conversation.Message {
	return []conversation.Message{
		{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, CallID: id, Tool: tool, Input: `{"at": "` + id + `"}`}}},
		{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: id, Tool: tool, Output: output}}},
	}
}

// busy is an engine with talk, tools and a summary of its beginning.
func busy(t *testing.T) *engine.Engine {
	t.Helper()
	e := open(t)
	say(t, e, talk("u1 a1 u2 a2")...)
	say(t, e, did("c1", "find", strings.Repeat("found ", 100))...)
	say(t, e, talk("u3 a3")...)
	_, err := enginetest.AddSummaries(t.Context(), e, "c", func([]string) enginetest.Made {
		return enginetest.Made{Text: "They spoke of u1.", Tokens: 5, Sources: idsOf(t, e, 1, 2)}
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// idsOf are the ids of messages from one seq to another.
func idsOf(t *testing.T, e *engine.Engine, from, to int) (ids []string) {
	t.Helper()
	all, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: "c", From: from, Limit: to - from + 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	return ids
}

// TestOpenboaPromise1: a context is bounded, and is built again from the file alone.
func TestOpenboaPromise1(t *testing.T) {
	t.Parallel()
	e := busy(t)
	b := built(t, e, build.Request{Preset: "openboa", Budget: 120, Input: "and now?", State: "nothing is pending"})
	if b.Counts.Cost > 120 || b.OverBudget {
		t.Errorf("%+v", b.Counts)
	}
	v, err := e.VerifyContext(t.Context(), b.SnapshotID, "")
	if err != nil || !v.Same {
		t.Errorf("again: %+v, %v", v, err)
	}
}

// TestOpenboaPromise2: five sources in a fixed order.
func TestOpenboaPromise2(t *testing.T) {
	t.Parallel()
	e := busy(t)
	if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: "The gantry crane stands at berth four."}); err != nil {
		t.Fatal(err)
	}
	b := built(t, e, build.Request{Preset: "openboa", Input: "Where does the gantry crane stand?", State: "last run: done", Pointers: []string{"notes/cranes.md, line 4"}})
	var names []string
	for _, s := range b.Sections {
		names = append(names, s.Name)
	}
	if got, want := strings.Join(names, " "), "history state memory tools input"; got != want {
		t.Errorf("sections %s, want %s", got, want)
	}
	for name, want := range map[string]string{
		"history": "user:conversation: u1\nassistant:conversation: a1\nuser:conversation: u2\nassistant:conversation: a2\nuser:conversation: u3\nassistant:conversation: a3",
		"state":   "last run: done\n<summary trust=\"untrusted\">\nThey spoke of u1.\n</summary>", "memory": "- notes/cranes.md, line 4", "tools": "assistant:runtime_note: find", "input": "Where does the gantry crane stand?"} {
		if got := section(b, name); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(section(b, "memory"), "stands at berth four") {
		t.Errorf("memory: %s", section(b, "memory"))
	}
}

// TestOpenboaPromise3: limits of tokens, of messages and of snippets, and the vectors of the estimator.
func TestOpenboaPromise3(t *testing.T) {
	t.Parallel()
	e := open(t)
	for n, want := range map[int]int{0: 1, 1: 1, 4: 1, 5: 2, 35: 9, 38: 10, 180: 45, 276: 69} {
		b := built(t, emptyTalk(t, e), build.Request{Custom: preset(t, "openboa", func(p *build.Preset) { p.Snapshot = "" }), Input: "x", State: strings.Repeat("s", n)})
		if n > 0 && item(t, b, "state", "state").Cost != want {
			t.Errorf("%d units: %d tokens, want %d", n, item(t, b, "state", "state").Cost, want)
		}
	}
	b := built(t, e, build.Request{Preset: "openboa", State: "😀😀 "}) // two units each
	if got := item(t, b, "state", "state").Cost; got != 1 {
		t.Errorf("two emoji cost %d", got)
	}
	many := open(t)
	var all []conversation.Message
	for i := range 60 {
		all = append(all, conversation.Message{Text: fmt.Sprintf("said %d", i)})
	}
	say(t, many, all...)
	b = built(t, many, build.Request{Preset: "openboa"})
	if first := item(t, b, "history", "#13"); !first.Kept || b.Counts.Messages != 48 {
		t.Errorf("%d messages, the 13th %+v", b.Counts.Messages, first)
	}
	var tools []conversation.Message
	for i := range 30 {
		tools = append(tools, did(fmt.Sprint("c", i), "find", strings.Repeat("found ", 100))...)
		tools = append(tools, conversation.Message{Text: fmt.Sprintf("said %d", i)})
	}
	say(t, many, tools...)
	b = built(t, many, build.Request{Preset: "openboa"})
	if cost := b.Counts.ToolSnippets; cost == 0 || sectionCost(b, "tools") > 400 || strings.Count(section(b, "tools"), "…") > 0 {
		t.Errorf("%d snippets of %d tokens", cost, sectionCost(b, "tools"))
	}
}

// emptyTalk has one message, for there is no conversation without.
func emptyTalk(t *testing.T, e *engine.Engine) *engine.Engine {
	t.Helper()
	if _, err := e.Conversation(t.Context(), "c", ""); err != nil {
		say(t, e, talk("u1")...)
	}
	return e
}

func sectionCost(b *build.Built, name string) int {
	for _, s := range b.Sections {
		if s.Name == name {
			return s.Cost
		}
	}
	return 0
}

// TestOpenboaPromise4: over the budget the oldest talk goes first, then snippets of tools, and the input and the summary stay; a summary is shortened at last.
func TestOpenboaPromise4(t *testing.T) {
	t.Parallel()
	e := busy(t)
	whole := built(t, e, build.Request{Preset: "openboa", Input: "and now?", State: "s"})
	total := whole.Counts.Cost
	for budget := total; budget > 0; budget-- {
		b := built(t, e, build.Request{Preset: "openboa", Budget: budget, Input: "and now?", State: "s"})
		history, tools, state := section(b, "history"), section(b, "tools"), section(b, "state")
		if section(b, "input") != "and now?" || !strings.HasPrefix(state, "s") {
			t.Fatalf("budget %d: input %q, state %q", budget, section(b, "input"), state)
		}
		if b.Counts.Cost > budget != b.OverBudget {
			t.Fatalf("budget %d: costs %d, over %v", budget, b.Counts.Cost, b.OverBudget)
		}
		if tools == "" && history != "" || !strings.Contains(state, "They spoke of u1.\n</summary>") && tools != "" {
			t.Fatalf("budget %d: out of order:\n%s", budget, b.Text())
		}
		if budget < total && !b.Trim.Trimmed {
			t.Fatalf("budget %d: nothing is said of what gave way", budget)
		}
	}
	least := built(t, e, build.Request{Preset: "openboa", Budget: 1, Input: "and now?", State: "s"})
	if !least.OverBudget || least.Counts.Summaries != 0 {
		t.Errorf("with no room at all: %+v", least.Counts)
	}
	_, err := e.Build(t.Context(), build.Request{Conversation: "c", Preset: "openboa", Budget: 1, Input: "and now?", Strict: true})
	var failed *build.Error
	if !errors.As(err, &failed) || !errors.Is(err, engine.ErrBudget) || failed.Stage != build.StageBudget || failed.NextAction != build.NextRaise {
		t.Errorf("strict: %v", err)
	}
}

// TestOpenboaBestFit: what the source of openboa does in place of its document: two protected messages, then all that fits.
func TestOpenboaBestFit(t *testing.T) {
	t.Parallel()
	e := open(t)
	say(t, e, conversation.Message{Text: "Earlier question"}, conversation.Message{Role: "assistant", Text: "Earlier answer"})
	say(t, e, did("c1", "find", strings.Repeat("x", 300))...)
	say(t, e, conversation.Message{Role: "assistant", Text: "The session went idle.", SourceKind: "event"})
	b := built(t, e, build.Request{Custom: preset(t, "openboa", func(p *build.Preset) {
		p.Sections = []string{"history", "input"}
		p.Budget.Max, p.Budget.Trim, p.Guarantee.Protect, p.Summary = 40, "best_fit", 2, false
	})})
	if got, want := section(b, "history"), "user:conversation: Earlier question\nassistant:conversation: Earlier answer\nassistant:conversation: The session went idle."; got != want {
		t.Errorf("history:\n%s\nwant:\n%s", got, want)
	}
	if q, a := item(t, b, "history", "#1"), item(t, b, "history", "#2"); q.Cost != 9 || a.Cost != 10 {
		t.Errorf("costs %d and %d, want 9 and 10", q.Cost, a.Cost)
	}
	if b.Trim.Tools+len(b.Trim.Dropped) == 0 || b.Counts.Cost > 40 {
		t.Errorf("trim %+v, cost %d", b.Trim, b.Counts.Cost)
	}
}

// TestOpenboaPromise5: the same is trimmed again and again.
func TestOpenboaPromise5(t *testing.T) {
	t.Parallel()
	e := busy(t)
	first := built(t, e, build.Request{Preset: "openboa", Budget: 90, Input: "and now?"})
	for range 5 {
		if b := built(t, e, build.Request{Preset: "openboa", Budget: 90, Input: "and now?"}); b.Hash != first.Hash || fmt.Sprint(b.Trim) != fmt.Sprint(first.Trim) {
			t.Errorf("%+v, then %+v", first.Trim, b.Trim)
		}
	}
}

// TestOpenboaPromise6: what gave way is said, and how much room is left; to the model too, if the preset says so.
func TestOpenboaPromise6(t *testing.T) {
	t.Parallel()
	e := busy(t)
	b := built(t, e, build.Request{Preset: "openboa", Budget: 90, Input: "and now?"})
	if !b.Trim.Trimmed || b.Trim.Messages == 0 || len(b.Trim.Dropped) == 0 || !strings.Contains(b.Trim.Note, "messages left out") || b.Pressure.Level != "high" {
		t.Errorf("%+v, %+v", b.Trim, b.Pressure)
	}
	for budget, want := range map[int]string{8000: "low", 1200: "moderate", 500: "high"} {
		if b := built(t, e, build.Request{Preset: "openboa", Budget: budget, Input: "and now?"}); b.Pressure.Level != want || b.Trim.Trimmed {
			t.Errorf("budget %d: %+v, want %s", budget, b.Pressure, want)
		}
	}
	noted := preset(t, "openboa", func(p *build.Preset) { p.Pressure.Note = true })
	if b := built(t, e, build.Request{Custom: noted, Budget: 90, Input: "and now?"}); !strings.Contains(section(b, "state"), "left out of this context") || b.Counts.Cost > 90 {
		t.Errorf("state: %s", section(b, "state"))
	}
	if b := built(t, e, build.Request{Custom: noted, Input: "and now?"}); strings.Contains(section(b, "state"), "context") {
		t.Errorf("with room: %s", section(b, "state"))
	}
}

// TestOpenboaPromise7: a snapshot is kept of every build, with its hash and counts, and no text.
func TestOpenboaPromise7(t *testing.T) {
	t.Parallel()
	e := busy(t)
	b := built(t, e, build.Request{Preset: "openboa", Input: "a secret input", State: "a secret state", Turn: "turn-7"})
	s, err := e.ContextSnapshot(t.Context(), b.SnapshotID[len(b.SnapshotID)-8:], "")
	if err != nil || s.Hash != b.Hash || s.Turn != "turn-7" || s.Counts != b.Counts || s.Status != build.StatusOK || s.Until != 8 || s.Conversation != "c" || len(s.Items) == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if places := enginetest.TablesWith(t, e, "secret"); len(places) != 0 {
		t.Errorf("the file has the host's words in %v", places)
	}
	if again := built(t, e, build.Request{Preset: "takobot"}); again.SnapshotID != "" {
		t.Error("takobot keeps none unless it is asked to")
	}
	all, err := e.ContextSnapshots(t.Context(), build.SnapshotsRequest{Conversation: "c"})
	if err != nil || len(all) != 1 || all[0].ID != b.SnapshotID {
		t.Errorf("%d snapshots, %v", len(all), err)
	}
}

// TestOpenboaPromise8: one path: who speaks, and with which role, changes nothing of what is chosen.
func TestOpenboaPromise8(t *testing.T) {
	t.Parallel()
	var seen []string
	for _, swap := range []bool{false, true} {
		e := open(t)
		var all []conversation.Message
		for i := range 70 {
			role, speaker := []string{"user", "assistant"}[i%2], []string{"human-one", "agent-one"}[i%2]
			if swap {
				role, speaker = []string{"assistant", "user"}[i%2], []string{"agent-one", "human-one"}[i%2]
			}
			all = append(all, conversation.Message{Role: role, Speaker: speaker, Text: fmt.Sprintf("said %02d", i)})
		}
		say(t, e, all...)
		seen = append(seen, seqs(built(t, e, build.Request{Preset: "openboa", Input: "x"})), seqs(built(t, e, build.Request{Preset: "openboa", Budget: 300, Input: "x"})))
	}
	if seen[0] != seen[2] || len(strings.Fields(seen[1])) != len(strings.Fields(seen[3])) {
		t.Errorf("swapped: %s and %s\n%s and %s", seen[0], seen[2], seen[1], seen[3])
	}
}

// TestOpenboaPromise9: the same log and configuration give the same hash: whenever, in whichever turn. One more message or another budget give another.
func TestOpenboaPromise9(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon.Add(time.Hour)}
	e := open(t, engine.Options{Now: clock.Now})
	say(t, e, talk("u1 a1 u2 a2")...)
	first := built(t, e, build.Request{Preset: "openboa", Input: "x", Turn: "1"})
	clock.Advance(48 * time.Hour)
	if again := built(t, e, build.Request{Preset: "openboa", Input: "x", Turn: "2"}); again.Hash != first.Hash || again.ConfigHash != first.ConfigHash {
		t.Errorf("two days later: %s, then %s", first.Hash, again.Hash)
	}
	if other := built(t, e, build.Request{Preset: "openboa", Input: "x", Budget: 7999}); other.Hash == first.Hash || other.ConfigHash == first.ConfigHash {
		t.Error("another budget gives the same hash")
	}
	if other := built(t, e, build.Request{Preset: "openboa", Input: "y"}); other.Hash == first.Hash || other.ConfigHash != first.ConfigHash {
		t.Error("another input gives the same hash")
	}
	say(t, e, talk("u3")...)
	if other := built(t, e, build.Request{Preset: "openboa", Input: "x"}); other.Hash == first.Hash {
		t.Error("one more message gives the same hash")
	}
	if v, err := e.VerifyContext(t.Context(), first.SnapshotID, ""); err != nil || !v.Same {
		t.Errorf("what came later matters: %+v, %v", v, err)
	}
}

// TestOpenboaPromise10: without an embedding model, or any other, the context is built all the same.
func TestOpenboaPromise10(t *testing.T) {
	t.Parallel()
	e := busy(t)
	if b := built(t, e, build.Request{Preset: "openboa", Input: "crane?"}); b.Recall.Status != build.RecallOK || len(b.Notices) != 0 {
		t.Errorf("%+v, %v", b.Recall, b.Notices)
	}
	long := strings.Repeat("word ", 30_000)
	if b := built(t, e, build.Request{Preset: "openboa", Input: long}); section(b, "input") != long || !b.OverBudget {
		t.Errorf("an input over the budget: %+v", b.Counts)
	}
}

// TestOpenboaPromise11: a build that fails is a row, with its class, stage and next action, and changes nothing else.
func TestOpenboaPromise11(t *testing.T) {
	t.Parallel()
	e := busy(t)
	before := enginetest.Rows(t, e, "SELECT * FROM messages ORDER BY seq")
	if _, err := e.Build(t.Context(), build.Request{Conversation: "c", Preset: "openboa", Budget: 2, Input: "far too long for that", Strict: true, Turn: "t"}); err == nil {
		t.Fatal("it did not fail")
	}
	all, err := e.ContextSnapshots(t.Context(), build.SnapshotsRequest{})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d snapshots, %v", len(all), err)
	}
	s := all[0]
	if s.Status != build.StatusFailed || s.ErrorClass != "context_build_error" || s.Stage != build.StageBudget || s.NextAction != "raise_budget" || s.Hash != "" || s.Items != nil || s.Turn != "t" ||
		!strings.Contains(s.Error, "over the budget") || s.ConfigHash == "" {
		t.Errorf("%+v", s)
	}
	if after := enginetest.Rows(t, e, "SELECT * FROM messages ORDER BY seq"); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Error("messages changed")
	}
	if _, err := e.VerifyContext(t.Context(), s.ID, ""); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("verifying it: %v", err)
	}
	for _, r := range []build.Request{{}, {Conversation: "c", Preset: "nosuch"}, {Conversation: "c", Budget: -1}, {Conversation: "c", Timezone: "Mars"}, {Conversation: "c", Texts: map[string]string{"attic": "x"}}} {
		if _, err := e.Build(t.Context(), r); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := e.Build(t.Context(), build.Request{Conversation: "nosuch"}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("no conversation: %v", err)
	}
	if all, _ := e.ContextSnapshots(t.Context(), build.SnapshotsRequest{}); len(all) != 1 {
		t.Errorf("a request that is wrong leaves a row: %d", len(all))
	}
}

// TestOpenboaPromise12: nothing but the file is needed: it is closed, opened again elsewhere, and gives the same.
func TestOpenboaPromise12(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	say(t, e, talk("u1 a1 u2 a2")...)
	first := built(t, e, build.Request{Preset: "openboa", Input: "x"})
	enginetest.CloseFile(t, e)
	moved := enginetest.OpenFile(t, enginetest.CopyFile(t, path), engine.Options{})
	if again := built(t, moved, build.Request{Preset: "openboa", Input: "x"}); again.Hash != first.Hash {
		t.Errorf("%s, then %s", first.Hash, again.Hash)
	}
	if v, err := moved.VerifyContext(t.Context(), first.SnapshotID, ""); err != nil || !v.Same {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestOpenboaPromise13to17: defined order, over the budget deterministic and traceable, snapshots replayable, no store but the file, one contract both ways.
func TestOpenboaPromise13to17(t *testing.T) {
	t.Parallel()
	e := busy(t)
	b := built(t, e, build.Request{Preset: "openboa", Budget: 100, Input: "x", State: "s"})
	at := map[string]int{}
	for i, name := range b.Config.Sections {
		at[name] = i
	}
	for i := 1; i < len(b.Items); i++ {
		if at[b.Items[i-1].Section] > at[b.Items[i].Section] {
			t.Errorf("%s stands before %s", b.Items[i-1].Section, b.Items[i].Section)
		}
	}
	for _, it := range b.Items {
		if it.Reason == "" || it.Kept != (it.Text != "") {
			t.Errorf("%+v: not traceable", it)
		}
	}
	if v, err := e.VerifyContext(t.Context(), b.SnapshotID, ""); err != nil || !v.Same {
		t.Errorf("replay: %+v, %v", v, err)
	}
	if other := built(t, e, build.Request{Preset: "openboa", Budget: 100, Input: "x", State: "s", Agent: "main"}); other.Hash != b.Hash {
		t.Error("an agent is shown something else than a person")
	}
}

// TestOpenboaCursor: around what the reader saw last, and what there was no room for is counted.
func TestOpenboaCursor(t *testing.T) {
	t.Parallel()
	e := open(t)
	var all []conversation.Message
	for i := range 100 {
		all = append(all, conversation.Message{Text: fmt.Sprintf("said %d", i), Key: fmt.Sprintf("k%d", i)})
	}
	say(t, e, all...)
	for _, c := range []struct {
		cursor      string
		first, last int
		n, unseen   int
	}{{"k79", 68, 100, 12 + 1 + 20, 0}, {"k49", 38, 100, 12 + 1 + 24, 26}, {"k0", 1, 100, 1 + 24, 75}, {"k99", 88, 100, 13, 0}, {"unknown", 53, 100, 48, 0}, {"", 53, 100, 48, 0}} {
		b := built(t, e, build.Request{Preset: "openboa", Cursor: c.cursor, Input: "x"})
		shown := strings.Fields(seqs(b))
		if len(shown) != c.n || shown[0] != fmt.Sprint(c.first) || shown[len(shown)-1] != fmt.Sprint(c.last) || b.Trim.Unseen != c.unseen {
			t.Errorf("cursor %q: %d messages, %s to %s, %d unseen; want %+v", c.cursor, len(shown), shown[0], shown[len(shown)-1], b.Trim.Unseen, c)
		}
	}
	all = nil
	for i := 100; i < 400; i++ {
		all = append(all, conversation.Message{Text: fmt.Sprintf("said %d", i)})
	}
	say(t, e, all...)
	b := built(t, e, build.Request{Preset: "openboa", Cursor: "k10", Input: "x"})
	if shown := strings.Fields(seqs(b)); len(shown) != 11+24 || shown[0] != "1" || shown[11] != "377" || b.Trim.Unseen != 400-11-24 || !strings.Contains(b.Trim.Note, "365 messages that nobody has seen") {
		t.Errorf("far behind: messages %v, %d unseen, %q", shown, b.Trim.Unseen, b.Trim.Note)
	}
	if v, err := e.VerifyContext(t.Context(), b.SnapshotID, ""); err != nil || !v.Same {
		t.Errorf("again: %+v, %v", v, err)
	}
}
