package memory_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

func TestForget(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Now: clock.Now})
	tea := enginetest.Remember(t, e, memory.RememberRequest{Text: "Ines likes green tea", Scope: "agent:scout"})
	other := enginetest.Remember(t, e, memory.RememberRequest{Text: "Ines likes green boats"})
	question := recall.Query{Text: "what green thing does Ines like?"}
	if got := enginetest.RecallIDs(t, e, question); len(got) != 2 {
		t.Fatalf("before: %v, want both", got)
	}
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: tea.ID, Agent: "teo"}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("by an agent that may not see it: %v, want ErrNotFound", err)
	}
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: tea.ID, Reason: "\xff"}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "reason") {
		t.Errorf("a reason that is no text: %v, want ErrInvalid", err)
	}
	before, err := e.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Hour)
	m, err := e.Forget(t.Context(), memory.ForgetRequest{ID: ids.Short(tea.ID), Agent: "scout", Reason: "she asked for it"})
	if err != nil {
		t.Fatal(err)
	}
	tea.RetiredAt, tea.UpdatedAt, tea.RetiredReason = clock.At, clock.At, "she asked for it"
	if diff := cmp.Diff(tea, enginetest.Get(t, e, tea.ID)); diff != "" || m.RetiredAt != clock.At {
		t.Errorf("returned %v, (-want +got):\n%s", m.RetiredAt, diff)
	}
	for _, mode := range recall.Modes() {
		question.Mode = mode
		if diff := cmp.Diff([]string{other.ID}, enginetest.RecallIDs(t, e, question)); diff != "" {
			t.Errorf("%s recall after (-want +got):\n%s", mode, diff)
		}
	}
	question.AsOf = enginetest.Noon
	if diff := cmp.Diff([]string{tea.ID, other.ID}, enginetest.RecallIDs(t, e, question)); diff != "" {
		t.Errorf("recall as of the time before (-want +got):\n%s", diff)
	}
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: tea.ID}); !errors.Is(err, engine.ErrNotFound) || !strings.Contains(err.Error(), "forgotten before") {
		t.Errorf("twice: %v, want ErrNotFound", err)
	}
	after, err := e.Stats(t.Context())
	if err != nil || after.Memories != before.Memories-1 || after.Postings >= before.Postings || after.Coverage[0].Vectors != 1 {
		t.Errorf("%v: %+v after %+v", err, after, before)
	}
}

func TestPurge(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	first := enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_first", Text: "the release is on Monday"})
	second, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: first.ID, By: memory.RememberRequest{ID: "mem_second", Text: "the release is on Tuesday"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: second.ID, By: memory.RememberRequest{ID: "mem_third", Text: "the release is on Friday"}}); err != nil {
		t.Fatal(err)
	}
	enginetest.ImportLine(t, e, `{"id": "mem_zdouble", "text": "Friday is release day", "canonical_id": "mem_second", "relations": [{"type": "about", "targetId": "mem_second"}, {"type": "about", "targetId": "mem_first"}]}`)
	if _, err := e.Purge(t.Context(), memory.PurgeRequest{ID: second.ID, Agent: "mute"}); err != nil {
		t.Fatal(err)
	}
	for _, call := range []func() error{
		func() error { _, err := e.Get(t.Context(), memory.GetRequest{ID: second.ID}); return err },
		func() error { _, err := e.Purge(t.Context(), memory.PurgeRequest{ID: second.ID}); return err },
		func() error { _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: second.ID}); return err },
	} {
		if err := call(); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("a purged memory: %v, want ErrNotFound", err)
		}
	}
	old, newest, double := enginetest.Get(t, e, "mem_first"), enginetest.Get(t, e, "mem_third"), enginetest.Get(t, e, "mem_zdouble")
	if old.SupersededBy != "" || len(old.Relations) != 0 || old.InvalidatedAt.IsZero() {
		t.Errorf("the older one: %+v, want no reference, and still ended", old)
	}
	if newest.Supersedes != "" || len(newest.Relations) != 0 {
		t.Errorf("the newer one: %+v, want no reference", newest)
	}
	if diff := cmp.Diff([]memory.Relation{{Type: "about", TargetID: "mem_first"}}, double.Relations); diff != "" || double.CanonicalID != "" {
		t.Errorf("the double: canonical %q, (-want +got):\n%s", double.CanonicalID, diff)
	}
	if got := enginetest.RecallIDs(t, e, recall.Query{Text: "release on Tuesday"}); len(got) == 0 || got[0] == "mem_second" {
		t.Errorf("recall: %v", got)
	}
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: "mem_third"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Purge(t.Context(), memory.PurgeRequest{ID: "mem_third"}); err != nil {
		t.Errorf("a forgotten one: %v", err)
	}
	if _, err := e.Purge(t.Context(), memory.PurgeRequest{ID: "mem_first"}); err != nil {
		t.Errorf("a superseded one: %v", err)
	}
	if s, err := e.Stats(t.Context()); err != nil || s.Memories != 1 || s.Standings["forgotten"] != 0 || s.Coverage[0].Documents != 1 {
		t.Errorf("%+v, %v, want one memory and no other trace", s, err)
	}
}
