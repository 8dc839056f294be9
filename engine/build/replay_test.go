package build_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/memory"
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
