package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// house is what most tests of scopes use.
func house() engine.Scopes {
	return engine.Scopes{
		Default:     "global",
		Definitions: map[string]string{"harbour-wide": "for everyone at the harbour"},
		Access: map[string][]string{
			"a": {"global"}, "none": {}, "nil": nil, "own": {"reflection:agent:own", "user:ines"}, "wide": {"harbour-wide", "project:x"},
		},
	}
}

func TestValidScopes(t *testing.T) {
	t.Parallel()
	for scope, want := range map[string]bool{
		"global": true, "agent:x": true, "user:ines": true, "project:x": true, "custom:x": true, "reflection:agent:x": true, "harbour-wide": true,
		"user:" + strings.Repeat("x", 95): true, "user:" + strings.Repeat("x", 96): false,
		"": false, " ": false, "agent:": false, "agent: ": false, "Global": false, "team:x": false, "agent": false, " agent:x": false,
		"user:\xff": false, "user:a\x00": false,
	} {
		if got := house().Valid(scope); got != want {
			t.Errorf("%q: %v, want %v", scope, got, want)
		}
	}
}

func TestAccessibleScopes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		agent string
		want  []string
		all   bool
	}{
		{"b", []string{"global", "agent:b", "reflection:agent:b"}, false},
		{" b\t", []string{"global", "agent:b", "reflection:agent:b"}, false},
		{"a", []string{"global", "reflection:agent:a"}, false},
		{"own", []string{"reflection:agent:own", "user:ines"}, false},
		{"none", []string{}, false}, // nothing, not even its reflections
		{"nil", []string{}, false},
		{"wide", []string{"harbour-wide", "project:x", "reflection:agent:wide"}, false},
		{"", nil, true}, {"  ", nil, true}, {"system", nil, true}, {"undefined", nil, true}, {" system ", nil, true},
		{"System", []string{"global", "agent:System", "reflection:agent:System"}, false},
	} {
		got, all := house().Accessible(test.agent)
		if diff := cmp.Diff(test.want, got); diff != "" || all != test.all {
			t.Errorf("%q: all %v, (-want +got):\n%s", test.agent, all, diff)
		}
	}
}

func TestAllowedScopes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		agent, scope string
		want         bool
	}{
		{"b", "global", true}, {"b", "agent:b", true}, {"b", "reflection:agent:b", true}, {"b", "agent:a", false}, {"b", "user:ines", false},
		{"b", "", false}, {"b", "harbour-wide", false}, {"wide", "harbour-wide", true}, {"wide", "global", false},
		{"none", "global", false}, {"none", "agent:none", false}, {"none", "reflection:agent:none", false},
		{"", "user:ines", true}, {"", "harbour-wide", true}, {"", "team:x", false}, {"", "", false}, {"system", "agent:a", true}, {"system", "odd", false},
	} {
		if got := house().Allows(test.agent, test.scope); got != test.want {
			t.Errorf("agent %q, scope %q: %v, want %v", test.agent, test.scope, got, test.want)
		}
	}
}

func TestScopeForWriting(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		agent, asked, want string
		err                error
	}{
		{"b", "", "agent:b", nil},
		{"a", "", "global", nil}, // its own is not on its list
		{"none", "", "", engine.ErrScopeDenied},
		{"none", "reflection:agent:none", "", engine.ErrScopeDenied},
		{"wide", "", "", engine.ErrScopeDenied}, // the default is not on its list
		{"wide", "project:x", "project:x", nil},
		{"", "", "global", nil},
		{"system", "", "", engine.ErrBadScope},
		{"undefined", "", "", engine.ErrBadScope},
		{"system", "user:ines", "user:ines", nil},
		{"", "team:x", "", engine.ErrBadScope},
		{"b", "team:x", "", engine.ErrBadScope},
		{"b", "user:ines", "", engine.ErrScopeDenied},
	} {
		got, err := house().ForWriting(test.agent, test.asked)
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("agent %q, asked %q: %q, %v, want %q, %v", test.agent, test.asked, got, err, test.want, test.err)
		}
	}
}

func TestScopesForReading(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		agent         string
		asked         []string
		want, refused []string
	}{
		{"b", nil, []string{"global", "agent:b", "reflection:agent:b"}, nil},
		{"b", []string{}, []string{}, nil},
		{"b", []string{"global"}, []string{"global"}, nil},
		{"b", []string{"user:ines", "global", "agent:a"}, []string{"global"}, []string{"user:ines", "agent:a"}},
		{"b", []string{"user:ines"}, []string{}, []string{"user:ines"}},
		{"none", nil, []string{}, nil},
		{"none", []string{"global"}, []string{}, []string{"global"}},
		{"", nil, nil, nil},
		{"", []string{}, []string{}, nil},
		{"", []string{"user:ines"}, []string{"user:ines"}, nil},
		{"system", nil, nil, nil},
	} {
		got, refused := house().ForReading(test.agent, test.asked)
		if diff := cmp.Diff([][]string{test.want, test.refused}, [][]string{got, refused}); diff != "" {
			t.Errorf("agent %q, asked %q (-want +got):\n%s", test.agent, test.asked, diff)
		}
	}
}

func TestAgentOfSession(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"agent:main:discord:channel:1": "main", "agent:main": "main", "  agent:main:x  ": "main",
		"agent:system:1": "", "agent:undefined": "", "user:1": "", "agent:": "", "agent::x": "", "agent: :x": "", "": "", "main": "", "xagent:main": "",
	} {
		if got := engine.AgentOfSession(key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}

func TestSetScopes(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/scopes.db"
	e := enginetest.OpenAt(t, path, engine.Options{})
	if diff := cmp.Diff(engine.Scopes{Default: "global"}, e.Scopes(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("a new file (-want +got):\n%s", diff)
	}
	given := house()
	given.Access[" spaced "] = []string{"global"}
	given.Access["  "] = []string{"global"}
	if err := e.SetScopes(t.Context(), given); err != nil {
		t.Fatal(err)
	}
	given.Access["a"][0], given.Definitions["later"] = "user:ines", "the caller's maps are its own"
	want := house()
	want.Access["spaced"] = []string{"global"} // and the blank id is left out
	if diff := cmp.Diff(want, e.Scopes(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		name   string
		scopes engine.Scopes
		says   string
	}{
		{"reserved agent", engine.Scopes{Access: map[string][]string{"system": {"global"}}}, "system"},
		{"reserved agent with spaces", engine.Scopes{Access: map[string][]string{" undefined ": {"global"}}}, "undefined"},
		{"invalid scope in a list", engine.Scopes{Access: map[string][]string{"b": {"global", "team:x"}}}, "team:x"},
		{"one agent twice", engine.Scopes{Access: map[string][]string{"b": {"global"}, " b": {"user:x"}}}, "each agent once"},
		{"default without definition", engine.Scopes{Default: "harbour-wide"}, "harbour-wide"},
		{"definition with a space", engine.Scopes{Definitions: map[string]string{"a b": ""}}, "a b"},
		{"definition too long", engine.Scopes{Definitions: map[string]string{strings.Repeat("x", 101): ""}}, "at most 100"},
		{"blank definition", engine.Scopes{Definitions: map[string]string{"": ""}}, "definitions"},
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
	m := stored(t, e, engine.RememberRequest{Text: "The harbour closes at ten", Scope: "harbour-wide"})
	if err := e.SetScopes(t.Context(), engine.Scopes{}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Remember(t.Context(), engine.RememberRequest{Text: "x", Scope: "harbour-wide"}); !errors.Is(err, engine.ErrBadScope) {
		t.Errorf("write into a scope without definition: %v, want ErrBadScope", err)
	}
	if got := recalled(t, e, engine.RecallQuery{Text: "harbour"}); !cmp.Equal(got, []string{m.ID}) {
		t.Errorf("internal recall: %v", got)
	}
	if got := recalled(t, e, engine.RecallQuery{Text: "harbour", Agent: "wide"}); len(got) != 0 {
		t.Errorf("recall of an agent: %v", got)
	}
}

func TestScopesGuardEveryVerb(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	m := stored(t, e, engine.RememberRequest{Text: "The gate code is 4711", Scope: "agent:scout"})
	if _, err := e.Append(t.Context(), engine.AppendRequest{Conversation: "talk", Agent: "scout", Messages: []engine.Message{{Text: "The gate code is 4711"}}}); err != nil {
		t.Fatal(err)
	}
	question := engine.RecallQuery{Text: "gate code", Agent: "teo", Kinds: engine.Kinds(), Scopes: []string{"agent:scout", "global"}}
	result, err := e.Recall(t.Context(), question)
	if err != nil || len(result.Hits) != 0 {
		t.Errorf("recall: %v, %v", hitIDs(result), err)
	}
	if want := `scope "agent:scout" is not open to agent teo`; len(result.Notices) != 1 || result.Notices[0] != want {
		t.Errorf("notices %q, want %q", result.Notices, want)
	}
	for _, scopes := range [][]string{nil, {}, {""}, {" "}} {
		if question.Scopes = scopes; len(recalled(t, e, question)) != 0 {
			t.Errorf("scopes %q: found", scopes)
		}
	}
	question.Agent, question.Scopes = "scout", nil
	if got := recalled(t, e, question); len(got) != 2 {
		t.Errorf("its own agent: %v", got)
	}
	for name, call := range map[string]func() error{
		"append": func() error {
			_, err := e.Append(t.Context(), engine.AppendRequest{Conversation: "talk", Agent: "teo", Messages: []engine.Message{{Text: "x"}}})
			return err
		},
		"append to a new one": func() error {
			_, err := e.Append(t.Context(), engine.AppendRequest{Conversation: "new", Agent: "teo", Scope: "agent:scout", Messages: []engine.Message{{Text: "x"}}})
			return err
		},
		"remember": func() error {
			_, err := e.Remember(t.Context(), engine.RememberRequest{Text: "x", Agent: "teo", Scope: "agent:scout"})
			return err
		},
	} {
		if err := call(); !errors.Is(err, engine.ErrScopeDenied) {
			t.Errorf("%s: %v, want ErrScopeDenied", name, err)
		}
	}
	for name, call := range map[string]func() error{
		"get": func() error { _, err := e.Get(t.Context(), engine.GetRequest{ID: m.ID, Agent: "teo"}); return err },
		"forget": func() error {
			_, err := e.Forget(t.Context(), engine.ForgetRequest{ID: m.ID, Agent: "teo"})
			return err
		},
		"purge": func() error { _, err := e.Purge(t.Context(), engine.ForgetRequest{ID: m.ID, Agent: "teo"}); return err },
		"messages": func() error {
			_, err := e.Messages(t.Context(), engine.MessagesRequest{Conversation: "talk", Agent: "teo"})
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
	if n, err := e.Export(t.Context(), &out, engine.ExportRequest{Agent: "teo"}); err != nil || n != 0 || out.Len() != 0 {
		t.Errorf("export: %d, %v, %s", n, err, out.String())
	}
}

func TestUnusedScopes(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	m := stored(t, e, engine.RememberRequest{Text: "x", Scope: "user:ines"})
	if _, err := e.Forget(t.Context(), engine.ForgetRequest{ID: m.ID}); err != nil {
		t.Fatal(err)
	}
	appended(t, e, engine.AppendRequest{Conversation: "c", Scope: "project:yard", Messages: []engine.Message{{Text: "x"}}})
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
