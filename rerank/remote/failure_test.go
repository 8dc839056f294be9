package remote_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mallardmem/mallard/rerank/remote"
)

func TestFailure(t *testing.T) {
	for name, c := range map[string]struct {
		handle       http.HandlerFunc
		why          string
		status       int
		unauthorized bool
		message      string // part of the error
	}{
		"bad request":             {reply(400, `{"detail":"too many documents"}`), remote.ReasonHTTPError, 400, false, "400 Bad Request: too many documents"},
		"bad key":                 {reply(401, `{"error":{"message":"no such key `+testKey+`"}}`), remote.ReasonHTTPError, 401, true, "401 Unauthorized: no such key [key]"},
		"bad key, long":           {reply(403, strings.Repeat("x", 285)+testKey), remote.ReasonHTTPError, 403, true, "xxx[key]"},
		"too many requests":       {reply(429, `{"message":"slow\n down"}`, "Retry-After", "3"), remote.ReasonHTTPError, 429, false, "429 Too Many Requests: slow down"},
		"server error":            {reply(500, ""), remote.ReasonHTTPError, 500, false, ": 500 Internal Server Error"},
		"a page":                  {reply(502, "<html>"), remote.ReasonHTTPError, 502, false, "502 Bad Gateway: a page of HTML"},
		"redirect":                {reply(307, "", "Location", "http://localhost:1/elsewhere"), remote.ReasonHTTPError, 307, false, "307 Temporary Redirect"},
		"failure with status 200": {reply(200, `{"error":"model `+testKey+` is loading"}`), remote.ReasonInvalidResponse, 200, false, "answer has no scores: model [key] is loading"},
		"garbage":                 {reply(200, `{"results": [`), remote.ReasonInvalidResponse, 200, false, "answer is no JSON"},
		"NaN":                     {reply(200, `{"results":[{"index":0,"relevance_score":NaN}]}`), remote.ReasonInvalidResponse, 200, false, "answer is no JSON"},
		"empty":                   {reply(200, ""), remote.ReasonInvalidResponse, 200, false, "answer is no JSON"},
		"no list":                 {reply(200, `{"results":{"index":0}}`), remote.ReasonInvalidResponse, 200, false, "answer has no scores"},
		"nothing usable":          {reply(200, `[{"index":7,"score":1},{"index":0,"score":"NaN"},{"index":"x","score":1}]`), remote.ReasonInvalidResponse, 200, false, "answer has no scores"},
		"vectors":                 {reply(200, `{"data":[{"index":0,"embedding":[0.1]}]}`), remote.ReasonInvalidResponse, 200, false, "answer has no scores"},
		"without end, fast":       {endless(0), remote.ReasonInvalidResponse, 200, false, "answer is longer than 4 MiB"},
		"without end, slow":       {endless(100 * time.Millisecond), remote.ReasonTimeout, 0, false, "no answer within 2s: context deadline exceeded"},
		"stalled":                 {stall, remote.ReasonTimeout, 0, false, "no answer within 2s: context deadline exceeded"},
		"dropped":                 {hangUp(""), remote.ReasonRequestError, 0, false, "EOF"},
		"dropped in the middle":   {hangUp(`{"results":[`), remote.ReasonRequestError, 0, false, "answer broke off: unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := serve(t, remote.Config{Provider: "jina", Retries: -1, Timeout: 2 * time.Second}, c.handle)
			scores, err := client.Rerank(t.Context(), "a private query", []string{"a private text"})
			failure, ok := errors.AsType[*remote.Error](fmt.Errorf("recall: %w", err))
			if scores != nil || !ok {
				t.Fatalf("scores %v, error %v", scores, err)
			}
			if failure.Reason() != c.why || failure.Status != c.status || failure.Unauthorized() != c.unauthorized || !strings.HasPrefix(err.Error(), "rerank: jina m: ") {
				t.Errorf("%s, status %d, unauthorized %t, error %v: want %s, %d, %t", failure.Reason(), failure.Status, failure.Unauthorized(), err, c.why, c.status, c.unauthorized)
			}
			if !strings.Contains(err.Error(), c.message) || len([]rune(err.Error())) > 400 {
				t.Errorf("error %q doesn't hold %q, or is too long", err, c.message)
			}
			for _, secret := range []string{testKey[:8], "private"} {
				if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), secret) {
					t.Errorf("error shows %q: %+v", secret, err)
				}
			}
			if errors.Is(err, context.DeadlineExceeded) != (c.why == remote.ReasonTimeout) {
				t.Errorf("is a timeout: %t", c.why != remote.ReasonTimeout)
			}
		})
	}
}

const fine = `{"results":[{"index":0,"score":0.5}]}`

// TestRetry: what passes is asked again, once where nothing is said.
func TestRetry(t *testing.T) {
	for name, c := range map[string]struct {
		retries  int
		handlers []http.HandlerFunc
		requests int32
		fails    bool
	}{
		"too many, then fine":     {0, []http.HandlerFunc{reply(429, "", "Retry-After", "0.2"), reply(200, fine)}, 2, false},
		"server error, then fine": {0, []http.HandlerFunc{reply(503, ""), reply(200, fine)}, 2, false},
		"dropped, then fine":      {0, []http.HandlerFunc{hangUp(`{"res`), reply(200, fine)}, 2, false},
		"twice":                   {0, []http.HandlerFunc{reply(503, ""), reply(503, ""), reply(200, fine)}, 2, true},
		"twice, of three":         {3, []http.HandlerFunc{reply(503, ""), reply(503, ""), reply(200, fine)}, 3, false},
		"never":                   {-1, []http.HandlerFunc{reply(503, ""), reply(200, fine)}, 1, true},
		"bad request":             {3, []http.HandlerFunc{reply(400, ""), reply(200, fine)}, 1, true},
		"unreadable":              {3, []http.HandlerFunc{reply(200, "{}"), reply(200, fine)}, 1, true},
		"a wait that is too long": {3, []http.HandlerFunc{reply(429, "", "Retry-After", "4"), reply(200, fine)}, 1, true},
		"stalled":                 {3, []http.HandlerFunc{stall, reply(200, fine)}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var count atomic.Int32
			client := serve(t, remote.Config{Provider: "jina", Retries: c.retries, Timeout: 3 * time.Second}, inTurn(&count, c.handlers...))
			scores, err := client.Rerank(t.Context(), "q", []string{"a"})
			if count.Load() != c.requests || (err != nil) != c.fails || err == nil && scores[0] != 0.5 {
				t.Errorf("%d requests, scores %v, error %v: want %d", count.Load(), scores, err, c.requests)
			}
		})
	}
}

// TestContext: a caller who has no time asks nobody, and one who goes away isn't kept.
func TestContext(t *testing.T) {
	var count atomic.Int32
	client := serve(t, remote.Config{Provider: "jina"}, inTurn(&count, stall))
	short, cancel := context.WithTimeout(t.Context(), 90*time.Millisecond)
	defer cancel()
	_, err := client.Rerank(short, "q", []string{"a"})
	if failure, ok := errors.AsType[*remote.Error](err); !ok || failure.Reason() != remote.ReasonTimeout || count.Load() != 0 {
		t.Errorf("90 ms: error %v, %d requests", err, count.Load())
	}
	for want, end := range map[error]func(context.Context) (context.Context, context.CancelFunc){
		context.DeadlineExceeded: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 300*time.Millisecond)
		},
		context.Canceled: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(100*time.Millisecond, cancel)
			return ctx, cancel
		},
	} {
		ctx, cancel := end(t.Context())
		start := time.Now()
		_, err := client.Rerank(ctx, "q", []string{"a"})
		if took := time.Since(start); !errors.Is(err, want) || took > 3*time.Second {
			t.Errorf("error %v after %v: want %v", err, took, want)
		}
		cancel()
	}
}

// TestNoServer: nobody listens, and a redirect would carry the key to another server.
func TestNoServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	client, err := remote.New(remote.Config{Provider: "tei", URL: server.URL, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Rerank(t.Context(), "q", []string{"a"})
	if failure, ok := errors.AsType[*remote.Error](err); !ok || !failure.Temporary() || failure.Reason() != remote.ReasonRequestError || failure.Unwrap() == nil {
		t.Errorf("error %v", err)
	}
	var visits atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	defer other.Close()
	if scores, err := serve(t, remote.Config{Provider: "jina"}, reply(308, "", "Location", other.URL)).Rerank(t.Context(), "q", []string{"a"}); err == nil || visits.Load() != 0 {
		t.Errorf("redirected: scores %v, error %v, %d visits", scores, err, visits.Load())
	}
	if scores, err := client.Rerank(t.Context(), "q", []string{""}); err != nil || !math.IsNaN(scores[0]) {
		t.Errorf("a blank text: %v, %v: want nobody asked", scores, err)
	}
}

// TestKeys: they take turns; one that is refused or has no time leaves its request to the next, and is shown by nothing.
func TestKeys(t *testing.T) {
	keys := []string{"sk-beta", "sk-gamma"} // beside testKey
	for name, c := range map[string]struct {
		fails  map[string]int // the status for a key
		want   []string
		status int // of the error; 0: none
	}{
		"in turn":          {nil, []string{testKey, "sk-beta", "sk-gamma", testKey}, 0},
		"one is refused":   {map[string]int{testKey: 401}, []string{testKey, "sk-beta", "sk-beta", "sk-gamma", testKey, "sk-beta"}, 0},
		"two have no time": {map[string]int{testKey: 429, "sk-beta": 503}, []string{testKey, "sk-beta", "sk-gamma", "sk-beta", "sk-gamma", "sk-gamma", testKey, "sk-beta", "sk-gamma"}, 0},
		"all are refused":  {map[string]int{testKey: 401, "sk-beta": 403, "sk-gamma": 402}, []string{testKey, "sk-beta", "sk-gamma"}, 402},
		"refused and busy": {map[string]int{testKey: 401, "sk-beta": 429, "sk-gamma": 429}, []string{testKey, "sk-beta", "sk-gamma", "sk-beta", "sk-gamma"}, 429},
		"the server's own": {map[string]int{testKey: 400}, []string{testKey}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var used []string
			client := serve(t, remote.Config{Provider: "jina", Keys: keys, Retries: 1}, func(w http.ResponseWriter, r *http.Request) {
				key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
				mu.Lock()
				used = append(used, key)
				mu.Unlock()
				if status := c.fails[key]; status != 0 {
					reply(status, `{"message":"no more of `+key+`"}`, "Retry-After", "0.01")(w, r)
					return
				}
				reply(200, fine)(w, r)
			})
			var err error
			for range 4 {
				if _, err = client.Rerank(t.Context(), "q", []string{"a"}); err != nil {
					break
				}
			}
			failure, _ := errors.AsType[*remote.Error](err)
			if (err != nil) != (c.status != 0) || failure != nil && (failure.Status != c.status || !strings.Contains(err.Error(), "no more of [key]")) {
				t.Errorf("%v; want the status %d", err, c.status)
			}
			if fmt.Sprint(used) != fmt.Sprint(c.want) {
				t.Errorf("asked with %v, want %v", used, c.want)
			}
			if shown := fmt.Sprintf("%v %+v %#v %v", client, client, client, remote.Config{Keys: keys}); strings.Contains(shown, "sk-") || strings.Contains(shown, testKey) {
				t.Errorf("a key shows: %s", shown)
			}
		})
	}
}
