package conversation

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/setup"
)

// gates are the sessions of which nothing is written, as setup.Conversation names them.
type gates struct{ ignored, stateless []*regexp.Regexp }

func newGates(o setup.Conversation) gates {
	g := gates{ignored: sessionPatterns(o.IgnoreSessions)}
	if *o.SkipStateless {
		g.stateless = sessionPatterns(o.StatelessSessions)
	}
	return g
}

// sessionPatterns are patterns in which * stands for anything without a colon, and ** for anything.
func sessionPatterns(patterns []string) (all []*regexp.Regexp) {
	for _, p := range patterns {
		expression := strings.NewReplacer(`\*\*`, `(?s:.*)`, `\*`, `[^:]*`).Replace(regexp.QuoteMeta(p))
		all = append(all, regexp.MustCompile(`^`+expression+`$`))
	}
	return all
}

// Gate says why nothing of a session is written; empty: it is.
func (cs *Store) Gate(of Reference) string {
	key := cmp.Or(of.Key, of.Name)
	fits := func(session string) func(*regexp.Regexp) bool {
		return func(p *regexp.Regexp) bool { return p.MatchString(session) }
	}
	if slices.ContainsFunc(cs.gates.ignored, fits(cmp.Or(key, of.Session))) {
		return "session excluded"
	}
	if key != "" && slices.ContainsFunc(cs.gates.stateless, fits(key)) {
		return "stateless session"
	}
	return ""
}

// GateOf is gate for a conversation that was found, by whatever name.
func (cs *Store) GateOf(v *Conversation) string {
	return cs.Gate(Reference{Key: v.SessionKey, Session: v.SessionID})
}
