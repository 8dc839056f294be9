package conversation

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mallardmem/mallard/engine/setup"
)

// Why the model is not asked.
const (
	ReasonOpen  = "circuit breaker open"
	ReasonSpent = "the model's calls are spent for now"
)

// modelGuard keeps a failing or costly model from being asked again and again. Times are those of Options.Now.
type modelGuard struct {
	mu     sync.Mutex
	o      setup.Conversation
	now    func() time.Time
	denied int                    // failed authentications in a row
	until  time.Time              // the breaker is open
	calls  map[string][]time.Time // of the model within the window, by conversation
	paused map[string]time.Time   // until when
}

// Closed says why the model is not to be asked for a conversation; force clears what was spent, not the breaker.
func (g *modelGuard) Closed(conversationID string, force bool) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if now.Before(g.until) {
		return ReasonOpen
	}
	if !g.until.IsZero() {
		g.until, g.denied = time.Time{}, 0
	}
	if force {
		delete(g.paused, conversationID)
		delete(g.calls, conversationID)
	}
	if now.Before(g.paused[conversationID]) {
		return ReasonSpent
	}
	return ""
}

// Spend notes one call; false when there is none left.
func (g *modelGuard) Spend(conversationID string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if now.Before(g.paused[conversationID]) {
		return false
	}
	if g.calls == nil {
		g.calls, g.paused = map[string][]time.Time{}, map[string]time.Time{}
	}
	delete(g.paused, conversationID)
	recent := slices.DeleteFunc(g.calls[conversationID], func(at time.Time) bool { return now.Sub(at) >= time.Duration(g.o.SummaryCallWindow) })
	if len(recent) >= g.o.SummaryMaxCalls {
		g.paused[conversationID] = now.Add(time.Duration(g.o.SummarySpendBackoff))
		delete(g.calls, conversationID)
		return false
	}
	g.calls[conversationID] = append(recent, now)
	return true
}

// Answered notes how the model answered, for the breaker.
func (g *modelGuard) Answered(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err == nil:
		g.denied = 0
	case Unauthorized(err):
		if g.denied++; g.denied >= g.o.BreakerThreshold {
			g.until = g.now().Add(time.Duration(g.o.BreakerCooldown))
		}
	}
}

// Unauthorized reports whether a model refused the caller's key.
func Unauthorized(err error) bool {
	var refused interface{ Unauthorized() bool }
	return errors.As(err, &refused) && refused.Unauthorized()
}
