package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

func TestSupersede(t *testing.T) {
	t.Parallel()
	clock := &movingClock{noon}
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Now: clock.now})
	old := stored(t, e, memory.RememberRequest{ID: "mem_old", Text: "Drink: espresso", Category: memory.Preference, Scope: "agent:scout"})
	clock.advance(24 * time.Hour)
	by := memory.RememberRequest{ID: "mem_new", Text: "She drinks barley coffee now", Agent: "scout", Relations: []memory.Relation{{Type: "about", TargetID: "t"}}}
	result, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: "em_old", By: by})
	if err != nil || !result.Created || result.ID != "mem_new" {
		t.Fatalf("%+v, %v", result, err)
	}
	want := &memory.Memory{
		ID: "mem_new", Text: by.Text, Category: memory.Preference, Scope: "agent:scout", Tier: memory.Working, State: memory.Confirmed,
		Layer: memory.DurableLayer, Importance: 0.7, Confidence: 0.7, CreatedAt: clock.at, ValidFrom: clock.at, RecordedAt: clock.at,
		UpdatedAt: clock.at, FactKey: "preferences:drink", Supersedes: "mem_old", Source: "manual",
		Relations: []memory.Relation{{Type: "supersedes", TargetID: "mem_old"}, {Type: "about", TargetID: "t"}},
	}
	if diff := cmp.Diff(want, gotten(t, e, "mem_new")); diff != "" {
		t.Errorf("the newer (-want +got):\n%s", diff)
	}
	old.InvalidatedAt, old.UpdatedAt, old.SupersededBy = clock.at, clock.at, "mem_new"
	old.Relations = []memory.Relation{{Type: "superseded_by", TargetID: "mem_new"}}
	if diff := cmp.Diff(old, gotten(t, e, "mem_old")); diff != "" {
		t.Errorf("the older (-want +got):\n%s", diff)
	}
}

func TestRecallAlongAChain(t *testing.T) {
	alone(t)
	for name, options := range map[string]engine.Options{"lexical": {}, "hybrid": {Embedder: enginetest.Words{}}} {
		t.Run(name, func(t *testing.T) {
			clock := &movingClock{noon}
			options.Now = clock.now
			e := enginetest.Open(t, options)
			day := 24 * time.Hour
			stored(t, e, memory.RememberRequest{ID: "mem_1", Text: "The release day is Monday", Category: memory.Event})
			for _, by := range []memory.RememberRequest{{ID: "mem_2", Text: "The release day is Tuesday"}, {ID: "mem_3", Text: "The release day is Friday"}} {
				clock.advance(10 * day)
				if got := gotten(t, e, "mem_"+string(by.ID[4]-1)); got.SupersededBy != "" {
					t.Fatalf("%s was superseded before", got.ID)
				}
				if _, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: "mem_" + string(by.ID[4]-1), By: by}); err != nil {
					t.Fatal(err)
				}
			}
			clock.advance(10 * day)
			for _, test := range []struct {
				asOf time.Time
				want []string
			}{
				{time.Time{}, []string{"mem_3"}},
				{noon.Add(-time.Microsecond), []string{}},
				{noon, []string{"mem_1"}},
				{noon.Add(10*day - time.Microsecond), []string{"mem_1"}},
				{noon.Add(10 * day), []string{"mem_2"}},
				{noon.Add(19 * day), []string{"mem_2"}},
				{noon.Add(20 * day), []string{"mem_3"}},
				{noon.Add(999 * day), []string{"mem_3"}},
			} {
				got := recalled(t, e, recall.Query{Text: "which day is release day?", AsOf: test.asOf})
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("as of %v (-want +got):\n%s", test.asOf, diff)
				}
			}
		})
	}
}

func TestSupersedeFromADateOfItsOwn(t *testing.T) {
	alone(t)
	e := enginetest.Open(t, engine.Options{})
	stored(t, e, memory.RememberRequest{ID: "mem_old", Text: "The quay is closed"})
	later := noon.Add(time.Hour)
	if _, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: "mem_old", By: memory.RememberRequest{ID: "mem_new", Text: "The quay is open", ValidFrom: later}}); err != nil {
		t.Fatal(err)
	}
	if got := gotten(t, e, "mem_old").InvalidatedAt; !got.Equal(later) {
		t.Errorf("the older one ends at %v, want %v, when the newer begins", got, later)
	}
	if got := recalled(t, e, recall.Query{Text: "quay"}); !cmp.Equal(got, []string{"mem_old"}) {
		t.Errorf("until then: %v", got)
	}
	if got := recalled(t, e, recall.Query{Text: "quay", AsOf: later}); !cmp.Equal(got, []string{"mem_new"}) {
		t.Errorf("then: %v", got)
	}
}

func TestSupersedeRefuses(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for _, r := range []memory.RememberRequest{
		{ID: "mem_old", Text: "old"}, {ID: "mem_gone", Text: "gone"}, {ID: "mem_open", Text: "open"}, {ID: "mem_private", Text: "private", Scope: "agent:scout"},
	} {
		stored(t, e, r)
	}
	if _, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: "mem_old", By: memory.RememberRequest{ID: "mem_new", Text: "new"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: "mem_gone"}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		id   string
		by   memory.RememberRequest
		want error
		says string
	}{
		{"mem_old", memory.RememberRequest{Text: "newer still"}, engine.ErrInvalid, "mem_new"},
		{"mem_gone", memory.RememberRequest{Text: "x"}, engine.ErrNotFound, "forgotten"},
		{"mem_nowhere", memory.RememberRequest{Text: "x"}, engine.ErrNotFound, "mem_nowhere"},
		{"mem_private", memory.RememberRequest{Text: "x", Agent: "teo"}, engine.ErrNotFound, "mem_private"},
		{"mem_open", memory.RememberRequest{}, engine.ErrInvalid, "text"},
		{"mem_open", memory.RememberRequest{Text: "x", ID: "mem_new"}, engine.ErrExists, "mem_new"},
		{"mem_open", memory.RememberRequest{Text: "x", ID: "mem_open"}, engine.ErrExists, "mem_open"},
		{"mem_open", memory.RememberRequest{Text: "x", Scope: "agent:scout", Agent: "teo"}, engine.ErrScopeDenied, "agent:scout"},
	} {
		if _, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: test.id, By: test.by}); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %v that says %s", test.id, err, test.want, test.says)
		}
	}
	if m := gotten(t, e, "mem_open"); m.SupersededBy != "" || !m.InvalidatedAt.IsZero() {
		t.Errorf("refused, but the older one has ended: %+v", m)
	}
}

func TestSupersededByAKnownKeyChangesNothing(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	stored(t, e, memory.RememberRequest{ID: "mem_old", Text: "old"})
	stored(t, e, memory.RememberRequest{ID: "mem_known", Text: "known", Key: "k"})
	result, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: "mem_old", By: memory.RememberRequest{Text: "new", Key: "k"}})
	if err != nil || result.Created || result.ID != "mem_known" {
		t.Errorf("%+v, %v, want the known one", result, err)
	}
	if m := gotten(t, e, "mem_old"); m.SupersededBy != "" || !m.InvalidatedAt.IsZero() {
		t.Errorf("the older one has ended without a newer one: %+v", m)
	}
}

func TestSupersedeAgain(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	old := stored(t, e, memory.RememberRequest{Text: "Release day is Thursday"})
	r := memory.SupersedeRequest{ID: old.ID, By: memory.RememberRequest{Text: "Release day is Monday", Key: "release"}}
	first, err := e.Supersede(t.Context(), r)
	if err != nil || !first.Created {
		t.Fatalf("%+v, %v", first, err)
	}
	if again, err := e.Supersede(t.Context(), r); err != nil || again.ID != first.ID || again.Created {
		t.Errorf("the same key again: %+v, %v, want %s and nothing new", again, err, first.ID)
	}
	r.By.Key = "other"
	if _, err := e.Supersede(t.Context(), r); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("another key: %v", err)
	}
}
