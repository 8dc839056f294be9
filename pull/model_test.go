package pull_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mallardmem/mallard/pull"
)

// TestPull locks a model where it is first used, and holds it to that.
func TestPull(t *testing.T) {
	h, to := newHub(t), t.TempDir()
	request := mini(to)
	request.Lock = false
	var open *pull.Unlocked
	if _, err := h.source().Model(t.Context(), request); !errors.As(err, &open) || open.Source != "team/mini" {
		t.Fatalf("without Lock: error %v: want an Unlocked", err)
	}
	nothing(t, to)
	last := ""
	source := h.source()
	source.Progress = func(step string, done, total int) { last = fmt.Sprint(step, " ", done, " of ", total) }
	pulled, err := source.Model(t.Context(), mini(to))
	if err != nil {
		t.Fatal(err)
	}
	h.whole(t, pulled.Folder)
	if pulled.Folder != filepath.Join(to, "mini") || pulled.Revision != commit || !pulled.Locked || pulled.Already || len(pulled.Files) != 3 {
		t.Errorf("pulled %+v", pulled)
	}
	if last != "model.onnx 800000 of 800000" {
		t.Errorf("the last progress is %q", last)
	}
	lock, err := os.ReadFile(filepath.Join(to, pull.LockFile))
	if err != nil || !strings.Contains(string(lock), hashOf(h.files["onnx/model.onnx"])) || !strings.Contains(string(lock), commit) {
		t.Errorf("the lock is %s, error %v", lock, err)
	}
	if left, _ := filepath.Glob(filepath.Join(to, ".part", "*", "*")); left != nil {
		t.Errorf("left: %v", left)
	}

	h.set(nil)
	pulled, err = h.source().Model(t.Context(), request)
	if err != nil || !pulled.Already || len(h.asked) > 0 {
		t.Errorf("again: %+v, error %v, asked %v: want that it is there", pulled, err, h.asked)
	}
	// Elsewhere, by the same lock: the commit that was locked is asked for, and what comes is held to it.
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, pull.LockFile), lock, 0o600); err != nil {
		t.Fatal(err)
	}
	request.To = other
	if pulled, err = h.source().Model(t.Context(), request); err != nil || pulled.Already || pulled.Locked {
		t.Errorf("by the lock: %+v, error %v", pulled, err)
	}
	h.whole(t, pulled.Folder)
	// Another file in the folder is told with both hashes.
	if err := os.WriteFile(filepath.Join(other, "mini", "tokenizer.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = h.source().Model(t.Context(), request)
	wrong(t, err, hashOf("{}"), hashOf(h.files["tokenizer.json"]))
	// And a file that is not there, with where it would come from.
	if err := os.Remove(filepath.Join(other, "mini", "tokenizer.json")); err != nil {
		t.Fatal(err)
	}
	if _, err = h.source().Model(t.Context(), request); err == nil || !strings.Contains(err.Error(), h.URL+"/team/mini/resolve/"+commit+"/tokenizer.json") {
		t.Errorf("a missing file: error %v: want its address", err)
	}
	// A further revision needs Lock again.
	request.Revision = "next"
	if _, err = h.source().Model(t.Context(), request); !errors.As(err, &open) || open.Revision != "next" {
		t.Errorf("another revision: error %v: want an Unlocked", err)
	}
}

// wrong holds an error to be a Mismatch with both hashes.
func wrong(t *testing.T, err error, got, want string) {
	t.Helper()
	if mismatch := (*pull.Mismatch)(nil); !errors.As(err, &mismatch) || mismatch.Got != got || mismatch.Want != want || !strings.Contains(err.Error(), got) || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v: want a mismatch of %s and %s", err, got, want)
	}
}

// TestResume breaks answers off: the next request asks for the rest only.
func TestResume(t *testing.T) {
	h, to := newHub(t), t.TempDir()
	h.set(h.cut("onnx/model.onnx", 300_000, 1000))
	pulled, err := h.source().Model(t.Context(), mini(to))
	if err != nil {
		t.Fatal(err)
	}
	h.whole(t, pulled.Folder)
	want := []string{"GET onnx/model.onnx", "GET onnx/model.onnx bytes=300000-", "GET onnx/model.onnx bytes=301000-"}
	if got := h.requests("onnx/model.onnx"); !slices.Equal(got[:3], want) {
		t.Errorf("requests %q: want %q", got, want)
	}
}

// TestResumeLater gives up, and goes on in another call.
func TestResumeLater(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(h *hub)
		want      []string // of the second call
	}{
		"as it was": {func(*hub) {}, []string{"GET onnx/model.onnx bytes=500000-"}},
		"another edition": {func(h *hub) { h.files["onnx/model.onnx"] = strings.Repeat("others ", 90_000) },
			[]string{"GET onnx/model.onnx bytes=500000-"}}, // If-Range: the source gives all of it
		"ranges ignored": {func(h *hub) {
			h.fault = func(w http.ResponseWriter, r *http.Request, file string) bool {
				if h.files[file] == "" {
					return false
				}
				fmt.Fprint(w, h.files[file])
				return true
			}
		}, []string{"GET onnx/model.onnx bytes=500000-"}},
		"other ranges": {func(h *hub) {
			h.fault = func(w http.ResponseWriter, r *http.Request, file string) bool {
				if r.Header.Get("Range") == "" {
					return false
				}
				w.Header().Set("Content-Range", "bytes 7-8/9")
				w.WriteHeader(http.StatusPartialContent)
				fmt.Fprint(w, "xx")
				return true
			}
		}, []string{"GET onnx/model.onnx bytes=500000-", "GET onnx/model.onnx"}},
		"no rest": {func(h *hub) { h.files["onnx/model.onnx"] = "short" }, []string{"GET onnx/model.onnx bytes=500000-"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, to := newHub(t), t.TempDir()
			h.set(h.cut("onnx/model.onnx", 500_000))
			source := h.source()
			source.Attempts = 1
			var missing *pull.Missing
			if _, err := source.Model(t.Context(), mini(to)); !errors.As(err, &missing) || !strings.Contains(err.Error(), "broke off after 500000 bytes") {
				t.Fatalf("error %v: want a Missing", err)
			}
			nothing(t, to)
			h.set(nil)
			test.meanwhile(h)
			pulled, err := h.source().Model(t.Context(), mini(to))
			if err != nil {
				t.Fatal(err)
			}
			h.whole(t, pulled.Folder)
			if got := h.requests("onnx/model.onnx"); !slices.Equal(got[:len(test.want)], test.want) {
				t.Errorf("requests %q: want %q", got, test.want)
			}
			if got := h.requests("config.json"); got != nil {
				t.Errorf("what was whole was asked for again: %q", got)
			}
		})
	}
}

// TestFaults: what passes is tried again, what does not is told at once, and nothing half fetched is ever seen.
func TestFaults(t *testing.T) {
	status := func(file string, codes ...int) func(h *hub) {
		return func(h *hub) {
			h.set(func(w http.ResponseWriter, r *http.Request, asked string) bool {
				if asked != file || len(codes) == 0 {
					return false
				}
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(codes[0])
				codes = codes[1:]
				return true
			})
		}
	}
	for name, test := range map[string]struct {
		prepare  func(h *hub)
		want     string // in the error; "" for none
		requests int
	}{
		"two failures":      {status("config.json", 500, 429), "", 3},
		"always failing":    {status("config.json", 500, 502, 503), "answered 503", 3},
		"not open":          {status("config.json", 401), "not open to everybody", 1},
		"absent":            {func(h *hub) { delete(h.files, "tokenizer.json") }, "no such file there", 1},
		"absent, optional":  {func(h *hub) { h.files["modules.json"] = "[]" }, "", 1},
		"wrongly published": {func(h *hub) { h.set(published(hashOf("other"))) }, hashOf("other"), 1},
		"published":         {func(h *hub) { h.set(published(hashOf(h.files["config.json"]))) }, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			h, to := newHub(t), t.TempDir()
			test.prepare(h)
			pulled, err := h.source().Model(t.Context(), mini(to))
			if test.want == "" && err == nil {
				h.whole(t, pulled.Folder)
			} else if err == nil || test.want == "" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v: want %q", err, test.want)
			} else {
				nothing(t, to)
			}
			if got := h.requests("config.json"); len(got) != test.requests {
				t.Errorf("requests %q: want %d", got, test.requests)
			}
		})
	}
}

// published makes the hub say what the hash of config.json is, as it does of large files.
func published(hash string) func(w http.ResponseWriter, r *http.Request, file string) bool {
	return func(w http.ResponseWriter, _ *http.Request, file string) bool {
		if file == "config.json" {
			w.Header().Set("X-Linked-Etag", `"`+hash+`"`)
		}
		return false
	}
}

// TestWrongHash: a file that is not as locked is no file, whether it came whole, in parts, or too long.
func TestWrongHash(t *testing.T) {
	h, to := newHub(t), t.TempDir()
	if _, err := h.source().Model(t.Context(), mini(to)); err != nil {
		t.Fatal(err)
	}
	good := h.files["onnx/model.onnx"]
	if err := os.RemoveAll(filepath.Join(to, "mini")); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{strings.Repeat("Weights ", 100_000), strings.Repeat("w", 10), good + "more"} {
		h.set(nil)
		h.files["onnx/model.onnx"] = bad
		_, err := h.source().Model(t.Context(), mini(to))
		if len(bad) > len(good) {
			if err == nil || !strings.Contains(err.Error(), "sends more than the 800000 bytes") {
				t.Errorf("too long: error %v", err)
			}
		} else {
			wrong(t, err, hashOf(bad), hashOf(good))
		}
		if _, err := os.Stat(filepath.Join(to, "mini")); err == nil {
			t.Error("a folder is there")
		}
	}
	// A part of another file, of which nobody knows what it was of: it is fetched anew, once.
	h.files["onnx/model.onnx"] = good
	h.set(nil)
	part := filepath.Join(to, ".part", "mini@"+commit, "onnx", "model.onnx.part")
	if err := os.WriteFile(part, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	pulled, err := h.source().Model(t.Context(), mini(to))
	if err != nil {
		t.Fatal(err)
	}
	h.whole(t, pulled.Folder)
	want := []string{"GET onnx/model.onnx bytes=14-", "GET onnx/model.onnx"}
	if got := h.requests("onnx/model.onnx"); !slices.Equal(got, want) {
		t.Errorf("requests %q: want %q", got, want)
	}
}

// TestRedirects: files come from elsewhere, and what the hub says on the way counts; but not from where nobody knows who answers.
func TestRedirects(t *testing.T) {
	h := newHub(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, h.files[strings.TrimPrefix(r.URL.Path, "/")])
	}))
	defer elsewhere.Close()
	redirect := func(hash string) func(w http.ResponseWriter, r *http.Request, file string) bool {
		return func(w http.ResponseWriter, r *http.Request, file string) bool {
			if file != "onnx/model.onnx" {
				return false
			}
			w.Header().Set("X-Linked-Etag", `"`+hash+`"`)
			http.Redirect(w, r, elsewhere.URL+"/"+file, http.StatusFound)
			return true
		}
	}
	h.set(redirect(hashOf(h.files["onnx/model.onnx"])))
	pulled, err := h.source().Model(t.Context(), mini(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	h.whole(t, pulled.Folder)
	h.set(redirect(hashOf("other")))
	_, err = h.source().Model(t.Context(), mini(t.TempDir()))
	wrong(t, err, hashOf(h.files["onnx/model.onnx"]), hashOf("other"))

	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/config.json", http.StatusFound)
	}))
	defer secure.Close()
	source := h.source()
	source.Hub, source.HTTP = secure.URL, secure.Client()
	if _, err := source.Model(t.Context(), mini(t.TempDir())); err == nil || !strings.Contains(err.Error(), "not encrypted") {
		t.Errorf("a redirect to http: error %v: want a refusal", err)
	}
}

// TestDiskFull uses a device that is always full.
func TestDiskFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full: a full disk is not tested")
	}
	h, to := newHub(t), t.TempDir()
	staged := filepath.Join(to, ".part", "mini@"+commit, "onnx")
	if err := os.MkdirAll(staged, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", filepath.Join(staged, "model.onnx.part")); err != nil {
		t.Fatal(err)
	}
	_, err := h.source().Model(t.Context(), mini(to))
	if err == nil || !strings.Contains(err.Error(), "no space left") || len(h.requests("onnx/model.onnx")) != 1 {
		t.Errorf("error %v after %q: want one that says so, at once", err, h.requests("onnx/model.onnx"))
	}
	nothing(t, to)
}

// TestCancel ends a call in the midst of a file, and TestStall one request of it.
func TestCancel(t *testing.T) {
	h, to := newHub(t), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	h.set(hang(h, func() { cancel() }))
	began := time.Now()
	_, err := h.source().Model(ctx, mini(to))
	if !errors.Is(err, context.Canceled) || time.Since(began) > 5*time.Second {
		t.Errorf("error %v after %v: want context.Canceled at once", err, time.Since(began))
	}
	nothing(t, to)
	h.set(nil)
	pulled, err := h.source().Model(t.Context(), mini(to))
	if err != nil {
		t.Fatal(err)
	}
	h.whole(t, pulled.Folder)
}

func TestStall(t *testing.T) {
	h := newHub(t)
	h.set(hang(h, func() {}))
	source := h.source()
	source.Stall = 50 * time.Millisecond
	pulled, err := source.Model(t.Context(), mini(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	h.whole(t, pulled.Folder)
	if got := h.requests("onnx/model.onnx"); len(got) < 2 || got[1] != "GET onnx/model.onnx bytes=400000-" {
		t.Errorf("requests %q: want one that goes on", got)
	}
}

// hang sends half of the graph, once, and then nothing any more until the request ends.
func hang(h *hub, then func()) func(w http.ResponseWriter, r *http.Request, file string) bool {
	var once sync.Once
	return func(w http.ResponseWriter, r *http.Request, file string) (answered bool) {
		if file != "onnx/model.onnx" {
			return false
		}
		once.Do(func() {
			answered = true
			w.Header().Set("Content-Length", "800000")
			fmt.Fprint(w, h.files[file][:400_000])
			w.(http.Flusher).Flush()
			then()
			<-r.Context().Done()
		})
		return answered
	}
}

// TestTwoAtOnce: the second waits for the first, and finds the model there.
func TestTwoAtOnce(t *testing.T) {
	h, to := newHub(t), t.TempDir()
	var group sync.WaitGroup
	var already [4]bool
	for i := range already {
		group.Go(func() {
			pulled, err := h.source().Model(t.Context(), mini(to))
			if err != nil {
				t.Error(err)
				return
			}
			already[i] = pulled.Already
		})
	}
	group.Wait()
	h.whole(t, filepath.Join(to, "mini"))
	first := 0
	for _, there := range already {
		if !there {
			first++
		}
	}
	if first != 1 || len(h.requests("onnx/model.onnx")) > 1+1 { // one may be for onnx/model.onnx_data
		t.Errorf("%d fetched it, by %q: want one", first, h.requests("onnx/model.onnx"))
	}
}

// TestOffline says what is missing, where it would come from and where to put it; what is put there is then held to the lock.
func TestOffline(t *testing.T) {
	h, to := newHub(t), t.TempDir()
	if _, err := h.source().Model(t.Context(), mini(to)); err != nil {
		t.Fatal(err)
	}
	lock, err := os.ReadFile(filepath.Join(to, pull.LockFile))
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	// The same files under the name of a known model, with the settings that are known of it.
	renamed := strings.NewReplacer("models.mini", `models.gte-small`, "team/mini", "thenlper/gte-small").Replace(string(lock))
	if err := os.WriteFile(filepath.Join(other, pull.LockFile), []byte(renamed), 0o600); err != nil {
		t.Fatal(err)
	}
	source := pull.Source{Hub: "http://127.0.0.1:1", Attempts: 2, Pause: time.Millisecond}
	request := pull.ModelRequest{Name: "gte-small", To: other}
	_, err = source.Model(t.Context(), request)
	var missing *pull.Missing
	if !errors.As(err, &missing) || len(missing.Files) != 3 {
		t.Fatalf("error %v: want a Missing of three files", err)
	}
	for _, want := range []string{"refused", "onnx/model.onnx from http://127.0.0.1:1/thenlper/gte-small/resolve/" + commit + "/onnx/model.onnx, 800000 bytes, SHA-256 " + hashOf(h.files["onnx/model.onnx"]), "put the files into " + filepath.Join(other, "gte-small")} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v: want %q", err, want)
		}
	}
	if err := os.CopyFS(filepath.Join(other, "gte-small"), os.DirFS(filepath.Join(to, "mini"))); err != nil {
		t.Fatal(err)
	}
	pulled, err := source.Model(t.Context(), request)
	if err != nil || !pulled.Already || pulled.Locked {
		t.Errorf("by hand: %+v, error %v", pulled, err)
	}
	for name, want := range map[string]string{"1_Pooling/config.json": `"pooling_mode_mean_tokens":true`, "sentence_bert_config.json": `"max_seq_length":512`} {
		if got, err := os.ReadFile(filepath.Join(pulled.Folder, name)); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s is %s, error %v: want %s", name, got, err, want)
		}
	}
	// A folder that nobody locked is locked as it is.
	if err := os.Remove(filepath.Join(other, pull.LockFile)); err != nil {
		t.Fatal(err)
	}
	if _, err = source.Model(t.Context(), request); !errors.As(err, new(*pull.Unlocked)) {
		t.Errorf("without a lock: error %v: want an Unlocked", err)
	}
	request.Lock = true
	if pulled, err = source.Model(t.Context(), request); err != nil || !pulled.Already || !pulled.Locked {
		t.Errorf("locked as it is: %+v, error %v", pulled, err)
	}
}
