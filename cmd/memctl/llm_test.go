package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mallardmem/mallard/engine"
)

// modelServer speaks chat completions: it gives the answer, with the tokens it counted, or fails with its status. calls counts.
func modelServer(t *testing.T, status int, answer string, calls *atomic.Int64) (config string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("asked by %s %s", r.Method, r.URL.Path)
		}
		if status != http.StatusOK {
			http.Error(w, answer, status)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"id": "1", "object": "chat.completion",
			"usage":   map[string]any{"prompt_tokens": 1500, "completion_tokens": 60, "total_tokens": 1560},
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": answer}}}})
	}))
	t.Cleanup(server.Close)
	config = filepath.Join(t.TempDir(), "config.toml")
	err := os.WriteFile(config, fmt.Appendf(nil, `
[conversation]
fresh_tail_count = 1
large_file_token_threshold = 500
summarize_large_files = true
[llm]
provider = "openai"
model = "m"
base_url = "%s/v1"
retries = 0
`, server.URL), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// runs executes a command line that has to end with that exit code, and gives what it printed.
func runs(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, notes bytes.Buffer
	if got := newApp(strings.NewReader(""), &out, &notes).run(t.Context(), args); got != code {
		t.Fatalf("memctl %s: exit code %d, want %d: %s", strings.Join(args, " "), got, code, notes.String())
	}
	return out.String(), notes.String()
}

// talkOf makes a file with a conversation of some messages.
func talkOf(t *testing.T, config string) (db string) {
	t.Helper()
	db = filepath.Join(t.TempDir(), "memory.db")
	for i := range 4 {
		runs(t, 0, "--db", db, "--config", config, "append", "yard", fmt.Sprintf("On day %d the gale took crane HB-%d out of service, and berth four stood empty.", i, 400+i))
	}
	return db
}

func TestTheModelSaysWhatLargeFilesHold(t *testing.T) {
	var calls atomic.Int64
	config := modelServer(t, http.StatusOK, "It tells of a gale.", &calls)
	db := filepath.Join(t.TempDir(), "memory.db")
	runs(t, 0, "--db", db, "--config", config, "append", "yard", strings.Repeat("The gale took the cranes.\n", 200))
	if calls.Load() != 1 {
		t.Errorf("the model was asked %d times, want once", calls.Load())
	}
	if out, _ := runs(t, 0, "--db", db, "--config", config, "conversation", "show", "yard"); !strings.Contains(out, "It tells of a gale.") {
		t.Errorf("what the model said is not shown:\n%s", out)
	}
}

func TestTheModelSummarisesAndAnswers(t *testing.T) {
	var calls atomic.Int64
	config := modelServer(t, http.StatusOK, "Cranes HB-400 to HB-402 were down.", &calls)
	db := talkOf(t, config)
	out, _ := runs(t, 0, "--db", db, "--config", config, "conversation", "compact", "yard", "--force", "--json")
	if !strings.Contains(out, `"level": "normal"`) || calls.Load() == 0 {
		t.Errorf("%d calls:\n%s", calls.Load(), out)
	}
	out, _ = runs(t, 0, "--db", db, "--config", config, "conversation", "ask", "yard", "which cranes did the gale take?")
	if out != "Cranes HB-400 to HB-402 were down.\n" {
		t.Errorf("answer %q", out)
	}
}

// TestTheModelExtracts: what a server answers becomes a memory with its source, and its tokens and their price a row of model_calls.
func TestTheModelExtracts(t *testing.T) {
	var calls atomic.Int64
	answer := "Here it is:\n```json\n" + `{"memories": [{"category": "events", "abstract": "Crane HB-400 went out of service", "overview": "- HB-400", "content": "The gale took it on day 0.", "turns": [1]}]}` + "\n```"
	config := modelServer(t, http.StatusOK, answer, &calls)
	settings, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, append(settings, "[extraction]\nprompt_price = 2.0\nanswer_price = 8.0\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	db := talkOf(t, config)
	runs(t, 0, "--db", db, "--config", config, "extract", "--conversation", "yard")
	if calls.Load() != 1 {
		t.Errorf("the model was asked %d times, want once", calls.Load())
	}
	e, err := engine.Open(t.Context(), db, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for query, want := range map[string]string{
		"SELECT label, model, attempt, prompt_tokens, answer_tokens, told, outcome, round(cost, 9) FROM model_calls": "[[extract-candidates m 1 1500 60 true answered 0.00348]]",
		"SELECT category, text, source FROM report.memories":                                                         "[[event Crane HB-400 went out of service auto-capture]]",
		"SELECT model, action, len(message_ids) FROM drafts":                                                         "[[m create 1]]",
	} {
		got, err := e.Query(t.Context(), query, 10)
		if err != nil || fmt.Sprint(got.Rows) != want {
			t.Errorf("%s: %+v, %v, want %s", query, got, err, want)
		}
	}
}

// A model that fails is told of: as a note, and in JSON.
func TestTheModelFails(t *testing.T) {
	var calls atomic.Int64
	config := modelServer(t, http.StatusBadRequest, `{"error": {"message": "no such model"}}`, &calls)
	db := talkOf(t, config)
	out, _ := runs(t, 0, "--db", db, "--config", config, "conversation", "compact", "yard", "--force", "--json")
	if !strings.Contains(out, `"fallback": true`) {
		t.Errorf("forced without a model:\n%s", out)
	}
	out, notes := runs(t, 0, "--db", db, "--config", config, "conversation", "ask", "yard", "which cranes did the gale take?")
	if !strings.Contains(out, "HB-400") || !strings.Contains(notes, "no such model") {
		t.Errorf("%s\n%s", out, notes)
	}
	out, _ = runs(t, 0, "--db", db, "--config", config, "conversation", "ask", "yard", "which cranes did the gale take?", "--json")
	var answer struct {
		Excerpts   []any
		ModelError string `json:"model_error"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Excerpts) == 0 || !strings.Contains(answer.ModelError, "no such model") {
		t.Errorf("%v:\n%s", err, out)
	}
	if _, notes := runs(t, 1, "--db", db, "--config", config, "conversation", "rewrite", "--fallbacks"); !strings.Contains(notes, "no such model") {
		t.Errorf("rewrite: %s", notes)
	}
}
