package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mallardmem/mallard/engine/window"
)

// errOutOfTime ends a sweep at its deadline.
var errOutOfTime = errors.New("out of time")

// outOfTime reports whether err only says that a sweep came to its own deadline.
func outOfTime(ctx context.Context, err error) bool {
	return err != nil && (errors.Is(err, errOutOfTime) || errors.Is(err, context.DeadlineExceeded)) && errors.Is(context.Cause(ctx), errOutOfTime)
}

// taken lets one compaction of a conversation run at a time.
type taken struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // by the conversation's id; closed when it is free again
}

// take waits until nobody has the conversation, or ctx is over. The release must be called once.
func (t *taken) take(ctx context.Context, id string) (release func(), err error) {
	for {
		t.mu.Lock()
		wait, busy := t.busy[id]
		if !busy {
			if t.busy == nil {
				t.busy = map[string]chan struct{}{}
			}
			free := make(chan struct{})
			t.busy[id] = free
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				defer t.mu.Unlock()
				delete(t.busy, id)
				close(free)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// mostVain is how many runs of a conversation are remembered as tried in vain.
const mostVain = 1000

// inVain remembers runs of conversations that no summary made smaller, until the engine closes or somebody forces another try.
type inVain struct {
	mu   sync.Mutex
	runs map[string][]window.Span
}

func (e *Engine) vain(conversationID string) []window.Span {
	e.tried.mu.Lock()
	defer e.tried.mu.Unlock()
	return slices.Clone(e.tried.runs[conversationID])
}

func (e *Engine) remember(conversationID string, runs []window.Span) {
	e.tried.mu.Lock()
	defer e.tried.mu.Unlock()
	if e.tried.runs == nil {
		e.tried.runs = map[string][]window.Span{}
	}
	if len(runs) > 0 {
		e.tried.runs[conversationID] = newest(runs, mostVain)
	}
}

func (e *Engine) forgetVain(conversationID string) {
	e.tried.mu.Lock()
	defer e.tried.mu.Unlock()
	delete(e.tried.runs, conversationID)
}

// Why the model is not asked.
const (
	reasonOpen  = "circuit breaker open"
	reasonSpent = "the model's calls are spent for now"
)

// modelGuard keeps a failing or costly model from being asked again and again. Times are those of Options.Now.
type modelGuard struct {
	mu     sync.Mutex
	o      ConversationOptions
	now    func() time.Time
	denied int                    // failed authentications in a row
	until  time.Time              // the breaker is open
	calls  map[string][]time.Time // of the model within the window, by conversation
	paused map[string]time.Time   // until when
}

// closed says why the model is not to be asked for a conversation; force clears what was spent, not the breaker.
func (g *modelGuard) closed(conversationID string, force bool) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if now.Before(g.until) {
		return reasonOpen
	}
	if !g.until.IsZero() {
		g.until, g.denied = time.Time{}, 0
	}
	if force {
		delete(g.paused, conversationID)
		delete(g.calls, conversationID)
	}
	if now.Before(g.paused[conversationID]) {
		return reasonSpent
	}
	return ""
}

// spend notes one call; false when there is none left.
func (g *modelGuard) spend(conversationID string) bool {
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

// answered notes how the model answered, for the breaker.
func (g *modelGuard) answered(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err == nil:
		g.denied = 0
	case unauthorized(err):
		if g.denied++; g.denied >= g.o.BreakerThreshold {
			g.until = g.now().Add(time.Duration(g.o.BreakerCooldown))
		}
	}
}

// unauthorized reports whether a model refused the caller's key.
func unauthorized(err error) bool {
	var refused interface{ Unauthorized() bool }
	return errors.As(err, &refused) && refused.Unauthorized()
}
