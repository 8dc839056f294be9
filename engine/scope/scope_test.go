package scope_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/scope"
)

// guarded are scopes with a definition, and agents with some, one or no access.
func guarded() scope.Scopes {
	return scope.Scopes{Default: "global", Definitions: map[string]string{"harbour-wide": "for everyone"}, Access: map[string][]string{"a": {"global"}, "none": {}}}
}

func TestSetScopes(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/scopes.db"
	e := enginetest.OpenAt(t, path, engine.Options{})
	if diff := cmp.Diff(scope.Scopes{Default: "global"}, e.Scopes(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("a new file (-want +got):\n%s", diff)
	}
	given := guarded()
	given.Access[" spaced "] = []string{"global"}
	given.Access["  "] = []string{"global"}
	if err := e.SetScopes(t.Context(), given); err != nil {
		t.Fatal(err)
	}
	given.Access["a"][0], given.Definitions["later"] = "user:ines", "the caller's maps are its own"
	want := guarded()
	want.Access["spaced"] = []string{"global"} // and the blank id is left out
	if diff := cmp.Diff(want, e.Scopes(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		name   string
		scopes scope.Scopes
		says   string
	}{
		{"reserved agent", scope.Scopes{Access: map[string][]string{"system": {"global"}}}, "system"},
		{"reserved agent with spaces", scope.Scopes{Access: map[string][]string{" undefined ": {"global"}}}, "undefined"},
		{"invalid scope in a list", scope.Scopes{Access: map[string][]string{"b": {"global", "team:x"}}}, "team:x"},
		{"one agent twice", scope.Scopes{Access: map[string][]string{"b": {"global"}, " b": {"user:x"}}}, "each agent once"},
		{"default without definition", scope.Scopes{Default: "harbour-wide"}, "harbour-wide"},
		{"definition with a space", scope.Scopes{Definitions: map[string]string{"a b": ""}}, "a b"},
		{"definition too long", scope.Scopes{Definitions: map[string]string{strings.Repeat("x", 101): ""}}, "at most 100"},
		{"blank definition", scope.Scopes{Definitions: map[string]string{"": ""}}, "definitions"},
	} {
		if err := e.SetScopes(t.Context(), test.scopes); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want ErrInvalid that says %q", test.name, err, test.says)
		}
		if diff := cmp.Diff(want, e.Scopes(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s: the old ones are gone (-want +got):\n%s", test.name, diff)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = enginetest.OpenAt(t, path, engine.Options{})
	if diff := cmp.Diff(want, e.Scopes(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("opened again (-want +got):\n%s", diff)
	}
	if got, all := e.Scopes().Accessible("none"); all || len(got) != 0 {
		t.Errorf("opened again, an agent that may nothing: %v, all %v", got, all)
	}
	// A definition that is taken away leaves what is in the scope, for internal callers alone.
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: "The harbour closes at ten", Scope: "harbour-wide"})
	if err := e.SetScopes(t.Context(), scope.Scopes{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Remember(t.Context(), memory.RememberRequest{Text: "x", Scope: "harbour-wide"}); !errors.Is(err, engine.ErrBadScope) {
		t.Errorf("write into a scope without definition: %v, want ErrBadScope", err)
	}
	if got := enginetest.RecallIDs(t, e, recall.Query{Text: "harbour"}); !cmp.Equal(got, []string{m.ID}) {
		t.Errorf("internal recall: %v", got)
	}
	if got := enginetest.RecallIDs(t, e, recall.Query{Text: "harbour", Agent: "wide"}); len(got) != 0 {
		t.Errorf("recall of an agent: %v", got)
	}
}

func TestScopesGuardEveryVerb(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: "The gate code is 4711", Scope: "agent:scout"})
	if _, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "talk", Agent: "scout", Messages: []conversation.Message{{Text: "The gate code is 4711"}}}); err != nil {
		t.Fatal(err)
	}
	question := recall.Query{Text: "gate code", Agent: "teo", Kinds: kinds.All(), Scopes: []string{"agent:scout", "global"}}
	result, err := e.Recall(t.Context(), question)
	if err != nil || len(result.Hits) != 0 {
		t.Errorf("recall: %v, %v", enginetest.HitIDs(result), err)
	}
	if want := `scope "agent:scout" is not open to agent teo`; len(result.Notices) != 1 || result.Notices[0] != want {
		t.Errorf("notices %q, want %q", result.Notices, want)
	}
	for _, scopes := range [][]string{nil, {}, {""}, {" "}} {
		if question.Scopes = scopes; len(enginetest.RecallIDs(t, e, question)) != 0 {
			t.Errorf("scopes %q: found", scopes)
		}
	}
	question.Agent, question.Scopes = "scout", nil
	if got := enginetest.RecallIDs(t, e, question); len(got) != 2 {
		t.Errorf("its own agent: %v", got)
	}
	for name, call := range map[string]func() error{
		"append": func() error {
			_, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "talk", Agent: "teo", Messages: []conversation.Message{{Text: "x"}}})
			return err
		},
		"append to a new one": func() error {
			_, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "new", Agent: "teo", Scope: "agent:scout", Messages: []conversation.Message{{Text: "x"}}})
			return err
		},
		"remember": func() error {
			_, err := e.Remember(t.Context(), memory.RememberRequest{Text: "x", Agent: "teo", Scope: "agent:scout"})
			return err
		},
	} {
		if err := call(); !errors.Is(err, engine.ErrScopeDenied) {
			t.Errorf("%s: %v, want ErrScopeDenied", name, err)
		}
	}
	for name, call := range map[string]func() error{
		"get": func() error { _, err := e.Get(t.Context(), memory.GetRequest{ID: m.ID, Agent: "teo"}); return err },
		"forget": func() error {
			_, err := e.Forget(t.Context(), memory.ForgetRequest{ID: m.ID, Agent: "teo"})
			return err
		},
		"purge": func() error { _, err := e.Purge(t.Context(), memory.PurgeRequest{ID: m.ID, Agent: "teo"}); return err },
		"messages": func() error {
			_, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: "talk", Agent: "teo"})
			return err
		},
	} {
		if err := call(); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", name, err)
		}
	}
	if all, err := e.Conversations(t.Context(), "teo"); err != nil || len(all) != 0 {
		t.Errorf("conversations: %v, %v", all, err)
	}
	var out strings.Builder
	if n, err := e.Export(t.Context(), &out, memory.ExportRequest{Agent: "teo"}); err != nil || n != 0 || out.Len() != 0 {
		t.Errorf("export: %d, %v, %s", n, err, out.String())
	}
}

func TestUnusedScopes(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: "x", Scope: "user:ines"})
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: m.ID}); err != nil {
		t.Fatal(err)
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Scope: "project:yard", Messages: []conversation.Message{{Text: "x"}}})
	got, err := e.UnusedScopes(t.Context(), []string{"user:teo", "project:yard", "", "user:ines", "global"})
	if diff := cmp.Diff([]string{"user:teo", "", "global"}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := e.UnusedScopes(t.Context(), []string{"\xff"}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("no UTF-8: %v", err)
	}
	for scope, want := range map[string]error{"global": nil, "user:x": nil, "nonsense": engine.ErrBadScope, "": engine.ErrBadScope, "user:": engine.ErrBadScope} {
		if err := e.Scopes().Check(scope); !errors.Is(err, want) {
			t.Errorf("check %q: %v, want %v", scope, err, want)
		}
	}
}
