package scope

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Scopes says which scopes there are and who may use them. A scope is who shares a memory: "global", "agent:x", "user:x",
// "project:x", "custom:x" or "reflection:agent:x"; others must be defined.
type Scopes struct {
	// Default is where a memory goes when neither its request nor its agent says. Default "global".
	Default string `json:"default"`
	// Definitions are further scopes with what they are for; "global" is always defined.
	Definitions map[string]string `json:"definitions"`
	// Access lists the scopes of an agent. An agent without a list has global, its own and its own reflections; a list
	// adds only the reflections; an empty list denies everything.
	Access map[string][]string `json:"access"`
}

// Global is the scope that everybody shares.
const Global = "global"

// longest is how many characters a scope may have.
const longest = 100

var (
	prefixes = []string{"agent:", "user:", "project:", "custom:", "reflection:"}
	nameForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,100}$`)
)

// Valid reports whether a scope may be written to.
func (s Scopes) Valid(scope string) bool {
	if _, ok := s.Definitions[scope]; ok || scope == Global {
		return true
	}
	for _, prefix := range prefixes {
		if rest, ok := strings.CutPrefix(scope, prefix); ok && strings.TrimSpace(rest) != "" && fault.CheckText("scope", scope) == nil && len(scope) <= longest {
			return true
		}
	}
	return false
}

// Check says of a scope that is not valid what is allowed. Errors: ErrBadScope.
func (s Scopes) Check(scope string) error {
	if s.Valid(scope) {
		return nil
	}
	return fmt.Errorf("%w: %s; allowed: global, agent:x, user:x, project:x, custom:x, reflection:agent:x of at most %d characters, or a defined scope", fault.ErrBadScope, fault.Quote(scope), longest)
}

// internal reports whether a caller may use every scope: no agent, or one of the reserved ids.
func internal(agent string) bool {
	agent = strings.TrimSpace(agent)
	return agent == "" || agent == "system" || agent == "undefined"
}

// AgentOf is the agent that a host's session key names, as in agent:main:discord:channel:1: what stands between agent: and the next colon. A key of another form
// names none, and neither does one with a reserved id.
func AgentOf(sessionKey string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(sessionKey), "agent:")
	if !ok {
		return ""
	}
	agent, _, _ := strings.Cut(rest, ":")
	if internal(agent) {
		return ""
	}
	return strings.TrimSpace(agent)
}

// OfSession is the own scope of the agent that a session key names, where that may use it; else empty.
func (s Scopes) OfSession(key string) string {
	agent := AgentOf(key)
	if own := "agent:" + agent; agent != "" && s.Valid(own) && s.Allows(agent, own) {
		return own
	}
	return ""
}

// Accessible gives the scopes of an agent; all is true, without a list, for internal callers.
func (s Scopes) Accessible(agent string) (scopes []string, all bool) {
	if internal(agent) {
		return nil, true
	}
	agent = strings.TrimSpace(agent)
	own := "reflection:agent:" + agent
	list, ok := s.Access[agent]
	switch {
	case !ok:
		return []string{Global, "agent:" + agent, own}, false
	case len(list) == 0:
		return []string{}, false
	case slices.Contains(list, own):
		return slices.Clone(list), false
	}
	return append(slices.Clone(list), own), false
}

// Allows reports whether the agent may read and write the scope.
func (s Scopes) Allows(agent, scope string) bool {
	list, all := s.Accessible(agent)
	return all && s.Valid(scope) || slices.Contains(list, scope)
}

// Sees reports whether the agent is shown what is in the scope. Internal callers are, also where it is defined no more.
func (s Scopes) Sees(agent, scope string) bool { return internal(agent) || s.Allows(agent, scope) }

// ForWriting gives the scope that a write of the agent goes to; asked may be empty. Errors: ErrBadScope, ErrScopeDenied.
func (s Scopes) ForWriting(agent, asked string) (string, error) {
	scope := asked
	switch {
	case scope != "":
	case strings.TrimSpace(agent) == "":
		scope = cmp.Or(s.Default, Global)
	case internal(agent):
		return "", fmt.Errorf("%w: agent %q has no scope of its own; name one", fault.ErrBadScope, agent)
	case s.Allows(agent, "agent:"+strings.TrimSpace(agent)):
		scope = "agent:" + strings.TrimSpace(agent)
	default:
		scope = cmp.Or(s.Default, Global)
	}
	if err := s.Check(scope); err != nil {
		return "", err
	}
	if !s.Allows(agent, scope) {
		return "", fmt.Errorf("%w: agent %q may not use %s", fault.ErrScopeDenied, agent, scope)
	}
	return scope, nil
}

// ForReading gives the scopes that a read of the agent sees: those asked for that it may use, or all of its own when none are
// asked for; nil is no restriction, an empty list matches nothing. refused are those it may not use.
func (s Scopes) ForReading(agent string, asked []string) (scopes, refused []string) {
	list, all := s.Accessible(agent)
	switch {
	case all:
		return asked, nil
	case asked == nil:
		return list, nil
	}
	scopes = []string{}
	for _, scope := range asked {
		if slices.Contains(list, scope) {
			scopes = append(scopes, scope)
		} else {
			refused = append(refused, scope)
		}
	}
	return scopes, refused
}

// Clone is a copy that shares nothing.
func (s Scopes) Clone() Scopes {
	s.Definitions, s.Access = maps.Clone(s.Definitions), maps.Clone(s.Access)
	return s
}

// Settled are the scopes as they are kept: with a default, and ids without spaces around them. Errors: ErrInvalid.
func (s Scopes) Settled() (Scopes, error) {
	s.Default = cmp.Or(s.Default, Global)
	access := map[string][]string{}
	for agent, list := range s.Access {
		id := strings.TrimSpace(agent)
		if _, twice := access[id]; twice {
			return s, fault.Invalid("access", agent, "each agent once")
		}
		if id != "" {
			access[id] = slices.Clone(list)
		}
	}
	s.Access, s.Definitions = access, maps.Clone(s.Definitions)
	return s, s.validate()
}

// validate names what is wrong.
func (s Scopes) validate() error {
	for name := range s.Definitions {
		if !nameForm.MatchString(name) {
			return fault.Invalid("definitions", name, "letters, digits, '.', '_', ':' and '-', at most 100")
		}
	}
	if !s.Valid(cmp.Or(s.Default, Global)) {
		return fault.Invalid("default", s.Default, "a defined scope")
	}
	for agent, list := range s.Access {
		if internal(agent) {
			return fault.Invalid("access", agent, "an agent's id; system and undefined have no list")
		}
		for _, scope := range list {
			if !s.Valid(scope) {
				return fault.Invalid("access."+agent, scope, "scopes that are defined or of a known form")
			}
		}
	}
	return nil
}
