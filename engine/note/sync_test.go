package note_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/note"
	"github.com/mallardmem/mallard/engine/recall"
)

// write makes files of a folder, by their paths.
func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// sync gives what changed, and then what was refused.
func sync(t *testing.T, e *engine.Engine, r note.SyncRequest) string {
	t.Helper()
	s, err := e.SyncNotes(t.Context(), r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	said := fmt.Sprintf("added %v changed %v unchanged %d removed %v", s.Added, s.Changed, s.Unchanged, s.Removed)
	for _, x := range s.Refused {
		said += " refused " + x.Path + ": " + x.Why
	}
	return said
}

// places gives where the notes stand that answer a question.
func places(t *testing.T, e *engine.Engine, q recall.Query) (all []string) {
	t.Helper()
	if q.Kinds == nil {
		q.Kinds = []kinds.Kind{kinds.Note}
	}
	found, err := e.Recall(t.Context(), q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	for _, h := range found.Hits {
		all = append(all, fmt.Sprintf("%s:%d-%d", h.Path, h.FirstLine, h.LastLine))
	}
	return all
}

// TestGoClaw3GSync: MEMORY.md and memory/**/*.md; what is the same is passed over, what changed is read again, what is gone leaves.
func TestGoClaw3GSync(t *testing.T) {
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	folder := t.TempDir()
	write(t, folder, map[string]string{
		"MEMORY.md": "# Harbour\n\nThe blue crane is Teo's.\n", "memory/2026-05-01.md": "The ferry leaves at noon.\n", "memory/deep/er/tide.MARKDOWN": "Low tide at seven.\n",
		"memory/crane.txt": "The red crane.\n", "other.md": "A crane elsewhere.\n", "memory/.hidden.md": "A hidden crane.\n", "memory/.git/x.md": "crane\n", "memory/empty.md": "",
	})
	r := note.SyncRequest{Folder: folder}
	steps := []struct {
		do   func()
		want string
	}{
		{func() {}, "added [MEMORY.md memory/2026-05-01.md memory/deep/er/tide.MARKDOWN memory/empty.md] changed [] unchanged 0 removed []"},
		{func() {}, "added [] changed [] unchanged 4 removed []"},
		{func() { os.Chtimes(filepath.Join(folder, "MEMORY.md"), time.Now(), time.Now()) }, "added [] changed [] unchanged 4 removed []"},
		{func() { write(t, folder, map[string]string{"MEMORY.md": "The blue crane is sold.\n"}) }, "added [] changed [MEMORY.md] unchanged 3 removed []"},
		{func() { os.Remove(filepath.Join(folder, "memory", "2026-05-01.md")) }, "added [] changed [] unchanged 3 removed [memory/2026-05-01.md]"},
		{func() { r.Files = []string{"."} }, "added [other.md] changed [] unchanged 3 removed []"},
		{func() { r.Scope = "user:ines" }, "added [] changed [MEMORY.md memory/deep/er/tide.MARKDOWN memory/empty.md other.md] unchanged 0 removed []"},
		{func() { r.Files = []string{"other.md", "missing.md"} }, "added [] changed [] unchanged 1 removed [MEMORY.md memory/deep/er/tide.MARKDOWN memory/empty.md]"},
	}
	for i, step := range steps {
		step.do()
		if got := sync(t, e, r); got != step.want {
			t.Errorf("step %d: %s\nwant %s", i, got, step.want)
		}
		enginetest.Check(t, e)
	}
	if got := places(t, e, recall.Query{Text: "crane"}); cmp.Diff([]string{"other.md:1-1"}, got) != "" {
		t.Errorf("%v is left", got)
	}
}

// TestNotesAreFound: by Recall, Search and Grep, with path and lines, by kind, by scope, with and without the resident index.
func TestNotesAreFound(t *testing.T) {
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	folder, secret := t.TempDir(), t.TempDir()
	var lines []string
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("%s said on day %d that the harbour was calm", enginetest.Vocabulary[i%len(enginetest.Vocabulary)], i+1))
	}
	lines[49] = "The zebra crossed the pier with 100% of its stripes"
	write(t, folder, map[string]string{"MEMORY.md": strings.Join(lines, "\n"), "memory/a.md": "A short file about a gale"})
	write(t, secret, map[string]string{"MEMORY.md": "The zebra is secret"})
	sync(t, e, note.SyncRequest{Folder: folder})
	sync(t, e, note.SyncRequest{Folder: secret, Scope: "user:ines"})
	for _, alone := range []bool{true, false} {
		enginetest.Index(e).AskFile(alone)
		if !alone {
			if _, err := enginetest.Index(e).AwaitResident(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		found := places(t, e, recall.Query{Text: "zebra pier", Agent: "scout"})
		if len(found) == 0 || !strings.HasPrefix(found[0], "MEMORY.md:") {
			t.Fatalf("file alone %t: %v", alone, found)
		}
		if got := places(t, e, recall.Query{Text: "secret zebra", Scopes: []string{"user:ines"}}); cmp.Diff([]string{"MEMORY.md:1-1"}, got) != "" {
			t.Errorf("file alone %t: in a scope: %v", alone, got)
		}
		if got := places(t, e, recall.Query{Text: "zebra", Kinds: []kinds.Kind{kinds.Memory, kinds.Message}}); got != nil {
			t.Errorf("file alone %t: among memories: %v", alone, got)
		}
		for _, match := range []lookup.Match{lookup.ExactMatch, lookup.HybridMatch} {
			x, err := e.Search(t.Context(), lookup.SearchRequest{Text: "pier with 100%", Match: match, Kinds: []kinds.Kind{kinds.Note}, Said: lookup.Said{Agent: "scout"}})
			if err != nil || len(x.Hits) == 0 || x.Hits[0].Path != "MEMORY.md" || x.Hits[0].FirstLine > 50 || x.Hits[0].LastLine < 50 || !x.Hits[0].Verbatim {
				t.Errorf("%s: %+v, %v", match, x, err)
			}
		}
		g, err := e.Grep(t.Context(), lookup.GrepRequest{Pattern: "zebra", AllConversations: true, Kinds: []kinds.Kind{kinds.Note}, Agent: "scout"})
		if err != nil || len(g.Hits) != 1 || g.Hits[0].Path != "MEMORY.md" || g.Hits[0].Role != "" || !strings.Contains(g.Text(), "MEMORY.md:") {
			t.Errorf("grep: %+v, %v", g, err)
		}
	}
}

func TestGoClaw3GReadBack(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	folder, other := t.TempDir(), t.TempDir()
	var lines []string
	for i := range 300 {
		lines = append(lines, fmt.Sprintf("line %d of the file, as long as a line is in such a file", i+1))
	}
	lines[0], lines[149], lines[150], lines[299] = "", "", "\t", ""
	write(t, folder, map[string]string{"MEMORY.md": strings.Join(lines, "\n") + "\n", "secret.md": "not named", "memory/both.md": "here"})
	write(t, other, map[string]string{"memory/both.md": "there", "memory/ines.md": "hers"})
	sync(t, e, note.SyncRequest{Folder: folder})
	sync(t, e, note.SyncRequest{Folder: other, Scope: "user:ines"})
	for _, span := range [][2]int{{0, 0}, {1, 300}, {150, 151}, {20, 60}, {300, 0}, {299, 900}} {
		p, err := e.ReadNote(t.Context(), note.ReadRequest{Path: "MEMORY.md", FirstLine: span[0], LastLine: span[1]})
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Join(lines[p.FirstLine-1:p.LastLine], "\n"); p.Text != want || p.FirstLine != max(span[0], 1) {
			t.Errorf("%v: lines %d to %d: %q\nwant %q", span, p.FirstLine, p.LastLine, p.Text, want)
		}
	}
	for _, test := range []struct {
		r    note.ReadRequest
		want error
	}{
		{note.ReadRequest{Path: "secret.md"}, engine.ErrNotFound}, {note.ReadRequest{Path: "../MEMORY.md"}, engine.ErrNotFound}, {note.ReadRequest{Path: "/etc/passwd"}, engine.ErrNotFound},
		{note.ReadRequest{Path: "memory/../MEMORY.md"}, engine.ErrNotFound}, {note.ReadRequest{Path: "memory/both.md"}, engine.ErrAmbiguous},
		{note.ReadRequest{Path: "memory/ines.md", Agent: "scout"}, engine.ErrNotFound}, {note.ReadRequest{Path: ""}, engine.ErrInvalid},
		{note.ReadRequest{Path: "MEMORY.md", FirstLine: -1}, engine.ErrInvalid}, {note.ReadRequest{Path: "MEMORY.md", FirstLine: 9, LastLine: 8}, engine.ErrInvalid},
		{note.ReadRequest{Path: "MEMORY.md", FirstLine: 301}, engine.ErrInvalid}, {note.ReadRequest{Path: "x\xff"}, engine.ErrInvalid},
	} {
		if p, err := e.ReadNote(t.Context(), test.r); !errors.Is(err, test.want) {
			t.Errorf("%+v: %+v, %v, want %v", test.r, p, err, test.want)
		}
	}
	if p, err := e.ReadNote(t.Context(), note.ReadRequest{Path: "memory/both.md", Agent: "scout"}); err != nil || p.Text != "here" {
		t.Errorf("of two paths the one that the agent may read: %+v, %v", p, err)
	}
	os.RemoveAll(folder)
	if p, err := e.ReadNote(t.Context(), note.ReadRequest{Path: "MEMORY.md", FirstLine: 2, LastLine: 2}); err != nil || p.Text != lines[1] {
		t.Errorf("without the folder: %+v, %v", p, err)
	}
}

// TestHostileFiles: nothing outside the folder is read, and what can't be taken is refused by name while the rest goes on.
func TestHostileFiles(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	folder, outside := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"passwords.md": "the password is tuna", "more/x.md": "tuna"})
	write(t, folder, map[string]string{"MEMORY.md": "fine", "memory/broken.md": "a \xff b", "memory/nul.md": "a\x00b"})
	for link, to := range map[string]string{"memory/link.md": filepath.Join(outside, "passwords.md"), "memory/up.md": "../../" + filepath.Base(outside) + "/passwords.md",
		"memory/inside.md": "../MEMORY.md", "memory/folder": filepath.Join(outside, "more")} {
		if err := os.Symlink(to, filepath.Join(folder, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	big, err := os.Create(filepath.Join(folder, "memory", "big.md"))
	if err == nil {
		err = errors.Join(big.Truncate(100<<20), big.Close()) // a hole, which takes no room
	}
	if err != nil {
		t.Fatal(err)
	}
	want := "added [MEMORY.md] changed [] unchanged 0 removed []" +
		" refused memory/inside.md: it is a link; name the file that it leads to refused memory/link.md: it is a link; name the file that it leads to" +
		" refused memory/up.md: it is a link; name the file that it leads to" +
		" refused memory/big.md: it has 104857600 bytes; allowed: 4194304 refused memory/broken.md: it is no valid UTF-8 refused memory/nul.md: it has NUL bytes"
	if got := sync(t, e, note.SyncRequest{Folder: folder}); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := places(t, e, recall.Query{Text: "tuna password"}); got != nil {
		t.Errorf("found outside: %v", got)
	}
	for _, files := range [][]string{{"../" + filepath.Base(outside)}, {filepath.Join(outside, "passwords.md")}, {""}, {"memory/../../x"}} {
		if _, err := e.SyncNotes(t.Context(), note.SyncRequest{Folder: folder, Files: files}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("files %v: %v", files, err)
		}
	}
	got := sync(t, e, note.SyncRequest{Folder: folder, Files: []string{"memory/folder/x.md", "MEMORY.md"}})
	if !strings.HasPrefix(got, "added [] changed [] unchanged 1 removed []") || places(t, e, recall.Query{Text: "tuna"}) != nil {
		t.Errorf("through a linked folder: %s", got)
	}
	for _, test := range []struct {
		folder string
		want   error
	}{{"", engine.ErrInvalid}, {filepath.Join(folder, "none"), engine.ErrNotFound}, {filepath.Join(folder, "MEMORY.md"), engine.ErrInvalid}, {"a\x00", engine.ErrInvalid}} {
		if _, err := e.SyncNotes(t.Context(), note.SyncRequest{Folder: test.folder}); !errors.Is(err, test.want) {
			t.Errorf("folder %q: %v, want %v", test.folder, err, test.want)
		}
	}
	write(t, folder, map[string]string{"MEMORY.md": "no longer \xff fine"})
	if got := sync(t, e, note.SyncRequest{Folder: folder, Files: []string{"MEMORY.md"}}); !strings.Contains(got, "removed [MEMORY.md] refused MEMORY.md") {
		t.Errorf("what can't be read any more: %s", got)
	}
}

func TestNotesKeepToScopes(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	folder := t.TempDir()
	write(t, folder, map[string]string{"MEMORY.md": "hers"})
	sync(t, e, note.SyncRequest{Folder: folder, Scope: "user:ines"})
	if _, err := e.SyncNotes(t.Context(), note.SyncRequest{Folder: folder, Scope: "user:ines", Agent: "scout"}); !errors.Is(err, engine.ErrScopeDenied) {
		t.Errorf("into a scope that the agent may not use: %v", err)
	}
	if _, err := e.SyncNotes(t.Context(), note.SyncRequest{Folder: folder, Agent: "scout"}); !errors.Is(err, engine.ErrScopeDenied) {
		t.Errorf("out of a scope that the agent may not use: %v", err)
	}
	if all, err := e.NoteFiles(t.Context(), note.FilesRequest{Agent: "scout"}); err != nil || len(all) != 0 {
		t.Errorf("the agent is shown %+v, %v", all, err)
	}
	if _, err := e.ForgetNotes(t.Context(), note.ForgetRequest{Path: "MEMORY.md", Agent: "scout"}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("forgotten for another: %v", err)
	}
	if unused, err := e.UnusedScopes(t.Context(), []string{"user:ines", "user:teo"}); err != nil || cmp.Diff([]string{"user:teo"}, unused) != "" {
		t.Errorf("unused scopes: %v, %v", unused, err)
	}
	if all, err := e.NoteFiles(t.Context(), note.FilesRequest{Folder: folder}); err != nil || len(all) != 1 || all[0].Notes != 1 || all[0].Lines != 1 || all[0].Bytes != 4 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestForgottenNotesAreGone: with the words that nothing else has.
func TestForgottenNotesAreGone(t *testing.T) {
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	folder := t.TempDir()
	write(t, folder, map[string]string{"MEMORY.md": "the password is tuna", "memory/a.md": "the ferry", "memory/b.md": "the gale"})
	sync(t, e, note.SyncRequest{Folder: folder})
	for _, step := range []struct {
		r    note.ForgetRequest
		want int
	}{{note.ForgetRequest{Path: "MEMORY.md"}, 1}, {note.ForgetRequest{Folder: folder}, 2}} {
		if n, err := e.ForgetNotes(t.Context(), step.r); err != nil || n != step.want {
			t.Errorf("%+v: %d, %v", step.r, n, err)
		}
	}
	if got := places(t, e, recall.Query{Text: "tuna"}); got != nil {
		t.Errorf("found %v", got)
	}
	table, err := e.Query(t.Context(), "SELECT count(*) FROM surfaces WHERE surface = 'tuna'", 0)
	if err != nil || fmt.Sprint(table.Rows) != "[[0]]" {
		t.Errorf("the word is left: %v, %v", table, err)
	}
	if _, err := e.ForgetNotes(t.Context(), note.ForgetRequest{Folder: folder}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
	if got := sync(t, e, note.SyncRequest{Folder: folder}); !strings.HasPrefix(got, "added [MEMORY.md memory/a.md memory/b.md]") {
		t.Errorf("a sync: %s", got)
	}
}

// TestNotesOutliveTheIndex: made anew it has the same notes; after Close and Open they are there.
func TestNotesOutliveTheIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.db")
	e := enginetest.OpenAt(t, path, engine.Options{Embedder: enginetest.Words{}})
	folder := t.TempDir()
	write(t, folder, map[string]string{"MEMORY.md": strings.Repeat("the harbour was calm and the crane stood still\n", 100), "memory/b.md": "the ferry"})
	sync(t, e, note.SyncRequest{Folder: folder})
	q := recall.Query{Text: "crane in the harbour"}
	before := places(t, e, q)
	if len(before) < 2 {
		t.Fatalf("found %v", before)
	}
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{Vectors: true}); err != nil {
		t.Fatal(err)
	}
	enginetest.Check(t, e)
	if diff := cmp.Diff(before, places(t, e, q)); diff != "" {
		t.Errorf("made anew (-before +after):\n%s", diff)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = enginetest.OpenAt(t, path, engine.Options{Embedder: enginetest.Words{}})
	if diff := cmp.Diff(before, places(t, e, q)); diff != "" {
		t.Errorf("opened again (-before +after):\n%s", diff)
	}
	if got := sync(t, e, note.SyncRequest{Folder: folder}); got != "added [] changed [] unchanged 2 removed []" {
		t.Errorf("a sync: %s", got)
	}
}
