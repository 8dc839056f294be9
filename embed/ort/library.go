// Package ort runs models in ONNX Runtime, a native library found when the
// first model is opened. The library and its environment belong to the whole
// process; whoever embeds or reranks through it loads them here.
package ort

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	native "github.com/yalue/onnxruntime_go"
)

// loading guards the state that ONNX Runtime keeps for the whole process: one
// library, one environment. It is loaded once, by whoever comes first, and
// never unloaded, since sessions of other owners may still live in it.
var loading sync.Mutex

// Load makes ONNX Runtime available to the process, if it isn't yet. Library
// is a file or a folder that has one; "" means the environment variable
// MEMCTL_ORT and then, when that is empty too, the first that loads of
// onnxruntime/ in the user's cache folder for mallard and the system's
// library folders. The error lists what was tried.
//
// Those that open models call it; call it yourself only to learn early whether
// it works. When another part of the process has loaded a library before, that
// one stays.
func Load(library string) error {
	loading.Lock()
	defer loading.Unlock()
	if native.IsInitialized() {
		return nil
	}
	source := "the library asked for"
	if library == "" {
		library, source = os.Getenv("MEMCTL_ORT"), "MEMCTL_ORT"
	}
	var tried []string
	candidates := within(library)
	if library == "" {
		candidates, tried = installed()
	} else if len(candidates) == 0 {
		return fmt.Errorf("%s: %s has no ONNX Runtime library (%s)", source, library, libraryName())
	}
	for _, path := range candidates {
		native.SetSharedLibraryPath(path)
		err := native.InitializeEnvironment(native.WithLogLevelError())
		if err == nil {
			return nil
		}
		tried = append(tried, fmt.Sprintf("%s (%v)", path, err))
	}
	return fmt.Errorf("no ONNX Runtime library: get it with `memctl model pull onnxruntime`, or name it in MEMCTL_ORT; looked for %s",
		strings.Join(tried, "; "))
}

// installed gives the libraries found where they are usually put, the user's
// own first and newest first, and the folders that have none.
func installed() (candidates, empty []string) {
	folders := []string{"/usr/local/lib", "/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/opt/homebrew/lib"}
	if runtime.GOOS == "windows" {
		folders = nil
	}
	if cache, err := os.UserCacheDir(); err == nil {
		folders = slices.Insert(folders, 0, filepath.Join(cache, "mallard", "onnxruntime"))
	}
	for _, folder := range folders {
		found := within(folder)
		if len(found) == 0 {
			empty = append(empty, folder)
		}
		candidates = append(candidates, found...)
	}
	return append(candidates, libraryName()), empty // by its bare name, the loader searches its own paths
}

// within gives a file itself, or the libraries in a folder, its subfolders
// and their lib folders.
func within(path string) []string {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return []string{path}
	}
	var found []string
	for _, below := range []string{"", "*", filepath.Join("*", "lib")} {
		matches, err := filepath.Glob(filepath.Join(path, below, libraryPattern()))
		if err != nil {
			continue // the folder's name is no pattern: nothing can be found in it
		}
		slices.Reverse(matches)
		found = append(found, matches...)
	}
	return found
}

func libraryName() string {
	switch runtime.GOOS {
	case "windows":
		return "onnxruntime.dll"
	case "darwin":
		return "libonnxruntime.dylib"
	}
	return "libonnxruntime.so"
}

func libraryPattern() string {
	switch runtime.GOOS {
	case "windows":
		return "onnxruntime.dll"
	case "darwin":
		return "libonnxruntime*.dylib"
	}
	return "libonnxruntime.so*"
}
