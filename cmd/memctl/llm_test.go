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
)

// modelServer speaks chat completions: it gives the answer, or fails with its status. calls counts.
func modelServer(t *testing.T, status int, answer string, calls *atomic.Int64) (config string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		if status != http.StatusOK {
			http.Error(w, answer, status)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"id": "1", "object": "chat.completion",
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
