package memory_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
)

// memoryTexts gives the texts of memories in their order.
func memoryTexts(all []*memory.Memory) []string {
	texts := []string{}
	for _, m := range all {
		texts = append(texts, m.Text)
	}
	return texts
}

// openListed makes memories a to f, an hour apart: e supersedes d, c has expired, b is forgotten.
func openListed(t *testing.T) *engine.Engine {
	e := enginetest.Open(t, engine.Options{})
	hour := func(n int) time.Time { return enginetest.Noon.Add(time.Duration(n-10) * time.Hour) }
	for _, r := range []memory.RememberRequest{
		{ID: "id_a", Text: "a", CreatedAt: hour(1), Category: memory.Event, Tier: memory.Core, Scope: "user:ines", Extra: map[string]any{"ticket": 4, "from": "log"}},
		{ID: "id_b", Text: "b", CreatedAt: hour(2), Category: memory.Event, Tier: memory.Peripheral},
		{ID: "id_c", Text: "c", CreatedAt: hour(3), Category: memory.Case, ValidUntil: enginetest.Noon},
		{ID: "id_d", Text: "d", CreatedAt: hour(4), Category: memory.Case, State: memory.Pending, Extra: map[string]any{"ticket": "4"}},
		{ID: "id_f", Text: "f", CreatedAt: hour(6), Category: memory.Profile, State: memory.Archived, Scope: "agent:scout"},
	} {
		enginetest.Remember(t, e, r)
	}
	by := memory.RememberRequest{ID: "id_e", Text: "e", CreatedAt: hour(5)}
	if _, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: "id_d", By: by}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: "id_b"}); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestListFilters(t *testing.T) {
	enginetest.Alone(t)
	e := openListed(t)
	type list = memory.ListRequest
	for _, test := range []struct {
		name    string
		request list
		want    string
	}{
		{"all but forgotten, newest first", list{}, "fedca"},
		{"any", list{Standing: "any"}, "fedcba"},
		{"current", list{Standing: "current"}, "fea"},
		{"superseded", list{Standing: "superseded"}, "d"},
		{"expired", list{Standing: "expired"}, "c"},
		{"forgotten", list{Standing: "forgotten"}, "b"},
		{"scope", list{Scopes: []string{"user:ines"}}, "a"},
		{"scopes", list{Scopes: []string{"user:ines", "agent:scout"}}, "fa"},
		{"no scope at all", list{Scopes: []string{}}, ""},
		{"blank scope", list{Scopes: []string{""}}, ""},
		{"category", list{Categories: []memory.Category{memory.Case}}, "edc"},
		{"categories", list{Categories: []memory.Category{memory.Event, memory.Profile}}, "fa"},
		{"no category", list{Categories: []memory.Category{}}, ""},
		{"tier", list{Tiers: []memory.Tier{memory.Core}}, "a"},
		{"state", list{States: []memory.State{memory.Pending}}, "d"},
		{"states", list{States: []memory.State{memory.Pending, memory.Archived}}, "fd"},
		{"metadata", list{Where: map[string]string{"ticket": "4"}}, "da"},
		{"all of it", list{Where: map[string]string{"ticket": "4", "from": "log"}}, "a"},
		{"metadata that nobody has", list{Where: map[string]string{"ticket": "5"}}, ""},
		{"since is within", list{Since: enginetest.Noon.Add(-6 * time.Hour)}, "fed"},
		{"until is without", list{Until: enginetest.Noon.Add(-6 * time.Hour)}, "ca"},
		{"since and until", list{Since: enginetest.Noon.Add(-7 * time.Hour), Until: enginetest.Noon.Add(-5 * time.Hour)}, "dc"},
		{"limit", list{Limit: 2}, "fe"},
		{"offset", list{Limit: 2, Offset: 3}, "ca"},
		{"offset past the end", list{Offset: 9}, ""},
		{"filters and standing", list{Standing: "any", Categories: []memory.Category{memory.Event}}, "ba"},
		{"agent", list{Agent: "scout"}, "fedc"},
		{"agent and scopes it may not see", list{Agent: "scout", Scopes: []string{"user:ines", "agent:scout"}}, "f"},
		{"agent and only such", list{Agent: "scout", Scopes: []string{"user:ines"}}, ""},
		{"another agent", list{Agent: "teo"}, "edc"},
		{"reserved agent", list{Agent: "system"}, "fedca"},
	} {
		got, err := e.List(t.Context(), test.request)
		var letters string
		for _, m := range got {
			letters += m.Text
		}
		if err != nil || letters != test.want {
			t.Errorf("%s: %q, %v, want %q", test.name, letters, err, test.want)
		}
	}
}

func TestListRefuses(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for _, r := range []memory.ListRequest{
		{Limit: -1}, {Limit: 100_001}, {Offset: -1}, {Standing: "lost"}, {Categories: []memory.Category{"fact"}}, {Tiers: []memory.Tier{"hot"}},
		{States: []memory.State{"lost"}}, {Scopes: []string{"\xff"}}, {Where: map[string]string{"": "4"}}, {Where: map[string]string{"ticket": "\xff"}},
	} {
		if _, err := e.List(t.Context(), r); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", r, err)
		}
	}
}

func TestListOrderAndDefaultLimit(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{NewID: enginetest.CountedIDs()})
	var want []string
	for i := range 25 {
		enginetest.Remember(t, e, memory.RememberRequest{Text: fmt.Sprint(i)}) // all of one moment: by id
		if i >= 5 {
			want = append([]string{fmt.Sprint(i)}, want...)
		}
	}
	all, err := e.List(t.Context(), memory.ListRequest{})
	if diff := cmp.Diff(want, memoryTexts(all)); err != nil || diff != "" {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
}
