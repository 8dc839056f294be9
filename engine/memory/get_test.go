package memory_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/memory"
)

func TestGetByTheEndingOfAnID(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for _, r := range []memory.RememberRequest{
		{ID: "mem_aaa111222", Text: "one"},
		{ID: "mem_bbb111222", Text: "two"},
		{ID: "mem_ccc333444", Text: "three"},
		{ID: "333444", Text: "an id that is the ending of another"},
		{ID: "mem_ddd555666", Text: "in a scope of scout's", Scope: "agent:scout"},
		{ID: "mem_eee555666", Text: "in a scope of teo's", Scope: "agent:teo"},
	} {
		enginetest.Remember(t, e, r)
	}
	for _, test := range []struct {
		agent, id, want string
		err             error
	}{
		{"", "mem_aaa111222", "one", nil},
		{"", "a111222", "one", nil},
		{"", "b111222", "two", nil},
		{"", "111222", "", engine.ErrAmbiguous},
		{"", "333444", "an id that is the ending of another", nil},
		{"", "c333444", "three", nil},
		{"", "33444", "", engine.ErrNotFound}, // five characters
		{"", "mem_aaa", "", engine.ErrNotFound},
		{"", "", "", engine.ErrNotFound},
		{"", "%111222", "", engine.ErrNotFound},
		{"", "______", "", engine.ErrNotFound},
		{"", "\xff11222", "", engine.ErrInvalid},
		{"scout", "mem_ddd555666", "in a scope of scout's", nil},
		{"scout", "mem_eee555666", "", engine.ErrNotFound},
		{"scout", "e555666", "", engine.ErrNotFound},
		{"scout", "555666", "in a scope of scout's", nil}, // what it may not see does not make it ambiguous
		{"teo", "555666", "in a scope of teo's", nil},
		{"system", "555666", "", engine.ErrAmbiguous},
	} {
		m, err := e.Get(t.Context(), memory.GetRequest{ID: test.id, Agent: test.agent})
		if !errors.Is(err, test.err) || err == nil && m.Text != test.want {
			t.Errorf("agent %q, id %q: %v, %v, want %q, %v", test.agent, test.id, m, err, test.want, test.err)
		}
		if errors.Is(err, engine.ErrAmbiguous) && strings.Count(err.Error(), "mem_") != 2 {
			t.Errorf("%v: want both ids", err)
		}
	}
}

func TestGetGivesForgottenMemories(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: "x"})
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: m.ID, Reason: "wrong"}); err != nil {
		t.Fatal(err)
	}
	if m = enginetest.Get(t, e, m.ID); m.RetiredAt.IsZero() || m.RetiredReason != "wrong" {
		t.Errorf("%+v, want it with time and reason", m)
	}
}

func TestShortID(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: "x"})
	short := ids.Short(m.ID)
	if len(short) != 8 || enginetest.Get(t, e, short).ID != m.ID {
		t.Errorf("%s is short for %s", short, m.ID)
	}
	if got := ids.Short("abc"); got != "abc" {
		t.Errorf("of a short one: %s", got)
	}
}
