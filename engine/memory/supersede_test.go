package memory_test

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
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Now: clock.Now})
	old := enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_old", Text: "Drink: espresso", Category: memory.Preference, Scope: "agent:scout"})
	clock.Advance(24 * time.Hour)
	by := memory.RememberRequest{ID: "mem_new", Text: "She drinks barley coffee now", Agent: "scout", Relations: []memory.Relation{{Type: "about", TargetID: "t"}}}
	result, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: "em_old", By: by})
	if err != nil || !result.Created || result.ID != "mem_new" {
		t.Fatalf("%+v, %v", result, err)
	}
	want := &memory.Memory{
		ID: "mem_new", Text: by.Text, Category: memory.Preference, Scope: "agent:scout", Tier: memory.Working, State: memory.Confirmed,
		Layer: memory.DurableLayer, Importance: 0.7, Confidence: 0.7, CreatedAt: clock.At, ValidFrom: clock.At, RecordedAt: clock.At,
		UpdatedAt: clock.At, FactKey: "preferences:drink", Supersedes: "mem_old", Source: "manual", Trust: memory.Stated,
		Relations: []memory.Relation{{Type: "supersedes", TargetID: "mem_old"}, {Type: "about", TargetID: "t"}},
	}
	if diff := cmp.Diff(want, enginetest.Get(t, e, "mem_new")); diff != "" {
		t.Errorf("the newer (-want +got):\n%s", diff)
	}
	old.InvalidatedAt, old.UpdatedAt, old.SupersededBy = clock.At, clock.At, "mem_new"
	old.Relations = []memory.Relation{{Type: "superseded_by", TargetID: "mem_new"}}
	if diff := cmp.Diff(old, enginetest.Get(t, e, "mem_old")); diff != "" {
		t.Errorf("the older (-want +got):\n%s", diff)
	}
}

func TestRecallAlongAChain(t *testing.T) {
	enginetest.Alone(t)
	for name, options := range map[string]engine.Options{"lexical": {}, "hybrid": {Embedder: enginetest.Words{}}} {
		t.Run(name, func(t *testing.T) {
			clock := &enginetest.Clock{At: enginetest.Noon}
			options.Now = clock.Now
			e := enginetest.Open(t, options)
			day := 24 * time.Hour
			enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_1", Text: "The release day is Monday", Category: memory.Event})
			for _, by := range []memory.RememberRequest{{ID: "mem_2", Text: "The release day is Tuesday"}, {ID: "mem_3", Text: "The release day is Friday"}} {
				clock.Advance(10 * day)
				if got := enginetest.Get(t, e, "mem_"+string(by.ID[4]-1)); got.SupersededBy != "" {
					t.Fatalf("%s was superseded before", got.ID)
				}
				if _, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: "mem_" + string(by.ID[4]-1), By: by}); err != nil {
					t.Fatal(err)
				}
			}
			clock.Advance(10 * day)
			for _, test := range []struct {
				asOf time.Time
				want []string
			}{
				{time.Time{}, []string{"mem_3"}},
				{enginetest.Noon.Add(-time.Microsecond), []string{}},
				{enginetest.Noon, []string{"mem_1"}},
				{enginetest.Noon.Add(10*day - time.Microsecond), []string{"mem_1"}},
				{enginetest.Noon.Add(10 * day), []string{"mem_2"}},
				{enginetest.Noon.Add(19 * day), []string{"mem_2"}},
				{enginetest.Noon.Add(20 * day), []string{"mem_3"}},
				{enginetest.Noon.Add(999 * day), []string{"mem_3"}},
			} {
				got := enginetest.RecallIDs(t, e, recall.Query{Text: "which day is release day?", AsOf: test.asOf})
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("as of %v (-want +got):\n%s", test.asOf, diff)
				}
			}
		})
	}
}

func TestSupersedeFromADateOfItsOwn(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_old", Text: "The quay is closed"})
	later := enginetest.Noon.Add(time.Hour)
	if _, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: "mem_old", By: memory.RememberRequest{ID: "mem_new", Text: "The quay is open", ValidFrom: later}}); err != nil {
		t.Fatal(err)
	}
	if got := enginetest.Get(t, e, "mem_old").InvalidatedAt; !got.Equal(later) {
		t.Errorf("the older one ends at %v, want %v, when the newer begins", got, later)
	}
	if got := enginetest.RecallIDs(t, e, recall.Query{Text: "quay"}); !cmp.Equal(got, []string{"mem_old"}) {
		t.Errorf("until then: %v", got)
	}
	if got := enginetest.RecallIDs(t, e, recall.Query{Text: "quay", AsOf: later}); !cmp.Equal(got, []string{"mem_new"}) {
		t.Errorf("then: %v", got)
	}
}

func TestSupersedeRefuses(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for _, r := range []memory.RememberRequest{
		{ID: "mem_old", Text: "old"}, {ID: "mem_gone", Text: "gone"}, {ID: "mem_open", Text: "open"}, {ID: "mem_private", Text: "private", Scope: "agent:scout"},
	} {
		enginetest.Remember(t, e, r)
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
	if m := enginetest.Get(t, e, "mem_open"); m.SupersededBy != "" || !m.InvalidatedAt.IsZero() {
		t.Errorf("refused, but the older one has ended: %+v", m)
	}
}

func TestSupersededByAKnownKeyChangesNothing(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_old", Text: "old"})
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_known", Text: "known", Key: "k"})
	result, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: "mem_old", By: memory.RememberRequest{Text: "new", Key: "k"}})
	if err != nil || result.Created || result.ID != "mem_known" {
		t.Errorf("%+v, %v, want the known one", result, err)
	}
	if m := enginetest.Get(t, e, "mem_old"); m.SupersededBy != "" || !m.InvalidatedAt.IsZero() {
		t.Errorf("the older one has ended without a newer one: %+v", m)
	}
}

func TestSupersedeAgain(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	old := enginetest.Remember(t, e, memory.RememberRequest{Text: "Release day is Thursday"})
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
