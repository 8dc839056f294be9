package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine/llm"
)

func TestFailure(t *testing.T) {
	const page = "<html><body>502 Bad Gateway</body></html>"
	for _, c := range []struct {
		name         string
		handle       http.HandlerFunc
		status       int
		unauthorized bool
		temporary    bool
		message      string // part of the error
	}{
		{"bad request", reply(400, `{"error":{"message":"prompt is too long","type":"invalid_request_error"}}`), 400, false, false, ": 400 Bad Request: prompt is too long"},
		{"no such model", reply(404, `{"type":"error","error":{"type":"not_found_error","message":"model: m"}}`), 404, false, false, "404 Not Found: model: m"},
		{"bad key", reply(401, `{"error":{"message":"Incorrect API key `+testKey+`"}}`), 401, true, false, "401 Unauthorized: Incorrect API key [key]"},
		{"bad key, plain text", reply(403, "no "+testKey+"\x1b[0m\n\tfor you"), 403, true, false, "403 Forbidden: no [key] [0m for you"},
		{"too many requests", reply(429, `{"error":{"message":"slow down"}}`, "Retry-After", "3"), 429, false, true, "429 Too Many Requests: slow down"},
		{"server error, empty", reply(500, ""), 500, false, true, ": 500 Internal Server Error"},
		{"server error, a page", reply(502, page), 502, false, true, "502 Bad Gateway: a page of HTML"},
		{"overloaded", reply(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), 529, false, true, ": 529: Overloaded"},
		{"request timeout", reply(408, `{"detail":"too slow"}`), 408, false, true, "408 Request Timeout: too slow"},
		{"detail that is no sentence", reply(422, `{"detail":[{"loc":["body"]}]}`), 422, false, false, `422 Unprocessable Entity: {"detail":[{"loc":["body"]}]}`},
		{"message at the top", reply(400, `{"object":"error","message":"bad"}`), 400, false, false, "400 Bad Request: bad"},
		{"failure with status 200", reply(200, `{"error":{"message":"upstream is busy","code":429}}`), 429, false, true, "429 Too Many Requests: upstream is busy"},
		{"failure with status 200, no code", reply(200, `{"error":"model is loading"}`), 200, false, false, "model is loading"},
		{"garbage", reply(200, `{"choices": [`), 200, false, false, "answer is no JSON object"},
		{"a page", reply(200, page), 200, false, false, "answer is no JSON object"},
		{"an array", reply(200, `[]`), 200, false, false, "answer is no JSON object"},
		{"empty", reply(200, ``), 200, false, false, "answer is no JSON object"},
		{"another object", reply(200, `{}`), 200, false, false, "answer has no "},
		{"huge", huge(200), 200, false, false, "answer is longer than 8 MiB"},
		{"huge failure", huge(500), 500, false, true, "500 Internal Server Error: {"},
		{"long message", reply(400, `{"error":{"message":"`+strings.Repeat("ä", 5000)+`"}}`), 400, false, false, "äää…"},
		{"redirect", reply(307, "", "Location", "http://localhost:1/elsewhere"), 307, false, false, "307 Temporary Redirect"},
		{"dropped", hangUp(""), 0, false, true, "EOF"},
		{"dropped in the middle", hangUp(`{"choices":[`), 0, false, true, "answer broke off: unexpected EOF"},
		{"stalled", stall, 0, false, true, "no answer within 250ms: context deadline exceeded"},
		{"stalled in the middle", func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte(`{"choices":[`))
			w.(http.Flusher).Flush()
			stall(w, r)
		}, 0, false, true, "no answer within 250ms"},
	} {
		for _, p := range providers() {
			t.Run(p.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				config := llm.Config{Retries: -1}
				if strings.HasPrefix(c.name, "stalled") {
					config.Timeout = 250 * time.Millisecond
				}
				text, err := p.serve(t, config, c.handle).Complete(t.Context(), "a system text", "a private prompt", 50)
				failure, ok := errors.AsType[*llm.Error](fmt.Errorf("compact: %w", err))
				if text != "" || !ok {
					t.Fatalf("answer %q, error %v", text, err)
				}
				if failure.Status != c.status || failure.Unauthorized() != c.unauthorized || failure.Temporary() != c.temporary {
					t.Errorf("status %d, unauthorized %t, temporary %t; want %d, %t, %t",
						failure.Status, failure.Unauthorized(), failure.Temporary(), c.status, c.unauthorized, c.temporary)
				}
				if failure.Provider != p.name || failure.Model != "m" || !strings.HasPrefix(err.Error(), "llm: "+p.name+" m: ") {
					t.Errorf("error doesn't begin with provider and model: %v", err)
				}
				if !strings.Contains(err.Error(), c.message) || len([]rune(err.Error())) > 400 {
					t.Errorf("error %q doesn't hold %q, or is too long", err, c.message)
				}
				for _, secret := range []string{testKey, "private"} {
					if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), secret) {
						t.Errorf("error shows %q: %+v", secret, err)
					}
				}
				if stalled := strings.HasPrefix(c.name, "stalled"); errors.Is(err, context.DeadlineExceeded) != stalled {
					t.Errorf("is a timeout: %t", !stalled)
				}
				if want := map[bool]time.Duration{true: 3 * time.Second}[c.name == "too many requests"]; failure.RetryAfter != want {
					t.Errorf("retry after %v, not %v", failure.RetryAfter, want)
				}
			})
		}
	}
}

// huge sends 40 MiB of JSON.
func huge(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, `{"text":"`)
		piece := []byte(strings.Repeat("x", 1<<20))
		for range 40 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
		io.WriteString(w, `"}`)
	}
}

// Nobody listens: a network error, which is temporary.
func TestFailureNoServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	for _, p := range providers() {
		client, err := p.open(llm.Config{BaseURL: server.URL, Model: "m", Key: testKey, Retries: -1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Complete(t.Context(), "", "prompt", 5)
		failure, ok := errors.AsType[*llm.Error](err)
		if !ok || !failure.Temporary() || failure.Status != 0 || failure.Unwrap() == nil {
			t.Errorf("%s: %v", p.name, err)
		}
	}
}

// A redirect would carry the key to another server.
func TestRedirectIsNotFollowed(t *testing.T) {
	var visits atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	defer other.Close()
	for _, p := range providers() {
		_, err := p.serve(t, llm.Config{}, reply(308, "", "Location", other.URL)).Complete(t.Context(), "", "prompt", 5)
		if err == nil || visits.Load() != 0 {
			t.Errorf("%s: error %v, %d visits", p.name, err, visits.Load())
		}
	}
}
