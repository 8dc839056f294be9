package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/wire"
)

// TestAsk: with which keys a service asks, and how often, by what each request came to. The ways of servers to fail are tried by the packages that ask them.
func TestAsk(t *testing.T) {
	busy := func(after time.Duration) *wire.Failure { return &wire.Failure{Status: 429, RetryAfter: after} }
	refused, broken := &wire.Failure{Status: 401}, &wire.Failure{Status: 500, RetryAfter: time.Millisecond}
	for name, c := range map[string]struct {
		keys     []string
		patience wire.Patience
		within   time.Duration // 0: no end
		answers  []*wire.Failure
		want     []string // the key of each request
		status   int      // of the failure; -1: it was answered
	}{
		"at once":                        {nil, wire.Patience{}, 0, nil, []string{""}, -1},
		"without keys it is tried again": {nil, wire.Patience{Retries: 1}, 0, []*wire.Failure{broken}, []string{"", ""}, -1},
		"as often as may be":             {nil, wire.Patience{Retries: 2}, 0, []*wire.Failure{broken, broken, broken}, []string{"", "", ""}, 500},
		"never":                          {[]string{"a"}, wire.Patience{Retries: -1}, 0, []*wire.Failure{broken}, []string{"a"}, 500},
		"the next key at once":           {[]string{"a", "b"}, wire.Patience{}, 0, []*wire.Failure{busy(time.Hour)}, []string{"a", "b"}, -1},
		"a refused key rests":            {[]string{"a", "b"}, wire.Patience{Retries: 1}, 0, []*wire.Failure{refused, busy(time.Millisecond)}, []string{"a", "b", "b"}, -1},
		"of busy ones the soonest counts": {[]string{"a", "b"}, wire.Patience{Retries: 1, Timeout: time.Second}, 0,
			[]*wire.Failure{busy(time.Hour), busy(time.Millisecond)}, []string{"a", "b", "b"}, -1},
		"a busy key rests": {[]string{"a", "b", "c"}, wire.Patience{Retries: 2, Timeout: time.Second}, 0,
			[]*wire.Failure{busy(time.Millisecond), busy(time.Hour), busy(time.Hour), busy(time.Millisecond)}, []string{"a", "b", "c", "a", "a"}, -1},
		"all refused":                   {[]string{"a", "b"}, wire.Patience{Retries: 5}, 0, []*wire.Failure{refused, refused}, []string{"a", "b"}, 401},
		"what is final":                 {nil, wire.Patience{Retries: 5}, 0, []*wire.Failure{{Status: 500, Final: true}}, []string{""}, 500},
		"bad request":                   {[]string{"a", "b"}, wire.Patience{Retries: 5}, 0, []*wire.Failure{{Status: 400}}, []string{"a"}, 400},
		"what took too long":            {nil, wire.Patience{Retries: 5}, 0, []*wire.Failure{{Err: context.DeadlineExceeded}}, []string{""}, 0},
		"a wait beyond a request's":     {nil, wire.Patience{Retries: 5, Timeout: time.Second}, 0, []*wire.Failure{busy(2 * time.Second)}, []string{""}, 429},
		"a wait beyond the end":         {nil, wire.Patience{Retries: 5}, time.Second, []*wire.Failure{busy(2 * time.Second)}, []string{""}, 429},
		"a wait that leaves too little": {nil, wire.Patience{Retries: 5, Least: 900 * time.Millisecond}, time.Second, []*wire.Failure{busy(200 * time.Millisecond)}, []string{""}, 429},
		"no time":                       {nil, wire.Patience{Least: time.Minute}, time.Second, nil, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if c.within > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.within)
				defer cancel()
			}
			if c.patience.First == 0 {
				c.patience.First, c.patience.Longest = 8*time.Millisecond, 8*time.Millisecond
			}
			s := &wire.Service{Provider: "p", Model: "m", Keys: c.keys, Patience: c.patience}
			var asked []string
			failure := s.Ask(ctx, func(_ context.Context, key string) *wire.Failure {
				if asked = append(asked, key); len(asked) <= len(c.answers) {
					return c.answers[len(asked)-1]
				}
				return nil
			})
			status := -1
			if failure != nil {
				status = failure.Status
			}
			if !slices.Equal(asked, c.want) || status != c.status {
				t.Errorf("asked with %q, status %d; want %q, %d", asked, status, c.want, c.status)
			}
		})
	}
}

// TestStays: who wants the context's own error waits for its end.
func TestStays(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s := &wire.Service{Patience: wire.Patience{Retries: 1, Stays: true}}
	failure := s.Ask(ctx, func(context.Context, string) *wire.Failure {
		return &wire.Failure{Status: 429, RetryAfter: time.Minute}
	})
	if failure == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("%v, and the context: %v", failure, ctx.Err())
	}
}

// TestSend: what is sent besides the body, within which bounds the answer is read, and that no failure shows a key.
func TestSend(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/long":
			io.WriteString(w, strings.Repeat("x", 2<<20))
		case "/away":
			http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
		case "/bad":
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprintf(w, `{"error":{"message":"no %s\nfor %s"}}`, body, r.Header.Get("X-Key"))
		default:
			fmt.Fprintf(w, "%s %s %s", body, r.Header.Get("X-Key"), r.Header.Get("X-Version"))
		}
	}))
	t.Cleanup(server.Close)
	s := &wire.Service{Provider: "p", Model: "m", Keys: []string{"sk-secret"}, KeyHeader: "X-Key", Headers: map[string]string{"X-Version": "7"}, Client: wire.Client(server.Client())}
	post := func(path string) (string, string) {
		answer, failure := s.Post(t.Context(), server.URL+path, "sk-secret", []byte("tea"), 1<<20, ", for tea")
		if failure == nil {
			return string(answer), ""
		}
		return string(answer), failure.Error()
	}
	for path, want := range map[string][2]string{
		"/":     {"tea sk-secret 7", ""},
		"/long": {"", "p m: answer is longer than 1 MiB, for tea"},
		"/away": {"", "p m: 307 Temporary Redirect"},
		"/bad":  {"", "p m: 418 I'm a teapot: no tea for [key]"},
	} {
		if answer, failed := post(path); answer != want[0] || failed != want[1] {
			t.Errorf("%s: %q, %q; want %q", path, answer, failed, want)
		}
	}
}
