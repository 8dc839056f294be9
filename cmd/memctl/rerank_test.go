package main

import (
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

// TestRerankByAServer: recall reranks by the server that the configuration names, unless it is told otherwise, and says what is wrong with the table.
func TestRerankByAServer(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var question struct{ Texts []string }
		if err := json.NewDecoder(r.Body).Decode(&question); err != nil || r.Header.Get("Authorization") != "Bearer secret" || len(question.Texts) == 0 {
			t.Errorf("asked for %+v with %q, %v", question, r.Header, err)
		}
		answer := []map[string]any{}
		for i, text := range question.Texts {
			score := 0.0
			if strings.Contains(text, "night") {
				score = 1
			}
			answer = append(answer, map[string]any{"index": i, "score": score})
		}
		json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	t.Setenv("MY_KEY", "secret")
	config := filepath.Join(t.TempDir(), "config.toml")
	db := filepath.Join(t.TempDir(), "memory.db")
	call := func(code int, table string, args ...string) (stdout, notes string) {
		t.Helper()
		if err := os.WriteFile(config, []byte(table), 0o600); err != nil {
			t.Fatal(err)
		}
		return runs(t, code, append([]string{"--db", db, "--config", config}, args...)...)
	}
	table := fmt.Sprintf("[reranker]\nprovider = \"tei\"\nurl = %q\nkey_env = \"MY_KEY\"\ndeadline = \"20s\"\n", server.URL+"/rerank")
	call(0, table, "remember", "the crane lifts containers")
	call(0, table, "remember", "the crane lifts many containers at night")
	for _, test := range []struct {
		rerank  []string
		asks    int64
		atNight bool
	}{{nil, 1, true}, {[]string{"--rerank", "remote"}, 1, true}, {[]string{"--rerank", "features"}, 0, false}, {[]string{"--rerank", "none"}, 0, false}} {
		before := asked.Load()
		out, _ := call(0, table, append([]string{"recall", "crane lifts containers"}, test.rerank...)...)
		if night := strings.Index(out, "at night"); asked.Load()-before != test.asks || (night >= 0 && night < strings.LastIndex(out, "the crane lifts containers")) != test.atNight {
			t.Errorf("%v: %d requests:\n%s", test.rerank, asked.Load()-before, out)
		}
	}
	if out, _ := call(0, table, "config", "show"); !strings.Contains(out, "reranker.provider") || !strings.Contains(out, "tei") || strings.Contains(out, "secret") {
		t.Errorf("config show:\n%s", out)
	}
	for table, want := range map[string]string{
		"provider = \"tei\"\nurl = \"http://x\"\nfolder = \"x\"\n": "reranker.folder is x, and reranker.provider tei; allowed: one of them",
		"model = \"m\"\n":                                             "reranker.provider is missing; allowed: cohere, dashscope, jina",
		"provider = \"nobody\"\n":                                     `reranker.provider is "nobody"; allowed: cohere, dashscope, jina`,
		"provider = \"tei\"\n":                                        "reranker.url is ",
		"provider = \"jina\"\n":                                       "reranker.model is empty; allowed: the name of a model",
		"provider = \"tei\"\nkey_env = \"NO_SUCH\"\n":                 "reranker.key_env is NO_SUCH, which is not set",
		"provider = \"tei\"\nretries = -1\n":                          "reranker.retries is -1; allowed: 0 or more",
		"folder = \"x\"\ndeadline = \"-1s\"\n":                        "reranker.deadline is -1s",
		"provider = \"tei\"\nurl = \"http://x\"\ntimeout = \"1ms\"\n": "reranker.timeout is 1ms; allowed: 0 (5s) or at least 100ms",
	} {
		if _, notes := call(2, "[reranker]\n"+table, "config", "show"); !strings.Contains(notes, want) {
			t.Errorf("%s: %s; want %s", table, notes, want)
		}
	}
	if _, notes := call(2, "[reranker]\nfolder = \"nosuch\"\n", "recall", "crane"); !strings.Contains(notes, `reranker.folder "nosuch"`) {
		t.Errorf("a folder that is not there: %s", notes)
	}
	if _, notes := call(2, "", "recall", "crane", "--rerank", "onnx"); !strings.Contains(notes, "rerank onnx, but reranker.folder is missing; allowed: onnx:FOLDER") {
		t.Errorf("no folder: %s", notes)
	}
	if _, notes := call(2, "", "recall", "crane", "--rerank", "remote"); !strings.Contains(notes, "rerank remote, but reranker.provider is missing") {
		t.Errorf("no server: %s", notes)
	}
}
