package build_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/setup"
)

// rememberFrom is a memory that was made from messages.
func rememberFrom(text string, messages ...string) memory.RememberRequest {
	return memory.RememberRequest{Text: text, Sources: messages}
}

// TestHash: the vector of the specification, and what canonical means.
func TestHash(t *testing.T) {
	got, err := build.Hash(map[string]any{"preset": "openboa", "unit": "tokens", "budget": 800}, []any{
		map[string]any{"s": "history", "id": "m1", "h": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"},
		map[string]any{"s": "current", "id": "m2", "h": "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"}})
	if want := "ctx_c7add3c259f8b1ebe49a32cb39393675"; got != want || err != nil {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	one, _ := build.Hash(map[string]any{"a": json.Number("0.7"), "b": nil, "ü<&>\u2028\x01": "x"}, nil)
	two, _ := build.Hash(map[string]any{"a": "0.7", "ü<&>\u2028\x01": "x"}, []any{})
	if one != two || one == "" {
		t.Errorf("%s and %s", one, two)
	}
	if _, err := build.Hash(map[string]any{"a": 0.7}, nil); err == nil {
		t.Error("a number that is not whole has no form of its own")
	}
}

// TestHashOfACopy: the same talk in another file, by export and import, gives the same hash with every preset.
func TestHashOfACopy(t *testing.T) {
	t.Parallel()
	e := busyTalk(t, open(t))
	var lines strings.Builder
	all, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: "c"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		line, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		fields := map[string]any{}
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatal(err)
		}
		fields["conversation"], fields["time"] = "c", fields["said_at"]
		for _, own := range []string{"id", "conversation_id", "seq", "said_at", "recorded_at", "tokens"} {
			delete(fields, own)
		}
		if line, err = json.Marshal(fields); err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	other := open(t, engine.Options{NewID: nil})
	if done, err := other.ImportMessages(t.Context(), strings.NewReader(lines.String()), interchange.ImportRequest{}); err != nil || done.Created != len(all) {
		t.Fatalf("%+v, %v", done, err)
	}
	for _, p := range build.Presets() {
		a, b := built(t, e, build.Request{Preset: p.Name, Input: "x"}), built(t, other, build.Request{Preset: p.Name, Input: "x"})
		if a.Hash != b.Hash {
			t.Errorf("%s: %s, and of the copy %s:\n%s\n%s", p.Name, a.Hash, b.Hash, a.Text(), b.Text())
		}
		if c := built(t, e, build.Request{Preset: p.Name, Input: "x", Budget: 7777}); c.Hash == a.Hash {
			t.Errorf("%s: another budget gives the same hash", p.Name)
		}
		if c := built(t, e, build.Request{Preset: p.Name, Input: "x", Until: len(all) - 1}); c.Hash == a.Hash {
			t.Errorf("%s: one message less gives the same hash", p.Name)
		}
	}
}

// busyTalk says a bit of everything.
func busyTalk(t *testing.T, e *engine.Engine) *engine.Engine {
	t.Helper()
	say(t, e, talk("u1 a1 u2 a2")...)
	say(t, e, did("c1", "find", strings.Repeat("found ", 100))...)
	say(t, e, conversation.Message{Text: "Keyed.", Key: "k1", Speaker: "Inés"}, conversation.Message{Role: "assistant", Text: "It failed.", Fallback: true, Actions: []string{"tried"}},
		conversation.Message{Text: "Nightly.", SourceKind: "scheduled"}, conversation.Message{Role: "assistant", Text: "Ran.", Usage: &conversation.Usage{Total: 900}})
	say(t, e, talk("u3 a3 u4 a4 u5 a5 u6 a6")...)
	return e
}

// TestReplayAsksNobody: what the model chose is recorded, and taken from there.
func TestReplayAsksNobody(t *testing.T) {
	t.Parallel()
	e, llm := answering(t, `{"relevant_ids":[1]}`)
	say(t, e, pairs(12)...)
	m := enginetest.Remember(t, e, rememberFrom("How prompts are numbered: prompts are numbered from zero."))
	custom := preset(t, "istota", func(p *build.Preset) { p.Recall.On = true })
	b := built(t, e, build.Request{Custom: custom, Input: "how are prompts numbered?", Quote: "q", Texts: map[string]string{"user": "about the user"}, Snapshot: true})
	if !item(t, b, "recall", m.ID).Kept {
		t.Fatalf("nothing recalled: %+v", b.Recall)
	}
	say(t, e, pairs(2)...)
	calls := len(llm.Calls())
	verified, err := e.VerifyContext(t.Context(), b.SnapshotID, "")
	if err != nil || !verified.Same || verified.Again != b.Hash || len(llm.Calls()) != calls {
		t.Errorf("%+v, %v, %d calls", verified, err, len(llm.Calls())-calls)
	}
	if _, err := e.Update(t.Context(), memory.UpdateRequest{ID: m.ID, Text: pointer("Prompts have no numbers any more.")}); err != nil {
		t.Fatal(err)
	}
	verified, err = e.VerifyContext(t.Context(), b.SnapshotID, "")
	if err != nil || verified.Same || len(verified.Changes) != 1 || verified.Changes[0].What != "changed" || verified.Changes[0].ID != m.ID {
		t.Errorf("after a memory changed: %+v, %v", verified, err)
	}
}

func pointer[T any](v T) *T { return &v }

// TestVerifyEveryPreset: what is built again is the same, whatever came later; what was purged meanwhile is named.
func TestVerifyEveryPreset(t *testing.T) {
	t.Parallel()
	for _, p := range build.Presets() {
		e := busyTalk(t, open(t))
		ids := idsOf(t, e, 1, 18)
		b := built(t, e, build.Request{Preset: p.Name, Input: "x", InputID: ids[16], ReplyTo: ids[0], Snapshot: true, Budget: 300 + p.Budget.Reserve, Turn: "t"})
		say(t, e, talk("u7 a7")...)
		v, err := e.VerifyContext(t.Context(), b.SnapshotID, "")
		if err != nil || !v.Same {
			t.Errorf("%s: %+v, %v", p.Name, v, err)
			continue
		}
		if _, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "c", IDs: ids[15:16]}); err != nil {
			t.Fatal(err)
		}
		v, err = e.VerifyContext(t.Context(), b.SnapshotID, "")
		if err != nil || v.Same || !strings.Contains(fmt.Sprint(v.Changes), "removed history #16") {
			t.Errorf("%s, after a purge: %+v, %v", p.Name, v, err)
		}
	}
}

// TestDiff: what changed from one context to another.
func TestDiff(t *testing.T) {
	t.Parallel()
	e := busyTalk(t, open(t))
	a := built(t, e, build.Request{Preset: "openboa", Input: "x", State: "s"})
	say(t, e, talk("u7")...)
	b := built(t, e, build.Request{Preset: "openboa", Input: "y", State: "s", Budget: 7000})
	d, err := e.DiffContexts(t.Context(), a.SnapshotID, b.SnapshotID, "")
	if err != nil || d.Same {
		t.Fatalf("%+v, %v", d, err)
	}
	var got []string
	for _, c := range d.Changes {
		got = append(got, strings.TrimSpace(strings.Join([]string{c.What, c.Section, c.Name, c.Was, c.Is}, " ")))
	}
	if got, want := strings.Join(got, "; "), "config  budget.max 8000 7000; added history #19; changed input input"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if same, err := e.DiffContexts(t.Context(), a.SnapshotID, a.SnapshotID, ""); err != nil || !same.Same || len(same.Changes) != 0 {
		t.Errorf("%+v, %v", same, err)
	}
	if _, err := e.DiffContexts(t.Context(), a.SnapshotID, "shot_unknown", ""); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// TestPurgeTakesSnapshots: those of a conversation go with it, of others none does; nobody else sees them.
func TestPurgeTakesSnapshots(t *testing.T) {
	t.Parallel()
	e := busyTalk(t, open(t))
	if _, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "other", Scope: "agent:scout", Messages: talk("u1 a1")}); err != nil {
		t.Fatal(err)
	}
	built(t, e, build.Request{Preset: "openboa"})
	kept := built(t, e, build.Request{Preset: "openboa", Conversation: "other"})
	if all, err := e.ContextSnapshots(t.Context(), build.SnapshotsRequest{Agent: "stranger"}); err != nil || len(all) != 1 || all[0].ID == kept.SnapshotID {
		t.Errorf("a stranger sees %d, %v", len(all), err)
	}
	if _, err := e.ContextSnapshot(t.Context(), kept.SnapshotID, "stranger"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a stranger finds it: %v", err)
	}
	if _, err := e.PurgeConversation(t.Context(), "c", ""); err != nil {
		t.Fatal(err)
	}
	if all, err := e.ContextSnapshots(t.Context(), build.SnapshotsRequest{}); err != nil || len(all) != 1 || all[0].ID != kept.SnapshotID {
		t.Errorf("%d are left, %v", len(all), err)
	}
}

// TestPruneSnapshots: those that are old go, but the newest of each conversation; a preview removes none; nobody removes what is not his.
func TestPruneSnapshots(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon.Add(time.Hour)}
	e := busyTalk(t, open(t, engine.Options{Now: clock.Now}))
	if _, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "other", Scope: "agent:scout", Messages: talk("u1 a1")}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		built(t, e, build.Request{Preset: "openboa"})
		built(t, e, build.Request{Preset: "openboa", Conversation: "other"})
		clock.Advance(24 * time.Hour)
	}
	if _, err := e.Build(t.Context(), build.Request{Conversation: "c", Preset: "openboa", Input: "far too long", Budget: 1, Strict: true}); err == nil {
		t.Fatal("it did not fail")
	}
	left := func() int {
		all, err := e.ContextSnapshots(t.Context(), build.SnapshotsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	for _, test := range []struct {
		r    build.PruneRequest
		want build.Pruned
		left int
	}{
		{build.PruneRequest{Keep: 1, DryRun: true}, build.Pruned{Conversations: 2, Snapshots: 5, DryRun: true}, 7},
		{build.PruneRequest{Keep: 9, OlderThan: time.Hour}, build.Pruned{}, 7},
		{build.PruneRequest{OlderThan: 96 * time.Hour}, build.Pruned{}, 7},
		{build.PruneRequest{OlderThan: 72 * time.Hour, Agent: "stranger"}, build.Pruned{Conversations: 1, Snapshots: 1}, 6},
		{build.PruneRequest{Conversation: "other", Keep: 2, OlderThan: time.Hour}, build.Pruned{Conversations: 1, Snapshots: 1}, 5},
		{build.PruneRequest{Keep: 2}, build.Pruned{Conversations: 1, Snapshots: 1}, 4},
		{build.PruneRequest{Conversation: "c", OlderThan: time.Hour}, build.Pruned{Conversations: 1, Snapshots: 1}, 3},
	} {
		p, err := e.PruneContextSnapshots(t.Context(), test.r)
		if err != nil || *p != test.want || left() != test.left {
			t.Errorf("%+v: %+v, %v, %d are left; want %+v, %d", test.r, p, err, left(), test.want, test.left)
		}
	}
	for want, r := range map[error]build.PruneRequest{engine.ErrInvalid: {}, engine.ErrScopeDenied: {Conversation: "other", Agent: "stranger", Keep: 1}, engine.ErrNotFound: {Conversation: "nosuch", Keep: 1}} {
		if _, err := e.PruneContextSnapshots(t.Context(), r); !errors.Is(err, want) {
			t.Errorf("%+v: %v, want %v", r, err, want)
		}
	}
	for _, r := range []build.PruneRequest{{Keep: -1}, {OlderThan: -1}} {
		if _, err := e.PruneContextSnapshots(t.Context(), r); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if p, err := e.PruneContextSnapshots(t.Context(), build.PruneRequest{OlderThan: time.Nanosecond}); err != nil || left() > 1 || p.Snapshots < 2 {
		t.Errorf("all: %+v, %v, %d are left", p, err, left())
	}
}

// TestVerifyPrompted: what a prompt chose is taken as it is recorded, whatever was said since; a message of it that is gone is named.
func TestVerifyPrompted(t *testing.T) {
	t.Parallel()
	e := open(t, engine.Options{Conversation: setup.Conversation{FreshTailCount: 3}})
	var all []conversation.Message
	for i := range 60 {
		m := conversation.Message{Role: []string{"user", "assistant"}[i%2], Text: fmt.Sprintf("said %02d of ropes and knots", i)}
		if i == 5 || i == 9 {
			m.Text = fmt.Sprintf("said %02d of the crane", i)
		}
		all = append(all, m)
	}
	say(t, e, all...)
	b := built(t, e, build.Request{Preset: "lcm", Budget: 60, Prompt: "which crane?", Snapshot: true})
	newest := built(t, e, build.Request{Preset: "lcm", Budget: 60})
	if got := " " + seqs(b) + " "; !strings.Contains(got, " 6 10 ") || strings.Contains(" "+seqs(newest)+" ", " 6 ") {
		t.Fatalf("chosen %s; without the prompt %s", got, seqs(newest))
	}
	say(t, e, all[:20]...)
	v, err := e.VerifyContext(t.Context(), b.SnapshotID, "")
	if err != nil || !v.Same {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := e.PurgeMessages(t.Context(), compact.PurgeMessagesRequest{Conversation: "c", IDs: idsOf(t, e, 6, 6)}); err != nil {
		t.Fatal(err)
	}
	v, err = e.VerifyContext(t.Context(), b.SnapshotID, "")
	if err != nil || v.Same || len(v.Changes) != 1 || v.Changes[0].What != "removed" || v.Changes[0].Name != "#6" {
		t.Errorf("after a purge: %+v, %v", v, err)
	}
}

// TestReplayOfPassages: of a long memory the passage is shown that fits best, and a replay shows the same one; where the memory is another text, it says so.
func TestReplayOfPassages(t *testing.T) {
	t.Parallel()
	e := open(t, engine.Options{Embedder: enginetest.Words{}})
	say(t, e, talk("u1 a1")...)
	filler := strings.Repeat("Nothing of interest happened at the harbour that week. ", 8)
	m := enginetest.Remember(t, e, rememberFrom(filler+"\n\nThe gantry crane stands at berth four. The gantry crane will stand there: where else may a gantry crane stand?\n\n"+filler))
	custom := preset(t, "takobot", func(p *build.Preset) { p.Recall.Snippet, p.Recall.Lexical = 0, 1 })
	b := built(t, e, build.Request{Custom: custom, Input: "Where does the gantry crane stand?", Snapshot: true})
	s, err := e.ContextSnapshot(t.Context(), b.SnapshotID, "")
	if err != nil {
		t.Fatal(err)
	}
	var passage *[2]int
	for _, it := range s.Items {
		if it.ID == m.ID {
			passage = it.Passage
		}
	}
	if passage == nil || passage[1]-passage[0] >= len(m.Text)/2 || !strings.Contains(item(t, b, "recall", m.ID).Text, "gantry crane") {
		t.Fatalf("passage %v:\n%s", passage, item(t, b, "recall", m.ID).Text)
	}
	if v, err := e.VerifyContext(t.Context(), b.SnapshotID, ""); err != nil || !v.Same || len(v.Notices) != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := e.Update(t.Context(), memory.UpdateRequest{ID: m.ID, Text: pointer("The gantry crane is gone.")}); err != nil {
		t.Fatal(err)
	}
	v, err := e.VerifyContext(t.Context(), b.SnapshotID, "")
	if err != nil || v.Same || len(v.Changes) != 1 || v.Changes[0].What != "changed" || len(v.Notices) != 1 || !strings.Contains(v.Notices[0], "another text now") {
		t.Errorf("after an edit: %+v, %v", v, err)
	}
}
