package conversation

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
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
	known  guarded                // as the file has it
}

// guardSetting is what of the guard is kept while the file is closed.
const guardSetting = "model_guard"

// guarded is what is kept of a guard: only what still matters.
type guarded struct {
	Denied int                    `json:"denied,omitzero"`
	Until  time.Time              `json:"until,omitzero"`
	Calls  map[string][]time.Time `json:"calls,omitempty"`
	Paused map[string]time.Time   `json:"paused,omitempty"`
}

// kept gives what is to be kept of the guard, and whether the file has something else.
func (g *modelGuard) kept() (k guarded, changed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	k.Denied = g.denied
	if now.Before(g.until) {
		k.Until = g.until
	}
	for id, calls := range g.calls {
		recent := slices.DeleteFunc(slices.Clone(calls), func(at time.Time) bool { return now.Sub(at) >= time.Duration(g.o.SummaryCallWindow) })
		if len(recent) > 0 {
			if k.Calls == nil {
				k.Calls = map[string][]time.Time{}
			}
			k.Calls[id] = recent
		}
	}
	for id, until := range g.paused {
		if now.Before(until) {
			if k.Paused == nil {
				k.Paused = map[string]time.Time{}
			}
			k.Paused[id] = until
		}
	}
	same := k.Denied == g.known.Denied && k.Until.Equal(g.known.Until) && maps.EqualFunc(k.Paused, g.known.Paused, time.Time.Equal) &&
		maps.EqualFunc(k.Calls, g.known.Calls, func(a, b []time.Time) bool { return slices.EqualFunc(a, b, time.Time.Equal) })
	return k, !same
}

// Resume has the guard of the model be as the file was closed with it.
func (cs *Store) Resume(ctx context.Context) error {
	var k guarded
	err := cs.file.Read(ctx, "model guard", func(c *duck.Conn) error {
		_, err := cs.file.Setting(ctx, c, guardSetting, &k)
		return err
	})
	if err != nil {
		return err
	}
	g := &cs.Guard
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known, g.denied, g.until = k, k.Denied, k.Until
	g.calls, g.paused = map[string][]time.Time{}, map[string]time.Time{}
	for id, calls := range k.Calls {
		g.calls[id] = slices.Clone(calls)
	}
	maps.Copy(g.paused, k.Paused)
	return nil
}

// Close writes what is kept of the guard of the model.
func (cs *Store) Close() error {
	k, changed := cs.Guard.kept()
	if !changed || cs.opts.ReadOnly || cs.file.Closed() {
		return nil
	}
	return cs.file.Write(context.Background(), "model guard", func(tx *duck.Write) error { return cs.file.PutSetting(context.Background(), tx, guardSetting, k) })
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
