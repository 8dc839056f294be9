package pull_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/pull"
)

func TestRefusals(t *testing.T) {
	to := t.TempDir()
	for want, r := range map[string]pull.ModelRequest{
		`to is ""`:                    {Name: "all-MiniLM-L6-v2"},
		`name is "nosuch"`:            {Name: "nosuch", To: to},
		`name is "../up"`:             {Name: "../up", From: "team/mini", To: to},
		`name is ".hidden"`:           {Name: ".hidden", From: "team/mini", To: to},
		`SentencePiece`:               {Name: "multilingual-e5-small", To: to},
		`from is "mini"`:              {From: "mini", To: to},
		`from is "a/b/c"`:             {From: "a/b/c", To: to},
		`from is "ftp://x/y"`:         {From: "ftp://x/y", To: to},
		`revision is "../x"`:          {From: "team/mini", Revision: "../x", To: to},
		`graph is "model.bin"`:        {From: "team/mini", Graph: "model.bin", To: to},
		`graph is "../../model.onnx"`: {From: "team/mini", Graph: "../../model.onnx", To: to},
	} {
		_, err := pull.Source{}.Model(t.Context(), r)
		if invalid := (*pull.Invalid)(nil); !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v: want %q", r, err, want)
		}
	}
	if _, err := (pull.Source{Hub: "hub"}).Model(t.Context(), mini(to)); err == nil || !strings.Contains(err.Error(), `hub is "hub"`) {
		t.Errorf("a hub without an address: error %v", err)
	}
	if err := os.WriteFile(filepath.Join(to, pull.LockFile), []byte("[models.mini]\nfiles = [{path = '../x', sha256 = 'ab'}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (pull.Source{}).Model(t.Context(), mini(to)); err == nil || !strings.Contains(err.Error(), pull.LockFile) {
		t.Errorf("a broken lock: error %v: want one that names it", err)
	}
}

// TestKnown holds the list to what the rest relies on.
func TestKnown(t *testing.T) {
	seen := map[string]bool{}
	locked := 0
	for _, k := range pull.KnownModels() {
		if seen[k.Name] || k.Name == "" || strings.Count(k.Source, "/") != 1 || k.Licence == "" || k.Megabytes == 0 || k.Tokens == 0 || k.Languages == "" || k.GoodFor == "" {
			t.Errorf("%+v is not complete, or there twice", k)
		}
		seen[k.Name] = true
		if embedding := k.Kind == pull.Embedding; !embedding && k.Kind != pull.CrossEncoder || embedding != (k.Dims > 0) || embedding != (k.Pooling == "mean" || k.Pooling == "cls") {
			t.Errorf("%s is of the kind %q with %d dimensions and the pooling %q", k.Name, k.Kind, k.Dims, k.Pooling)
		}
		if k.Locked() {
			locked++
			if len(k.Revision) != 40 {
				t.Errorf("%s is locked at %q: want a commit", k.Name, k.Revision)
			}
		}
		for _, f := range k.Files {
			if len(f.SHA256) != 64 || f.Size <= 0 || !filepath.IsLocal(f.Path) {
				t.Errorf("%s: %+v is no file of a lock", k.Name, f)
			}
		}
	}
	if len(seen) < 10 || locked < 4 {
		t.Errorf("%d models are known, %d of them locked", len(seen), locked)
	}
	// What comes of a locked one is held to the hashes that come with the program.
	h := newHub(t)
	h.set(func(w http.ResponseWriter, r *http.Request, _ string) bool {
		fmt.Fprint(w, "something else")
		return true
	})
	k, _ := pull.FindKnown("all-MiniLM-L6-v2")
	_, err := h.source().Model(t.Context(), pull.ModelRequest{Name: k.Name, To: t.TempDir()})
	wrong(t, err, hashOf("something else"), k.Files[0].SHA256)
}
