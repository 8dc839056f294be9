package session

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// facts takes what files beside a transcript say about its conversation: OpenClaw's index the session key, Codex's the title. A
// file that is absent or can't be read says nothing.
func (t *Transcript) facts(path string) {
	if t.Own >= len(t.Threads) {
		return
	}
	v := &t.Threads[t.Own]
	switch t.Host {
	case OpenClaw:
		v.Key = or(openClawKey(filepath.Join(filepath.Dir(path), "sessions.json"), v.ID, filepath.Base(path)), v.Key)
	case Codex:
		for folder := filepath.Dir(path); ; folder = filepath.Dir(folder) {
			if name := filepath.Base(folder); name == "sessions" || name == "archived_sessions" {
				v.Title = or(codexTitle(filepath.Join(filepath.Dir(folder), "session_index.jsonl"), v.ID), v.Title)
				return
			}
			if filepath.Dir(folder) == folder {
				return
			}
		}
	}
}

// openClawKey gives the key of a session in the index, or "".
func openClawKey(index, session, file string) string {
	b, err := os.ReadFile(index)
	if err != nil {
		return ""
	}
	var entries map[string]struct {
		ID   text `json:"sessionId"`
		File text `json:"sessionFile"`
	}
	if decode(b, &entries) != nil {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if e := entries[key]; string(e.ID) == session || e.File != "" && filepath.Base(string(e.File)) == file {
			return strings.TrimSpace(storable(key))
		}
	}
	return ""
}

// codexTitle gives the newest title of a session in the index, or "".
func codexTitle(index, session string) (title string) {
	b, err := os.ReadFile(index)
	if err != nil {
		return ""
	}
	for l := range strings.Lines(string(b)) {
		var entry struct {
			ID   text `json:"id"`
			Name text `json:"thread_name"`
		}
		if json.Unmarshal([]byte(l), &entry) == nil && string(entry.ID) == session && entry.Name != "" {
			title = string(entry.Name)
		}
	}
	return title
}
