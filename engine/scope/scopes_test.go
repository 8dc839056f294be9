package scope_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/scope"
)

// house is what most tests of scopes use.
func house() scope.Scopes {
	return scope.Scopes{
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

// TestAccessibleScopes has the scopes of spec/memories.md 7.3. An empty list left an agent its reflections in the source, here it leaves nothing.
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

// TestAgentOf has the session keys of spec/memories.md 7.3 and 5.
func TestAgentOf(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"agent:main:discord:channel:1": "main", "agent:main": "main", "agent:system:1": "", "user:1": "",
		" agent:main:1\n": "main", "agent: main :1": "main", "agent:undefined": "", "agent: system": "", "agent:": "", "agent::1": "", "agent: :1": "", "agent": "", "": "",
		"Agent:main": "", "claude:agent:main": "", "agent:System:1": "System",
	} {
		if got := scope.AgentOf(key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}

// TestScopeOfSession: that of the agent whom the key names, if it may use that.
func TestScopeOfSession(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"agent:b:main": "agent:b", "agent:a:main": "", "agent:none": "", "agent:wide:1": "", "agent:system:1": "", "user:ines": "", "agent:\xff:1": "",
		"agent:" + strings.Repeat("x", 94): "agent:" + strings.Repeat("x", 94), "agent:" + strings.Repeat("x", 95): "",
	} {
		if got := house().OfSession(key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
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
		{"none", "", "", fault.ErrScopeDenied},
		{"none", "reflection:agent:none", "", fault.ErrScopeDenied},
		{"wide", "", "", fault.ErrScopeDenied}, // the default is not on its list
		{"wide", "project:x", "project:x", nil},
		{"", "", "global", nil},
		{"system", "", "", fault.ErrBadScope},
		{"undefined", "", "", fault.ErrBadScope},
		{"system", "user:ines", "user:ines", nil},
		{"", "team:x", "", fault.ErrBadScope},
		{"b", "team:x", "", fault.ErrBadScope},
		{"b", "user:ines", "", fault.ErrScopeDenied},
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

// TestSees: who is internal sees what is in a scope that is defined no more; nobody else does.
func TestSees(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		agent, scope string
		want         bool
	}{{"", "odd", true}, {"system", "odd", true}, {"b", "odd", false}, {"b", "global", true}, {"b", "user:ines", false}, {"wide", "project:x", true}} {
		if got := house().Sees(test.agent, test.scope); got != test.want {
			t.Errorf("agent %q, scope %q: %v, want %v", test.agent, test.scope, got, test.want)
		}
	}
}
