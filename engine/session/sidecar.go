package session

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// facts takes what files beside a transcript say about its conversation: the indexes of OpenClaw and Takobot the session key, Codex's the title, openboa's session the one that started it. A
// file that is absent or can't be read says nothing.
func (t *Transcript) facts(path string) {
	if t.Own >= len(t.Threads) {
		return
	}
	v := &t.Threads[t.Own]
	switch t.Host {
	case OpenClaw:
		v.Key = or(openClawKey(filepath.Join(filepath.Dir(path), "sessions.json"), v.ID, filepath.Base(path)), v.Key)
	case Takobot:
		if v.Key == takobotKey(v.ID) { // the header is gone
			v.Key = or(takobotIndexed(filepath.Join(filepath.Dir(filepath.Dir(path)), "sessions.json"), v.ID), v.Key)
		}
	case Openboa:
		v.Parent = or(boaParent(filepath.Join(filepath.Dir(path), "session.json"), v.ID), v.Parent)
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

// takobotIndexed gives the key of the conversation that a session is in, or "".
func takobotIndexed(index, session string) string {
	b, err := os.ReadFile(index)
	if err != nil {
		return ""
	}
	var all struct {
		Sessions map[string]struct {
			ID text `json:"session_id"`
		} `json:"sessions"`
	}
	if decode(b, &all) != nil {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(all.Sessions)) {
		if string(all.Sessions[key].ID) == session {
			return takobotKey(storable(key))
		}
	}
	return ""
}

// boaParent gives the session that started another one, or "".
func boaParent(beside, session string) string {
	b, err := os.ReadFile(beside)
	if err != nil {
		return ""
	}
	var v struct {
		ID       text `json:"id"`
		Metadata struct {
			Parent text `json:"parentSessionId"`
		} `json:"metadata"`
	}
	if decode(b, &v) != nil || string(v.ID) != session {
		return ""
	}
	return string(v.Metadata.Parent)
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
