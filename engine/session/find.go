package session

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Find gives the folders that a host keeps its transcripts in, those that exist: CLAUDE_CONFIG_DIR or ~/.claude, CODEX_HOME or
// ~/.codex, ~/.openclaw. Errors: fs.ErrNotExist, when there is none.
func Find(host Host) ([]string, error) {
	var patterns []string
	switch host {
	case Claude:
		patterns = []string{filepath.Join(hostFolder("CLAUDE_CONFIG_DIR", ".claude"), "projects")}
	case Codex:
		root := hostFolder("CODEX_HOME", ".codex")
		patterns = []string{filepath.Join(root, "sessions"), filepath.Join(root, "archived_sessions")}
	case OpenClaw:
		patterns = []string{filepath.Join(hostFolder("", ".openclaw"), "agents", "*", "sessions")}
	default:
		return nil, fmt.Errorf("find transcripts: host is %q; allowed: %s, %s, %s", string(host), Claude, Codex, OpenClaw)
	}
	var folders []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("find transcripts: %w", err)
		}
		folders = append(folders, found...)
	}
	if len(folders) == 0 {
		return nil, fmt.Errorf("find transcripts: %w: no folder %s", fs.ErrNotExist, strings.Join(patterns, " or "))
	}
	return folders, nil
}

// hostFolder is what an environment variable says, or a folder in the user's home.
func hostFolder(variable, name string) string {
	if folder := os.Getenv(variable); variable != "" && folder != "" {
		return folder
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return name
	}
	return filepath.Join(home, name)
}

// found is a file that may be a transcript.
type found struct {
	path   string
	named  bool // by the caller: it has to be one
	agent  bool // a sub-agent's, which comes after its session
	begins string
	size   int64
	err    error // why it can't be read, or the folder that it is
}

func foundAt(path string, named bool, info fs.FileInfo) found {
	if !info.Mode().IsRegular() { // to open a pipe would be to wait for its writer
		return found{path: path, named: named, err: fmt.Errorf("%w: it is no regular file", ErrNotTranscript)}
	}
	return found{path: path, named: named, agent: strings.HasPrefix(filepath.Base(path), "agent-"), begins: beginning(path), size: info.Size()}
}

// filesOf lists the files that paths name and those in folders, each once: sessions before their sub-agents, and older before
// newer ones, so that what a transcript was copied from comes first. A folder below that can't be read is listed with its error.
func filesOf(paths []string) (files []found, err error) {
	seen := map[string]bool{}
	add := func(path string, named bool) {
		if seen[path] {
			return
		}
		seen[path] = true
		info, err := os.Stat(path)
		switch {
		case err == nil:
			files = append(files, foundAt(path, named, info))
		case named || !errors.Is(err, fs.ErrNotExist): // else it is gone again, or was a link to nowhere
			files = append(files, found{path: path, named: named, err: err})
		}
	}
	for _, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			add(path, true)
			continue
		}
		err = filepath.WalkDir(within(path), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				files = append(files, found{path: filepath.Clean(path), err: err})
			case err == nil && !d.IsDir() && maybeTranscript(path):
				add(path, false)
			}
			if err != nil {
				return fs.SkipDir
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	inOrder(files)
	return files, nil
}

// within is a folder as WalkDir enters it where its name is a link.
func within(folder string) string { return folder + string(filepath.Separator) }

// inOrder puts sessions before their sub-agents, and older before newer ones.
func inOrder(files []found) {
	slices.SortStableFunc(files, func(a, b found) int {
		if a.agent != b.agent {
			if a.agent {
				return 1
			}
			return -1
		}
		return cmp.Or(strings.Compare(a.begins, b.begins), strings.Compare(a.path, b.path))
	})
}

// maybeTranscript reports whether a file in a host's folder may be a transcript, by its name.
func maybeTranscript(path string) bool {
	name := filepath.Base(path)
	return filepath.Ext(strings.TrimSuffix(name, ".zst")) == ".jsonl" && name != "history.jsonl" && name != "session_index.jsonl" && name != "journal.jsonl"
}

var firstTime = regexp.MustCompile(`"(?:timestamp|created_at|createdAt)"\s*:\s*"([^"]{10,40})"`)

// beginning is the first time that a file tells, as it is written there; empty: none near its begin.
func beginning(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	var content io.Reader = f
	if compressed(path) {
		d, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return ""
		}
		defer d.Close()
		content = d
	}
	head, err := io.ReadAll(io.LimitReader(content, 1<<14))
	if m := firstTime.FindSubmatch(head); err == nil && m != nil {
		return string(m[1])
	}
	return ""
}
