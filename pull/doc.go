// Package pull fetches models and ONNX Runtime, and holds every file to a lock: its SHA-256 at one revision.
//
// What is known and locked comes with the program (known.toml). What is known but not locked, and whatever else is asked for by its address, is fetched
// only where the caller says Lock: then the hashes of what came are written to the user's own lock file (LockFile, beside the models), and later pulls
// are held to it. A hash that differs is an error that names both.
//
// A download that broke off goes on where it stopped. Until all files of a model are there and as locked they lie in the folder ".part", under no name
// that anything looks for; then the whole folder takes its name at once. One process pulls a model at a time, the next one waits and finds it there.
package pull

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Where models and ONNX Runtime come from, unless a Source says otherwise.
const (
	DefaultHub      = "https://huggingface.co"
	DefaultReleases = "https://github.com/microsoft/onnxruntime/releases/download"
)

// Source is where files come from, and how patiently they are asked for. The zero value works.
type Source struct {
	Hub      string                             // address of the models' hub; default DefaultHub
	Releases string                             // of ONNX Runtime's releases; default DefaultReleases
	HTTP     *http.Client                       // default http.DefaultClient
	Progress func(step string, done, total int) // in bytes; a total of 0 is not known. Nil: nobody is told
	Attempts int                                // requests for a file, the first included; default 5
	Pause    time.Duration                      // before the second, doubled each time; default 1s
	Stall    time.Duration                      // without a byte counts as broken off; default 1m
}

func (s Source) withDefaults() (Source, error) {
	if s.Hub == "" {
		s.Hub = DefaultHub
	}
	if s.Releases == "" {
		s.Releases = DefaultReleases
	}
	for name, address := range map[string]string{"hub": s.Hub, "releases": s.Releases} {
		if err := checkAddress(name, address); err != nil {
			return s, err
		}
	}
	s.Hub, s.Releases = strings.TrimRight(s.Hub, "/"), strings.TrimRight(s.Releases, "/")
	if s.HTTP == nil {
		s.HTTP = http.DefaultClient
	}
	if s.Progress == nil {
		s.Progress = func(string, int, int) {}
	}
	if s.Attempts <= 0 {
		s.Attempts = 5
	}
	if s.Pause <= 0 {
		s.Pause = time.Second
	}
	if s.Stall <= 0 {
		s.Stall = time.Minute
	}
	return s, nil
}

// Pulled is what a pull left.
type Pulled struct {
	Name     string `json:"name"`
	Folder   string `json:"folder"`
	Library  string `json:"library,omitempty"` // ONNX Runtime's
	Source   string `json:"source"`
	Revision string `json:"revision,omitempty"`
	Files    []File `json:"files"`
	Already  bool   `json:"already"` // it was there, as locked
	Locked   bool   `json:"locked"`  // just now, in the user's lock file
}

// Invalid is a request that can't be meant.
type Invalid struct{ Field, Value, Allowed string }

func (e *Invalid) Error() string {
	return fmt.Sprintf("%s is %q; allowed: %s", e.Field, e.Value, e.Allowed)
}

// Unlocked is the refusal to fetch what nobody vouches for.
type Unlocked struct{ Name, Source, Revision string }

func (e *Unlocked) Error() string {
	at := ""
	if e.Revision != "" {
		at = " at " + e.Revision
	}
	return fmt.Sprintf("%s of %s%s is in no lock, so nothing says what its files should be; Lock takes them as they come, and holds later pulls to that", e.Name, e.Source, at)
}

// Mismatch is a file that is not what the lock says.
type Mismatch struct{ Path, Got, Want string }

func (e *Mismatch) Error() string {
	return fmt.Sprintf("%s has the SHA-256 %s; the lock says %s", e.Path, e.Got, e.Want)
}

// Missing is a pull that could not be made, with what would have to be put where by hand.
type Missing struct {
	Name   string
	Files  []MissingFile
	Err    error  // what stood in the way
	ByHand string // what would do as well
}

// MissingFile is a file that is not there. A size of 0 or an empty hash is not known.
type MissingFile struct {
	File
	Address string
}

func (e *Missing) Unwrap() error { return e.Err }

func (e *Missing) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s was not pulled: %v\nMissing:\n", e.Name, e.Err)
	for _, f := range e.Files {
		fmt.Fprintf(&b, "  %s from %s", f.Path, f.Address)
		if f.Size > 0 {
			fmt.Fprintf(&b, ", %d bytes", f.Size)
		}
		if f.SHA256 != "" {
			fmt.Fprintf(&b, ", SHA-256 %s", f.SHA256)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "What came so far is kept, and the same call goes on from there. By hand: %s", e.ByHand)
	return b.String()
}

// checkName keeps a model's name from naming anything but a folder of its own.
func checkName(name string) error {
	if name == "" || name != path.Base(name) || !filepath.IsLocal(name) || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\:`) {
		return &Invalid{"name", name, "a name of letters, digits, dots and hyphens, which becomes the folder's"}
	}
	return nil
}

func checkAddress(field, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return &Invalid{field, address, "an address that begins with https:// or http://"}
	}
	return nil
}

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
