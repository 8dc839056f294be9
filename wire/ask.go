package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Patience is how long is waited, and how often tried again.
type Patience struct {
	Timeout time.Duration // of one request; 0: as long as the context
	Retries int           // after the first request with each key; 0 or less: none
	// First and Longest are waits where the server names none: it is doubled each time, less up to a quarter by chance.
	First, Longest time.Duration
	Least          time.Duration // nobody is asked who has less time left
	Stays          bool          // waits also where the context ends meanwhile, for callers who want its own error
}

// Ask has request made with each key in its turn until one is taken, and again while what failed may pass: a key that is refused rests from then on, one that is busy as long as the
// server says, while there is another. A request that ran into the timeout isn't repeated: a model that is too
// slow would be too slow again. Nor is one that is Final, whose next would come when ctx is over, or whose server asks for a longer wait than a request may take. nil: it was
// answered.
func (s *Service) Ask(ctx context.Context, request func(ctx context.Context, key string) *Failure) *Failure {
	keys := s.Keys
	if len(keys) == 0 {
		keys = []string{""}
	}
	rests := make([]time.Time, len(keys))
	for attempt := 0; ; attempt++ {
		if end, ok := ctx.Deadline(); ok && time.Until(end) < s.Patience.Least {
			return s.Fail(0, "no time left to ask", context.DeadlineExceeded)
		}
		failure := s.round(ctx, keys, rests, request)
		if failure == nil {
			return nil
		}
		wait, again := s.wait(ctx, failure, attempt)
		if !again {
			return failure
		}
		select {
		case <-ctx.Done():
			return failure
		case <-time.After(wait):
		}
	}
}

// never is until when a refused key rests.
var never = time.Unix(1<<40, 0)

// round asks with each key that does not rest. Of failures that gives the busy key that may be asked again soonest, else the refused one.
func (s *Service) round(ctx context.Context, keys []string, rests []time.Time, request func(ctx context.Context, key string) *Failure) *Failure {
	first := int(s.turn.Add(1) - 1)
	awake := time.Now()
	if soonest := slices.MinFunc(rests, time.Time.Compare); soonest.After(awake) {
		awake = soonest
	}
	var busy, unauthorized *Failure
	for i := range keys {
		k := (first + i) % len(keys)
		if rests[k].After(awake) {
			continue
		}
		failure := s.once(ctx, keys[k], request)
		switch {
		case failure == nil:
			return nil
		case ctx.Err() != nil:
			return failure
		case failure.refusesKey():
			rests[k], unauthorized = never, failure
		case failure.busy():
			rests[k] = time.Now().Add(failure.RetryAfter)
			if busy == nil || failure.RetryAfter < busy.RetryAfter {
				busy = failure
			}
		default:
			return failure
		}
	}
	return cmp.Or(busy, unauthorized)
}

// once has one request made within the timeout.
func (s *Service) once(ctx context.Context, key string, request func(ctx context.Context, key string) *Failure) *Failure {
	limited := ctx
	if s.Patience.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, s.Patience.Timeout)
		defer cancel()
	}
	failure := request(limited, key)
	if failure != nil && limited.Err() != nil && ctx.Err() == nil {
		return s.Fail(0, fmt.Sprintf("no answer within %v", s.Patience.Timeout), limited.Err())
	}
	return failure
}

// wait is how long to wait before the next round, if there shall be one.
func (s *Service) wait(ctx context.Context, failure *Failure, attempt int) (time.Duration, bool) {
	p := s.Patience
	if ctx.Err() != nil || attempt >= p.Retries || !failure.Temporary() || failure.Final || errors.Is(failure.Err, context.DeadlineExceeded) {
		return 0, false
	}
	wait := failure.RetryAfter
	if wait == 0 {
		wait = min(p.First<<min(attempt, 10), p.Longest)
		wait -= rand.N(wait / 4)
	}
	if end, ok := ctx.Deadline(); ok && !p.Stays && time.Until(end) < wait+p.Least {
		return 0, false
	}
	return wait, p.Timeout == 0 || wait <= p.Timeout
}
