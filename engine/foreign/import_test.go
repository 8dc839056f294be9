package foreign_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/foreign"
)

// TestHostIsLeftAlone: the files of a host that runs are what they were, byte for byte and with their times, and nothing comes to them; what the host committed but has only in its log
// is read.
func TestHostIsLeftAlone(t *testing.T) {
	e, h := open(t), goClaw(t, 6)
	h.do(t, "PRAGMA wal_autocheckpoint = 0")
	h.says(t, "1", 0, "user", "only in the log")
	files := func() (all []string) {
		entries, err := os.ReadDir(filepath.Dir(h.path))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			b, err := os.ReadFile(filepath.Join(filepath.Dir(h.path), entry.Name()))
			if err != nil {
				t.Fatal(err)
			}
			info, err := entry.Info()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fmt.Sprintf("%s %x %s", entry.Name(), sha256.Sum256(b), info.ModTime()))
		}
		return all
	}
	before := files()
	if len(before) < 2 {
		t.Fatalf("there is no log: %q", before)
	}
	if f := h.read(t, e); f.Messages != 1 {
		t.Errorf("%+v", f)
	}
	same(t, before, files())
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "mallard-import-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if err := h.Close(); err != nil { // the host stops, and takes its log into the database
		t.Fatal(err)
	}
	if f := h.read(t, e); f.Messages != 0 {
		t.Errorf("%+v", f)
	}
}

// TestHostWrites: while a host writes as fast as it can, every import is of a state that there was: rows come in pairs.
func TestHostWrites(t *testing.T) {
	e, h := open(t), goClaw(t, 6)
	h.do(t, "PRAGMA wal_autocheckpoint = 4")
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			_, err := h.Exec(`INSERT INTO messages (id, session_key, timestamp, role, content) VALUES (?, 'primary', ?, 'user', 'a'), (?, 'primary', ?, 'assistant', 'b')`, fmt.Sprint(i, "a"), began+i, fmt.Sprint(i, "b"), began+i)
			if err != nil {
				done <- err
				return
			}
		}
	}()
	for range 5 {
		report, err := foreign.Import(t.Context(), e, foreign.Request{Paths: []string{h.path}, Driver: "sqlite"})
		if err != nil {
			t.Fatal(err)
		}
		if f := report.Files[0]; f.Error != "" && !strings.Contains(f.Error, "changed while it was copied") {
			t.Error(f.Error)
		}
		if n := rows(t, e, "SELECT count(*) FILTER (role = 'user') - count(*) FILTER (role = 'assistant') FROM main.messages"); n[0][0] != "0" {
			t.Errorf("%s of a pair are missing", n[0][0])
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	h.read(t, e)
	var want int
	if err := h.QueryRow("SELECT count(*) FROM messages").Scan(&want); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, e, "SELECT count(*) FROM main.messages"); n[0][0] != fmt.Sprint(want) {
		t.Errorf("%s messages of %d", n[0][0], want)
	}
}

// TestKilled: an import that ends in the midst is made up for by the next one.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.db")
	h := goClaw(t, 6)
	h.insert(t, "sessions", "key", "other", "id", "sess-2")
	for i := range 50 {
		h.says(t, fmt.Sprint(i), i, []string{"user", "assistant"}[i%2], fmt.Sprint("turn ", i))
		h.insert(t, "messages", "id", fmt.Sprint("o", i), "session_key", "other", "timestamp", began+i, "role", "user", "content", "x")
	}
	e := enginetest.OpenAt(t, path, engine.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := foreign.Import(ctx, e, foreign.Request{Paths: []string{h.path}, Driver: "sqlite", Progress: func(int) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	first := rows(t, e, "SELECT count(*) FROM main.messages")
	if first[0][0] != "50" {
		t.Errorf("%s messages before the end", first[0][0])
	}
	if f := h.read(t, e); f.Messages != 50 || f.Known != 50 {
		t.Errorf("%+v", f)
	}
	if f := h.read(t, e); !f.Unchanged {
		t.Errorf("%+v", f)
	}
}

// TestHostile: values of the wrong types, nulls, bytes that are no text, huge contents and parents in a circle make nothing else unreadable.
func TestHostile(t *testing.T) {
	e, h := open(t), goClaw(t, 6)
	for i, values := range [][]any{
		{"a", "not a time", "user", "no time"}, {"b", 1e300, "user", "a time beyond all"}, {"c", began, "user", []byte{0xff, 0xfe, 'x'}}, {"d", began, 7, "a role that is a number"},
		{"e", began, nil, nil}, {"f", began, "user", "a\x00b"}, {"g", began, "assistant", 3.5}, {"h", -5, "tool_result", nil}, {"i", "2026-03-01T00:00:00Z", "tool_use", nil},
		{"j", began, "user", strings.Repeat("huge ", 1<<20)}, {nil, began, "user", "no id"}, {"", began, "user", "an empty id"},
	} {
		h.insert(t, "messages", "id", values[0], "session_key", "primary", "parent_id", "abc"[i%3:i%3+1], "timestamp", values[1], "role", values[2], "content", values[3],
			"tool_input", "{broken", "input_tokens", "many", "output_tokens", -7, "tool_is_error", "TRUE", "source", "Ünïcode source!", "raw_json", `{"content":{"type":7}}`)
	}
	h.insert(t, "compactions", "id", nil, "session_key", "primary", "timestamp", nil, "summary", nil, "first_kept_entry_id", nil)
	h.insert(t, "compactions", "id", "x", "session_key", "primary", "timestamp", "soon", "summary", []byte{0xff}, "first_kept_entry_id", 7)
	h.insert(t, "checkpoints", "id", "x", "session_key", "primary", "timestamp", nil, "summary", "s", "topics", "{not a list")
	h.insert(t, "sessions", "key", nil, "id", "n")
	f := h.read(t, e)
	if f.LeftOut["messages without an id"] != 2 || f.LeftOut["sessions without a key"] != 1 {
		t.Errorf("%+v", f)
	}
	if n := rows(t, e, "SELECT count(*) FROM main.messages WHERE caller_key SIMILAR TO 'goclaw:[a-j]'"); n[0][0] != "10" {
		t.Errorf("%s messages\n%s", n[0][0], strings.Join(heard(t, e, "goclaw:primary"), "\n"))
	}
	if f := h.read(t, e); !f.Unchanged {
		t.Errorf("again: %+v", f)
	}
}

// TestRefused: what is no database, or of no host that is known, or damaged, is reported, and others go on.
func TestRefused(t *testing.T) {
	e, good := open(t), goClaw(t, 6)
	good.says(t, "1", 0, "user", "hello")
	other := made(t, "CREATE TABLE notes (text TEXT)")
	folder := t.TempDir()
	text, cut := filepath.Join(folder, "notes.txt"), filepath.Join(folder, "cut.db")
	if err := os.WriteFile(text, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, append([]byte("SQLite format 3\x00"), make([]byte, 60)...), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := foreign.Import(t.Context(), e, foreign.Request{Paths: []string{text, cut, other.path, filepath.Join(folder, "missing.db"), folder, good.path}, Driver: "sqlite"})
	if err != nil {
		t.Fatal(err)
	}
	for i, says := range []string{"no database of SQLite", "tables are not those", "tables are not those of goclaw or istota", "no such file", "no database of SQLite", ""} {
		if got := report.Files[i].Error; says == "" && got != "" || !strings.Contains(got, says) {
			t.Errorf("%s: %q; want %q", report.Files[i].Path, got, says)
		}
	}
	if report.Failed != 5 || report.Messages != 1 {
		t.Errorf("%+v", report)
	}
	report, err = foreign.Import(t.Context(), e, foreign.Request{Paths: []string{good.path}, Driver: "sqlite", Host: foreign.Istota})
	if err != nil || !strings.Contains(report.Files[0].Error, "of istota: it is one of goclaw") {
		t.Errorf("%+v, %v", report, err)
	}
	for name, r := range map[string]foreign.Request{"host": {Paths: []string{"x"}, Host: "nobody"}, "paths": {}} {
		if _, err := foreign.Import(t.Context(), e, r); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, r := range map[string]foreign.Request{"driver": {Driver: "nobody"}, "extension": {Extension: text}} {
		r.Paths = []string{other.path}
		report, err := foreign.Import(t.Context(), e, r)
		if err != nil || !strings.Contains(report.Files[0].Error, name+" is") {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
}

// TestRedact: keys and tokens are masked before anything is stored, in what was said, in the tools' input and in the row that is kept.
func TestRedact(t *testing.T) {
	e, h := open(t), goClaw(t, 6)
	const secret = "sk-abcdefghijklmnopqrstuvwx"
	h.says(t, "1", 0, "user", "my key is "+secret)
	h.says(t, "2", 1, "tool_use", "", "tool_name", "call", "tool_input", `{"api_key":"hunter2","with":"`+secret+`"}`)
	read(t, e, foreign.Request{Paths: []string{h.path}, Redact: true})
	for _, table := range []string{"messages", "parts"} {
		for _, column := range []string{"text", "raw"} {
			if left := rows(t, e, "SELECT "+column+" FROM main."+table+" WHERE "+column+"::VARCHAR LIKE '%abcdefghij%' OR "+column+"::VARCHAR LIKE '%hunter2%'"); len(left) > 0 {
				t.Errorf("%s.%s: %q", table, column, left)
			}
		}
	}
	if left := rows(t, e, "SELECT input FROM main.parts WHERE input LIKE '%hunter2%' OR input LIKE '%abcdefghij%'"); len(left) > 0 {
		t.Errorf("%q", left)
	}
}

// TestScope: the conversations are in the scope that is asked for.
func TestScope(t *testing.T) {
	e, h := open(t), istota(t)
	h.task(t, 1, "09:00:00", "completed", "p", "r")
	read(t, e, foreign.Request{Paths: []string{h.path}, Scope: "user:ines"})
	same(t, [][]string{{"user:ines"}}, rows(t, e, "SELECT scope FROM main.conversations"))
}

// TestScopeOfASessionKey: a session whose key names an agent is that agent's own, unless another scope is asked for, and stays where it is when it is read again.
func TestScopeOfASessionKey(t *testing.T) {
	for asked, want := range map[string]string{"": "agent:main", "user:ines": "user:ines"} {
		e, h := open(t), goClaw(t, len(goClawSchema))
		for i := range 2 {
			h.insert(t, "messages", "id", fmt.Sprint("1_", i), "session_key", "agent:main:telegram:7", "timestamp", began+i, "role", "user", "content", fmt.Sprint("word ", i))
			read(t, e, foreign.Request{Paths: []string{h.path}, Scope: asked})
			same(t, [][]string{{"goclaw:agent:main:telegram:7", want}}, rows(t, e, "SELECT session_key, scope FROM main.conversations"))
		}
		if read := rows(t, e, "SELECT count(*) FROM main.messages"); read[0][0] != "2" {
			t.Errorf("messages %v", read)
		}
	}
}

// TestExtension: DuckDB's sqlite extension reads what the driver reads, of both hosts. It needs the extension's file in MEMCTL_SQLITE.
func TestExtension(t *testing.T) {
	extension := os.Getenv("MEMCTL_SQLITE")
	if extension == "" {
		t.Skip("MEMCTL_SQLITE names no file of DuckDB's sqlite extension")
	}
	claw, room := goClaw(t, 6), istota(t)
	for i := range 30 {
		claw.says(t, fmt.Sprint(99-i), i/4, []string{"user", "assistant"}[i%2], fmt.Sprint("turn ", i))
		room.task(t, i+1, fmt.Sprintf("09:%02d:00", i), "completed", fmt.Sprint("p", i), fmt.Sprint("r", i), "reply_to_talk_id", i)
		room.chat(t, i+1, fmt.Sprint("chat ", i), "")
	}
	claw.says(t, "odd", 50, "user", "a number for a time", "input_tokens", "many")
	for key, h := range map[string]host{"goclaw:primary": claw, "istota:R": room} {
		byDriver, byExtension := open(t), open(t)
		a, b := h.read(t, byDriver), read(t, byExtension, foreign.Request{Paths: []string{h.path}, Extension: extension})
		same(t, heard(t, byDriver, key), heard(t, byExtension, key))
		if a.Messages != b.Messages || a.Messages < 31 || !slices.Equal(slices.Sorted(maps.Keys(a.Read)), slices.Sorted(maps.Keys(b.Read))) {
			t.Errorf("%+v\n%+v", a, b)
		}
	}
}

// TestPurged: what was read stays read, also when its conversation was removed since; what comes later begins another one.
func TestPurged(t *testing.T) {
	e, h := open(t), goClaw(t, 6)
	h.says(t, "1", 0, "user", "to be removed")
	h.insert(t, "compactions", "id", "k", "session_key", "primary", "timestamp", began+1, "summary", "of what is removed", "first_kept_entry_id", "1")
	h.read(t, e)
	if _, err := e.PurgeConversation(t.Context(), "goclaw:primary", ""); err != nil {
		t.Fatal(err)
	}
	h.says(t, "2", 60, "user", "later")
	if f := h.read(t, e); f.Messages != 1 || f.LeftOut["rows of a conversation that was purged"] != 2 || f.IngestedAt.IsZero() {
		t.Errorf("%+v", f)
	}
	same(t, []string{"user goclaw:2 later"}, heard(t, e, "goclaw:primary"))
}
