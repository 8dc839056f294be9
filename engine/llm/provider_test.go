package llm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine/llm"
)

// A provider is what differs between the two protocols, for tests that both must pass.
type provider struct {
	name string
	open func(llm.Config) (*llm.Client, error)
	// base is added to a test server's address.
	base string
	// text is the body of an answer with this text.
	text func(string) string
}

func providers() []provider {
	return []provider{
		{"openai", llm.OpenAI, "/v1", func(text string) string { return completion(quote(text), "stop") }},
		{"anthropic", llm.Anthropic, "", func(text string) string { return message("end_turn", `{"type":"text","text":`+quote(text)+`}`) }},
	}
}

// completion is an answer of chat completions whose content is this JSON.
func completion(content, finish string) string {
	return fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,
		"message":{"role":"assistant","content":%s,"refusal":null},"logprobs":null,"finish_reason":%q}],
		"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}`, content, finish)
}

// message is an answer of Anthropic's messages with these blocks.
func message(stop, blocks string) string {
	return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[%s],
		"stop_reason":%q,"stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":3}}`, blocks, stop)
}

func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(quoted)
}

const testKey = "key-of-this-test-0123456789"

// serve makes a client of a server that handles requests this way. It fills in what the configuration leaves out.
func (p provider) serve(t *testing.T, config llm.Config, handle http.HandlerFunc) *llm.Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	config.BaseURL = server.URL + p.base
	if config.Model == "" {
		config.Model = "m"
	}
	if config.Key == "" {
		config.Key = testKey
	}
	if config.HTTPClient == nil {
		config.HTTPClient = server.Client()
	}
	client, err := p.open(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// reply answers with this status and body.
func reply(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// inTurn gives each request the next handler, and the last one to all that follow.
func inTurn(count *atomic.Int32, handlers ...http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		handlers[min(int(count.Add(1)), len(handlers))-1](w, r)
	}
}

// stall says nothing until the client goes away.
func stall(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	select {
	case <-r.Context().Done():
	case <-time.After(10 * time.Second):
	}
}

// hangUp closes the connection, after the first bytes of an answer if there are any.
func hangUp(start string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if start != "" {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "5000")
			io.WriteString(w, start)
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	}
}
