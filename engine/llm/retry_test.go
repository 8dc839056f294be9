package llm_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine/llm"
)

func TestRetry(t *testing.T) {
	soon := []string{"Retry-After", "0.01"}
	busy := reply(429, `{"error":{"message":"slow down"}}`, soon...)
	for _, c := range []struct {
		name     string
		retries  int
		timeout  time.Duration
		fail     []http.HandlerFunc
		requests int32
		answers  bool
	}{
		{"busy, then overloaded", 0, 0, []http.HandlerFunc{busy, reply(529, "", soon...)}, 3, true},
		{"busy too long", 0, 0, []http.HandlerFunc{busy, busy, busy}, 3, false},
		{"five times", 5, 0, []http.HandlerFunc{busy, busy, busy, busy, busy}, 6, true},
		{"never", -1, 0, []http.HandlerFunc{busy}, 1, false},
		{"a date", 1, 0, []http.HandlerFunc{reply(503, "", "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT")}, 2, true},
		{"no date", 1, 0, []http.HandlerFunc{reply(500, "", "Retry-After", "later")}, 2, true},
		{"dropped", 1, 0, []http.HandlerFunc{hangUp("")}, 2, true},
		{"dropped in the middle", 1, 0, []http.HandlerFunc{hangUp(`{"choices":[`)}, 2, true},
		{"longer than we would wait", 0, time.Minute, []http.HandlerFunc{reply(429, "", "Retry-After", "61")}, 1, false},
		{"stalled", 0, 200 * time.Millisecond, []http.HandlerFunc{stall}, 1, false},
		{"unauthorized", 0, 0, []http.HandlerFunc{reply(401, "")}, 1, false},
		{"bad request", 0, 0, []http.HandlerFunc{reply(400, "")}, 1, false},
		{"garbage", 0, 0, []http.HandlerFunc{reply(200, "{")}, 1, false},
	} {
		for _, p := range providers() {
			t.Run(p.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				var count atomic.Int32
				handlers := append(append([]http.HandlerFunc{}, c.fail...), reply(200, p.text("yes")))
				answer, err := p.serve(t, llm.Config{Retries: c.retries, Timeout: c.timeout}, inTurn(&count, handlers...)).
					Complete(t.Context(), "system", "prompt", 5)
				if (err == nil) != c.answers || (answer == "yes") != c.answers || count.Load() != c.requests {
					t.Errorf("answer %q, error %v after %d requests; want an answer: %t after %d", answer, err, count.Load(), c.answers, c.requests)
				}
			})
		}
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	for _, p := range providers() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			var count atomic.Int32
			client := p.serve(t, llm.Config{}, inTurn(&count, reply(429, "", "Retry-After", "1"), reply(200, p.text("yes"))))
			start := time.Now()
			if _, err := client.Complete(t.Context(), "", "prompt", 5); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(start); waited < time.Second {
				t.Errorf("waited %v", waited)
			}
		})
	}
}

// Whoever cancels gets ctx.Err() itself and gets it at once: during a request, during a wait, before anything.
func TestCancel(t *testing.T) {
	for name, handle := range map[string]http.HandlerFunc{
		"in a request": stall,
		"in a wait":    reply(429, "", "Retry-After", "30"),
	} {
		for _, p := range providers() {
			t.Run(p.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				client := p.serve(t, llm.Config{}, handle)

				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(100*time.Millisecond, cancel)
				start := time.Now()
				if _, err := client.Complete(ctx, "", "prompt", 5); err != context.Canceled {
					t.Errorf("canceled: %v", err)
				}
				if _, err := client.Complete(ctx, "", "prompt", 5); err != context.Canceled {
					t.Errorf("canceled before: %v", err)
				}
				ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				if _, err := client.Complete(ctx, "", "prompt", 5); err != context.DeadlineExceeded {
					t.Errorf("deadline: %v", err)
				}
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("took %v", took)
				}
			})
		}
	}
}

// One client, many goroutines.
func TestParallel(t *testing.T) {
	for _, p := range providers() {
		var count atomic.Int32
		client := p.serve(t, llm.Config{Retries: 9}, func(w http.ResponseWriter, r *http.Request) {
			if count.Add(1)%3 == 0 {
				reply(503, "", "Retry-After", "0.01")(w, r)
				return
			}
			reply(200, p.text("yes"))(w, r)
		})
		var wait sync.WaitGroup
		for range 20 {
			wait.Go(func() {
				answer, err := client.Complete(t.Context(), "system", "prompt", 5)
				if failure, ok := errors.AsType[*llm.Error](err); answer != "yes" || ok {
					t.Errorf("%s: answer %q, %v", p.name, answer, failure)
				}
			})
		}
		wait.Wait()
	}
}
