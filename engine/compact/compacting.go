package compact

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/mallardmem/mallard/engine/internal/duck"
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

func (cp *Compactor) vain(conversationID string) []window.Span {
	cp.tried.mu.Lock()
	defer cp.tried.mu.Unlock()
	return slices.Clone(cp.tried.runs[conversationID])
}

func (cp *Compactor) remember(conversationID string, runs []window.Span) {
	cp.tried.mu.Lock()
	defer cp.tried.mu.Unlock()
	if cp.tried.runs == nil {
		cp.tried.runs = map[string][]window.Span{}
	}
	if len(runs) > 0 {
		cp.tried.runs[conversationID] = duck.Newest(runs, mostVain)
	}
}

func (cp *Compactor) forgetVain(conversationID string) {
	cp.tried.mu.Lock()
	defer cp.tried.mu.Unlock()
	delete(cp.tried.runs, conversationID)
}
