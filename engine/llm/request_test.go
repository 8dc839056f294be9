package llm_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/llm"
)

// roundTrip answers requests without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// sent is what one request of a client carries.
type sent struct {
	Method, URL, Key string
	Body             map[string]any
}

// record makes one request and keeps it.
func record(t *testing.T, p provider, config llm.Config, system, prompt string, maxTokens int) sent {
	t.Helper()
	var got sent
	config.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		got = sent{Method: r.Method, URL: r.URL.String(), Key: r.Header.Get("Authorization") + r.Header.Get("X-Api-Key")}
		if err := json.Unmarshal(body, &got.Body); err != nil {
			t.Errorf("body %q: %v", body, err)
		}
		if want := "application/json"; r.Header.Get("Content-Type") != want {
			t.Errorf("Content-Type is %q, not %q", r.Header.Get("Content-Type"), want)
		}
		if p.name == "anthropic" && r.Header.Get("anthropic-version") == "" {
			t.Error("no anthropic-version")
		}
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewBufferString(p.text("yes"))), Request: r}, nil
	})}
	client, err := p.open(config)
	if err != nil {
		t.Fatal(err)
	}
	answer, asked, answered, err := client.CompleteCounted(t.Context(), system, prompt, maxTokens)
	if err != nil || answer != "yes" || asked != 5 || answered != 3 {
		t.Fatalf("answer %q of %d and %d tokens, error %v; want 5 and 3, as the server says", answer, asked, answered, err)
	}
	return got
}

type object = map[string]any

func TestRequest(t *testing.T) {
	// Nothing of this may reach a request.
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ORG_ID", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"} {
		t.Setenv(name, "from-the-environment")
	}
	t.Setenv("OPENAI_BASE_URL", "http://env.invalid")
	t.Setenv("ANTHROPIC_BASE_URL", "http://env.invalid")

	cold := 0.0
	openai, anthropic := providers()[0], providers()[1]
	user := []any{object{"role": "user", "content": "prompt"}}
	blocks := []any{object{"role": "user", "content": []any{object{"type": "text", "text": "prompt"}}}}
	for _, c := range []struct {
		name     string
		provider provider
		config   llm.Config
		system   string
		prompt   string
		want     sent
	}{
		{"OpenAI itself", openai, llm.Config{Model: "m", Key: testKey, Temperature: &cold}, "system", "prompt",
			sent{"POST", "https://api.openai.com/v1/chat/completions", "Bearer " + testKey, object{
				"model": "m", "max_completion_tokens": 100.0, "temperature": 0.0,
				"messages": []any{object{"role": "system", "content": "system"}, user[0]}}}},
		{"a local server, no key, no system", openai, llm.Config{BaseURL: "http://localhost:11434/v1", Model: "m"}, "", "prompt",
			sent{"POST", "http://localhost:11434/v1/chat/completions", "", object{"model": "m", "max_tokens": 100.0, "messages": user}}},
		{"a reasoning model", openai, llm.Config{BaseURL: "http://localhost/v1/", Model: "m", Reasoning: true}, "", "prompt",
			sent{"POST", "http://localhost/v1/chat/completions", "", object{"model": "m", "max_tokens": 2148.0, "messages": user}}},
		{"Azure", openai, llm.Config{BaseURL: "https://me.openai.azure.com/openai/v1", Model: "m"}, "", "prompt",
			sent{"POST", "https://me.openai.azure.com/openai/v1/chat/completions", "", object{"model": "m", "max_completion_tokens": 100.0, "messages": user}}},
		{"invalid UTF-8, quotes, NUL", openai, llm.Config{BaseURL: "http://localhost/v1", Model: "m"}, "", "a\xff\"<\x00", sent{
			"POST", "http://localhost/v1/chat/completions", "", object{"model": "m", "max_tokens": 100.0,
				"messages": []any{object{"role": "user", "content": "a\uFFFD\"<\x00"}}}}},
		{"Anthropic itself", anthropic, llm.Config{Model: "m", Key: testKey, Temperature: &cold}, "system", "prompt",
			sent{"POST", "https://api.anthropic.com/v1/messages", testKey, object{
				"model": "m", "max_tokens": 100.0, "temperature": 0.0, "messages": blocks,
				"system": []any{object{"type": "text", "text": "system"}}}}},
		{"another server, reasoning, no key", anthropic, llm.Config{BaseURL: "http://localhost/path", Model: "m", Reasoning: true}, "", "prompt",
			sent{"POST", "http://localhost/path/v1/messages", "", object{"model": "m", "max_tokens": 2148.0, "messages": blocks}}},
		{"invalid UTF-8, quotes, NUL", anthropic, llm.Config{BaseURL: "http://localhost", Model: "m"}, "", "a\xff\"<\x00", sent{
			"POST", "http://localhost/v1/messages", "", object{"model": "m", "max_tokens": 100.0, "messages": []any{object{"role": "user",
				"content": []any{object{"type": "text", "text": "a\uFFFD\"<\x00"}}}}}}},
	} {
		t.Run(c.provider.name+"/"+c.name, func(t *testing.T) {
			got := record(t, c.provider, c.config, c.system, c.prompt, 100)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

// The longest answers are asked for without streaming, which an SDK would refuse.
func TestRequestLongAnswer(t *testing.T) {
	for _, p := range providers() {
		got := record(t, p, llm.Config{BaseURL: "http://localhost", Model: "claude-opus-4-0"}, "", "prompt", 200_000)
		if got.Body["max_tokens"] != 200_000.0 {
			t.Errorf("%s: max_tokens is %v", p.name, got.Body["max_tokens"])
		}
	}
}

func TestMaxTokens(t *testing.T) {
	for _, p := range providers() {
		client, err := p.open(llm.Config{Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Complete(t.Context(), "", "prompt", 0)
		if err == nil || err.Error() != "llm: maxTokens is 0; allowed: at least 1" {
			t.Errorf("%s: %v", p.name, err)
		}
		if client.Model() != "m" {
			t.Errorf("%s: model %q", p.name, client.Model())
		}
	}
}
