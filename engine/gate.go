package engine

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// gates are the sessions of which nothing is written, as ConversationOptions names them.
type gates struct{ ignored, stateless []*regexp.Regexp }

func newGates(o ConversationOptions) gates {
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

// gate says why nothing of a session is written; empty: it is.
func (e *Engine) gate(of conversationOf) string {
	key := cmp.Or(of.key, of.name)
	fits := func(session string) func(*regexp.Regexp) bool {
		return func(p *regexp.Regexp) bool { return p.MatchString(session) }
	}
	if slices.ContainsFunc(e.gates.ignored, fits(cmp.Or(key, of.session))) {
		return "session excluded"
	}
	if key != "" && slices.ContainsFunc(e.gates.stateless, fits(key)) {
		return "stateless session"
	}
	return ""
}

// gateOf is gate for a conversation that was found, by whatever name.
func (e *Engine) gateOf(v *Conversation) string {
	return e.gate(conversationOf{key: v.SessionKey, session: v.SessionID})
}
