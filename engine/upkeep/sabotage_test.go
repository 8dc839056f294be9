package upkeep_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/note"
)

// sabotage breaks a file in one way.
type sabotage struct{ fault, statement, subject, left string }

// asBefore is what sabotage leaves where Doctor makes everything what it was.
const asBefore = "="

// sabotages reads a file of testdata: the name of a fault, and below it a line for every way to make it, whose fields are divided by tabs.
func sabotages(t *testing.T, name string) (all []sabotage) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	fault := ""
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		way, isWay := strings.CutPrefix(line, "\t")
		switch {
		case isWay:
			fields := append(strings.Split(way, "\t"), "", "")
			all = append(all, sabotage{fault, fields[0], fields[1], fields[2]})
		case !strings.HasPrefix(line, "#"):
			fault = line
		}
	}
	if len(all) < 40 {
		t.Fatalf("%s breaks a file in %d ways: the test does not find them", name, len(all))
	}
	return all
}

// ofMemories breaks the file of stockedFile.
func ofMemories(t *testing.T) []sabotage { return sabotages(t, "sabotage.txt") }

// ofTalk breaks the file of enginetest.TalkFile.
func ofTalk(t *testing.T) []sabotage { return sabotages(t, "sabotage_talk.txt") }

// together puts ways to break a file into groups of three at most, of which each file is broken at once. No two of a group make the same fault, and all leave
// the same. If the test is long, each is alone.
func together(ways []sabotage) (groups [][]sabotage) {
	for _, way := range ways {
		at := slices.IndexFunc(groups, func(group []sabotage) bool {
			return len(group) < 3 && group[0].left == way.left && !enginetest.Long("doctor") &&
				!slices.ContainsFunc(group, func(other sabotage) bool { return other.fault == way.fault })
		})
		if at < 0 {
			groups = append(groups, nil)
			at = len(groups) - 1
		}
		groups[at] = append(groups[at], way)
	}
	return groups
}

// statements are those of some ways to break a file.
func statements(ways []sabotage, names *strings.Replacer) (all []string) {
	for _, way := range ways {
		all = append(all, names.Replace(way.statement))
	}
	return all
}

// stockedFile gives a file with memories and messages, and the names that statements have for what is in it.
func stockedFile(t *testing.T) (whole []byte, names *strings.Replacer) {
	t.Helper()
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	ids := enginetest.Stock(t, e)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "MEMORY.md"), []byte("what a host wrote down\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := e.SyncNotes(t.Context(), note.SyncRequest{Folder: folder}); err != nil {
		t.Fatal(err)
	}
	no := fmt.Sprint(enginetest.Rows(t, e, "SELECT doc_no FROM memories WHERE id = '"+ids[0]+"'")[0][0])
	past := fmt.Sprint(enginetest.Rows(t, e, "SELECT doc_no FROM memory_versions WHERE id = '"+ids[0]+"'")[0][0])
	enginetest.CloseFile(t, e)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return whole, strings.NewReplacer("{id}", ids[0], "{no}", no, "{past}", past)
}
