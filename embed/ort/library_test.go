package ort_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/embed/ort"
)

// TestLoadRefuses runs each case in a process of its own: a library, once
// loaded, stays.
func TestLoadRefuses(t *testing.T) {
	if library := os.Getenv("MALLARD_TEST_LOAD"); library != "" {
		if err := ort.Load(strings.TrimPrefix(library, "-")); err != nil {
			t.Fatal(err)
		}
		return
	}
	broken := filepath.Join(t.TempDir(), "libonnxruntime.so.1")
	if err := os.WriteFile(broken, []byte("no library"), 0o666); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	for name, test := range map[string]struct{ library, env, want string }{
		"option, absent": {filepath.Join(empty, "x.so"), "", "the library asked for: " + filepath.Join(empty, "x.so")},
		"option, empty":  {empty, "", "the library asked for: " + empty},
		"option, broken": {broken, "", broken},
		"env, absent":    {"", filepath.Join(empty, "y.so"), "MEMCTL_ORT: " + filepath.Join(empty, "y.so")},
		"env, broken":    {"", broken, "model pull onnxruntime"},
	} {
		command := exec.Command(os.Args[0], "-test.run=^TestLoadRefuses$")
		command.Env = append(os.Environ(), "MALLARD_TEST_LOAD=-"+test.library, "MEMCTL_ORT="+test.env)
		output, err := command.CombinedOutput()
		if err == nil || !strings.Contains(string(output), test.want) {
			t.Errorf("%s: %v, %s\nwant %q", name, err, output, test.want)
		}
	}
}

// TestLoadFromCache puts a broken library into the cache folder: it must be
// among what was tried.
func TestLoadFromCache(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the cache folder is set the Linux way")
	}
	cache := t.TempDir()
	dir := filepath.Join(cache, "mallard", "onnxruntime", "1.0", "lib")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(dir, "libonnxruntime.so.1.0")
	if err := os.WriteFile(library, []byte("no library"), 0o666); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0], "-test.run=^TestLoadRefuses$")
	command.Env = append(os.Environ(), "MALLARD_TEST_LOAD=-", "MEMCTL_ORT=", "XDG_CACHE_HOME="+cache)
	output, err := command.CombinedOutput()
	if err == nil {
		t.Skip("a library is installed on this system and was loaded")
	}
	if !strings.Contains(string(output), library) {
		t.Errorf("output %s\nwant %s among what was tried", output, library)
	}
}
