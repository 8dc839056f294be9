package pull_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/pull"
)

// packed is a file of an archive; one that begins with -> is a link.
type packed struct{ name, content string }

func tgz(t *testing.T, files ...packed) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content)), Typeflag: tar.TypeReg}
		if target, ok := strings.CutPrefix(f.content, "->"); ok {
			h.Typeflag, h.Linkname, h.Size, f.content = tar.TypeSymlink, target, 0, ""
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipped(t *testing.T, files ...packed) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range files {
		w, err := z.Create(f.name)
		if err == nil {
			_, err = w.Write([]byte(f.content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// release is an archive as ONNX Runtime's are, for Linux.
func release(t *testing.T) []byte {
	top := "onnxruntime-linux-x64-1.2.3/"
	return tgz(t, packed{top + "LICENSE", "the licence"}, packed{top + "include/onnxruntime_c_api.h", "a header"}, packed{top + "lib/libonnxruntime.so", "->libonnxruntime.so.1"},
		packed{top + "lib/libonnxruntime.so.1.2.3", "the library"}, packed{top + "lib/libonnxruntime_providers_shared.so", "another"})
}

func TestRuntimeFromFile(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	mac := tgz(t, packed{"a/lib/libonnxruntime.1.2.3.dylib", "the library"}, packed{"a/lib/libonnxruntime.dylib", "->libonnxruntime.1.2.3.dylib"},
		packed{"a/lib/libonnxruntime.1.2.3.dylib.dSYM/Contents/Resources/DWARF/libonnxruntime.1.2.3.dylib", "for debuggers"})
	for name, test := range map[string]struct {
		file    string
		content []byte
		system  string
		library string // "" where it fails
		want    string // in the error
	}{
		"release":        {"onnxruntime-linux-x64-1.2.3.tgz", release(t), "linux", "libonnxruntime.so.1.2.3", ""},
		"mac":            {"onnxruntime-osx-arm64-1.2.3.tgz", mac, "darwin", "libonnxruntime.1.2.3.dylib", ""},
		"windows":        {"onnxruntime-win-x64-1.2.3.zip", zipped(t, packed{"w/lib/onnxruntime.dll", "the library"}, packed{"w/lib/onnxruntime.lib", "no"}), "windows", "onnxruntime.dll", ""},
		"wheel":          {"onnxruntime-1.2.3-cp312-cp312-manylinux_2_27_x86_64.whl", zipped(t, packed{"onnxruntime/LICENSE", "x"}, packed{"onnxruntime/x.dist-info/LICENSE", "y"}, packed{"onnxruntime/capi/libonnxruntime.so.1.2.3", "the library"}), "linux", "libonnxruntime.so.1.2.3", ""},
		"climbing":       {"climbing-1.2.3.tgz", tgz(t, packed{"../../../lib/libonnxruntime.so", "the library"}, packed{"/etc/LICENSE", "x"}), "linux", "libonnxruntime.so", ""},
		"other system's": {"other-1.2.3.tgz", mac, "linux", "", "0 libraries of ONNX Runtime for linux"},
		"two libraries":  {"two-1.2.3.tgz", tgz(t, packed{"lib/libonnxruntime.so.1", "a"}, packed{"lib/libonnxruntime.so.2", "b"}), "linux", "", "2 libraries"},
		"twice":          {"twice-1.2.3.tgz", tgz(t, packed{"lib/libonnxruntime.so", "a"}, packed{"x/lib/libonnxruntime.so", "b"}), "linux", "", "exist"},
		"long licence":   {"long-1.2.3.tgz", tgz(t, packed{"LICENSE", strings.Repeat("x", 17<<20)}), "linux", "", "allowed: 16777216"},
		"broken off":     {"half-1.2.3.tgz", release(t)[:150], "linux", "", "unexpected EOF"},
		"no archive":     {"none-1.2.3.tgz", []byte("a page that says no"), "linux", "", "not an archive"},
		"empty":          {"empty-1.2.3.tgz", nil, "linux", "", "not an archive"},
	} {
		t.Run(name, func(t *testing.T) {
			to := t.TempDir()
			pulled, err := pull.Source{}.Runtime(t.Context(), pull.RuntimeRequest{To: to, OS: test.system, Arch: "amd64", From: write(test.file, test.content)})
			if test.library == "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v: want %q", err, test.want)
				}
				nothing(t, to)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Join(to, "1.2.3", "lib", test.library); pulled.Library != want || pulled.Already {
				t.Errorf("pulled %+v: want %s", pulled, want)
			}
			if content, err := os.ReadFile(pulled.Library); err != nil || string(content) != "the library" {
				t.Errorf("the library is %q, error %v", content, err)
			}
			if up, _ := filepath.Glob(filepath.Join(filepath.Dir(to), "lib*")); up != nil {
				t.Errorf("outside the folder: %v", up)
			}
			if again, err := (pull.Source{}).Runtime(t.Context(), pull.RuntimeRequest{To: to, OS: test.system, Version: "1.2.3", From: filepath.Join(folder, test.file)}); err != nil || !again.Already {
				t.Errorf("again: %+v, error %v: want that it is there", again, err)
			}
		})
	}
}

// TestRuntimeFromServer: releases are held to the hashes that come with the program, or to the user's lock.
func TestRuntimeFromServer(t *testing.T) {
	content := release(t)
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	defer server.Close()
	source := pull.Source{Releases: server.URL, Attempts: 2, Pause: time.Millisecond}
	to := t.TempDir()
	request := pull.RuntimeRequest{To: to, OS: "linux", Arch: "amd64"}
	_, err := source.Runtime(t.Context(), request)
	wrong(t, err, hashOf(string(content)), "1fa4dcaef22f6f7d5cd81b28c2800414350c10116f5fdd46a2160082551c5f9b")
	nothing(t, to)
	if want := "/v1.23.2/onnxruntime-linux-x64-1.23.2.tgz"; len(asked) != 1 || asked[0] != want {
		t.Errorf("asked for %q: want %q", asked, want)
	}
	request.Version = "1.2.3"
	if _, err := source.Runtime(t.Context(), request); !errors.As(err, new(*pull.Unlocked)) {
		t.Errorf("another version: error %v: want an Unlocked", err)
	}
	request.Lock = true
	pulled, err := source.Runtime(t.Context(), request)
	if err != nil || !pulled.Locked || pulled.Library != filepath.Join(to, "1.2.3", "lib", "libonnxruntime.so.1.2.3") {
		t.Fatalf("pulled %+v, error %v", pulled, err)
	}
	if left, _ := filepath.Glob(filepath.Join(to, ".part", "*.tgz*")); left != nil {
		t.Errorf("left: %v", left)
	}
	// Once more, elsewhere on this machine: now it is held to the lock.
	if err := os.RemoveAll(filepath.Join(to, "1.2.3")); err != nil {
		t.Fatal(err)
	}
	good := hashOf(string(content))
	content = tgz(t, packed{"lib/libonnxruntime.so", "another"})
	request.Lock = false
	_, err = source.Runtime(t.Context(), request)
	wrong(t, err, hashOf(string(content)), good)

	server.Close()
	if _, err := source.Runtime(t.Context(), request); err == nil || !strings.Contains(err.Error(), "put only the library into "+filepath.Join(to, "1.2.3", "lib")) {
		t.Errorf("offline: error %v: want where to put it", err)
	}
	for want, r := range map[string]pull.RuntimeRequest{
		`system is "plan9/mips"`: {To: to, OS: "plan9", Arch: "mips"},
		`from is "nosuch-1.2.3"`: {To: to, From: "nosuch-1.2.3"},
		`version is ""`:          {To: to, From: "onnxruntime.tgz"},
		`name is "../1"`:         {To: to, OS: "linux", Arch: "amd64", Version: "../1"},
	} {
		if _, err := source.Runtime(t.Context(), r); !errors.As(err, new(*pull.Invalid)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v: want %q", r, err, want)
		}
	}
	if runtime.GOOS == "linux" {
		t.Setenv("XDG_CACHE_HOME", "/somewhere")
		if folder, err := pull.RuntimeFolder(); err != nil || folder != "/somewhere/mallard/onnxruntime" {
			t.Errorf("RuntimeFolder is %s, error %v", folder, err)
		}
	}
}
