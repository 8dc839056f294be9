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

// TestVectorsFromAServer: what is stored and asked goes to the server that the configuration names, and what it failed to embed is made up for.
func TestVectorsFromAServer(t *testing.T) {
	var down atomic.Bool
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if down.Load() {
			http.Error(w, `{"error":"loading"}`, http.StatusServiceUnavailable)
			return
		}
		var question struct {
			Model string
			Input []string
		}
		if err := json.NewDecoder(r.Body).Decode(&question); err != nil || question.Model != "m" || r.URL.Path != "/api/embed" {
			t.Errorf("asked at %s for %+v, %v", r.URL.Path, question, err)
		}
		vectors := [][]float32{}
		for _, text := range question.Input {
			v := []float32{1, 0, 0}
			for i, word := range []string{"drink", "tea"} { // the one word means the other
				if strings.Contains(text, word) {
					v[1] = float32(5 + i)
				}
			}
			vectors = append(vectors, v)
		}
		json.NewEncoder(w).Encode(map[string]any{"embeddings": vectors})
	}))
	defer server.Close()
	config := filepath.Join(t.TempDir(), "config.toml")
	err := os.WriteFile(config, fmt.Appendf(nil, "[embedding]\nprovider = \"ollama\"\nbase_url = %q\nmodel = \"m\"\ndims = 3\nretries = 0\n", server.URL), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "memory.db")
	call := func(args ...string) (stdout, notes string) {
		t.Helper()
		return runs(t, 0, append([]string{"--db", db, "--config", config}, args...)...)
	}
	call("remember", "Ines likes tea")
	call("remember", "Okan paints boats")
	down.Store(true)
	if _, notes := call("remember", "Ines likes tea with milk"); !strings.Contains(notes, "503 Service Unavailable: loading") {
		t.Errorf("told of nothing: %s", notes)
	}
	down.Store(false)
	if out, _ := call("index", "rebuild"); !strings.Contains(out, "1 vector made") {
		t.Errorf("rebuilt: %s", out)
	}
	before := asked.Load()
	out, _ := call("recall", "what does she drink?", "--model", "remote", "--mode", "vector")
	if !strings.Contains(out, "tea with milk") || strings.Contains(out, "boats") && strings.Index(out, "boats") < strings.Index(out, "tea") || asked.Load() != before+1 {
		t.Errorf("%d requests:\n%s", asked.Load()-before, out)
	}
	db = filepath.Join(t.TempDir(), "beside.db")
	call("remember", "Ines likes tea", "--model", "static")
	if out, _ := call("model", "add", "remote", "--model", "static"); !strings.Contains(out, "1 vector made") {
		t.Errorf("added: %s", out)
	}
	call("model", "use", "remote")
	if out, _ := call("recall", "what does she drink?", "--mode", "vector"); !strings.Contains(out, "tea") {
		t.Errorf("by the server's model: %s", out)
	}
}
