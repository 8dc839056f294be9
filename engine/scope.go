package engine

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
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

const globalScope = "global"

var (
	scopePrefixes = []string{"agent:", "user:", "project:", "custom:", "reflection:"}
	scopeName     = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,100}$`)
)

// Valid reports whether a scope may be written to.
func (s Scopes) Valid(scope string) bool {
	if _, ok := s.Definitions[scope]; ok || scope == globalScope {
		return true
	}
	for _, prefix := range scopePrefixes {
		if rest, ok := strings.CutPrefix(scope, prefix); ok && strings.TrimSpace(rest) != "" && checkText("scope", scope) == nil && len(scope) <= maxScope {
			return true
		}
	}
	return false
}

// internal reports whether a caller may use every scope: no agent, or one of the reserved ids.
func internal(agent string) bool {
	agent = strings.TrimSpace(agent)
	return agent == "" || agent == "system" || agent == "undefined"
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
		return []string{globalScope, "agent:" + agent, own}, false
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

// ForWriting gives the scope that a write of the agent goes to; asked may be empty. Errors: ErrBadScope, ErrScopeDenied.
func (s Scopes) ForWriting(agent, asked string) (string, error) {
	scope := asked
	switch {
	case scope != "":
	case strings.TrimSpace(agent) == "":
		scope = or(s.Default, globalScope)
	case internal(agent):
		return "", fmt.Errorf("%w: agent %q has no scope of its own; name one", ErrBadScope, agent)
	case s.Allows(agent, "agent:"+strings.TrimSpace(agent)):
		scope = "agent:" + strings.TrimSpace(agent)
	default:
		scope = or(s.Default, globalScope)
	}
	if !s.Valid(scope) {
		return "", badScope(scope)
	}
	if !s.Allows(agent, scope) {
		return "", fmt.Errorf("%w: agent %q may not use %s", ErrScopeDenied, agent, scope)
	}
	return scope, nil
}

func badScope(scope string) error {
	return fmt.Errorf("%w: scope is %s; allowed: global, agent:x, user:x, project:x, custom:x, reflection:agent:x of at most %d characters, or a defined scope", ErrBadScope, quote(scope), maxScope)
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

// validate names what is wrong.
func (s Scopes) validate() error {
	for name := range s.Definitions {
		if !scopeName.MatchString(name) {
			return invalid("definitions", name, "letters, digits, '.', '_', ':' and '-', at most 100")
		}
	}
	if !s.Valid(or(s.Default, globalScope)) {
		return invalid("default", s.Default, "a defined scope")
	}
	for agent, list := range s.Access {
		if internal(agent) {
			return invalid("access", agent, "an agent's id; system and undefined have no list")
		}
		for _, scope := range list {
			if !s.Valid(scope) {
				return invalid("access."+agent, scope, "scopes that are defined or of a known form")
			}
		}
	}
	return nil
}

// AgentOfSession gives the agent's id in a host's session key such as "agent:main:chat:1", or "".
func AgentOfSession(key string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(key), "agent:")
	agent, _, _ := strings.Cut(rest, ":")
	if !ok || internal(agent) {
		return ""
	}
	return agent
}

// Scopes gives the file's scopes.
func (e *Engine) Scopes() Scopes {
	s := *e.scopes.Load()
	s.Definitions, s.Access = maps.Clone(s.Definitions), maps.Clone(s.Access)
	return s
}

// SetScopes stores new scopes in the file; when they are not valid, the old ones stay.
func (e *Engine) SetScopes(ctx context.Context, s Scopes) error {
	s.Default = or(s.Default, globalScope)
	access := map[string][]string{}
	for agent, list := range s.Access {
		id := strings.TrimSpace(agent)
		if _, twice := access[id]; twice {
			return fmt.Errorf("set scopes: %w", invalid("access", agent, "each agent once"))
		}
		if id != "" {
			access[id] = slices.Clone(list)
		}
	}
	s.Access, s.Definitions = access, maps.Clone(s.Definitions)
	if err := s.validate(); err != nil {
		return fmt.Errorf("set scopes: %w", err)
	}
	return e.writeThen(ctx, "set scopes", func(c *connection) error {
		return e.putSetting(ctx, c, "scopes", s)
	}, func() { e.scopes.Store(&s) })
}

// adoptScopes reads the file's scopes.
func (e *Engine) adoptScopes(ctx context.Context) error {
	s := Scopes{Default: globalScope}
	if _, err := e.setting(ctx, e.conn, "scopes", &s); err != nil {
		return err
	}
	e.scopes.Store(&s)
	return nil
}
