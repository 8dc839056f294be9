package pull_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mallardmem/mallard/pull"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// hub is a models' hub with one repository, team/mini, and faults.
type hub struct {
	*httptest.Server
	mu    sync.Mutex // owns what is below
	files map[string]string
	fault func(w http.ResponseWriter, r *http.Request, file string) bool // true: it has answered
	asked []string                                                       // "GET config.json bytes=3-"
}

func newHub(t *testing.T) *hub {
	h := &hub{files: map[string]string{
		"config.json":     `{"max_position_embeddings": 64}`,
		"tokenizer.json":  `{"a": "tokenizer"}`,
		"onnx/model.onnx": strings.Repeat("weights ", 100_000),
	}}
	h.Server = httptest.NewServer(http.HandlerFunc(h.answer))
	t.Cleanup(h.Close)
	return h
}

func (h *hub) answer(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	_, file, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/team/mini/resolve/"), "/")
	h.asked = append(h.asked, strings.TrimSpace(r.Method+" "+file+" "+r.Header.Get("Range")))
	content, ok := h.files[file]
	fault := h.fault
	h.mu.Unlock()
	w.Header().Set("X-Repo-Commit", commit)
	if fault != nil && r.Method == http.MethodGet && fault(w, r, file) {
		return
	}
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", `"`+hashOf(content)[:16]+`"`)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
}

// set changes what the hub does.
func (h *hub) set(fault func(w http.ResponseWriter, r *http.Request, file string) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fault, h.asked = fault, nil
}

// requests gives those that were made for a file since then.
func (h *hub) requests(file string) (all []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.asked {
		if strings.HasPrefix(line, "GET "+file) {
			all = append(all, line)
		}
	}
	return all
}

func (h *hub) source() pull.Source {
	return pull.Source{Hub: h.URL, Attempts: 3, Pause: time.Millisecond, Stall: 10 * time.Second}
}

func hashOf(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

// mini asks for the repository's model.
func mini(to string) pull.ModelRequest {
	return pull.ModelRequest{Name: "mini", From: "team/mini", To: to, Lock: true}
}

// whole holds a folder to what the hub has.
func (h *hub) whole(t *testing.T, folder string) {
	t.Helper()
	for name, content := range h.files {
		got, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		if err != nil || string(got) != content {
			t.Errorf("%s has %d bytes, error %v: want %d", name, len(got), err, len(content))
		}
	}
}

// nothing holds a folder of models to have none, and no lock of one.
func nothing(t *testing.T, folder string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".part" {
			t.Errorf("%s is there", e.Name())
		}
	}
}

// cut breaks the answers for a file off after so many bytes, one answer for each number.
func (h *hub) cut(file string, after ...int) func(w http.ResponseWriter, r *http.Request, asked string) bool {
	return func(w http.ResponseWriter, r *http.Request, asked string) bool {
		if asked != file || len(after) == 0 {
			return false
		}
		n := after[0]
		after = after[1:]
		from := 0
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
		rest := h.files[file][from:]
		w.Header().Set("ETag", `"`+hashOf(h.files[file])[:16]+`"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(rest)))
		if from > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+len(rest)-1, from+len(rest)))
			w.WriteHeader(http.StatusPartialContent)
		}
		fmt.Fprint(w, rest[:n])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}
