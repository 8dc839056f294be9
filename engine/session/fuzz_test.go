package session_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/session"
)

func FuzzClaude(f *testing.F)   { fuzz(f, session.Claude) }
func FuzzCodex(f *testing.F)    { fuzz(f, session.Codex) }
func FuzzOpenClaw(f *testing.F) { fuzz(f, session.OpenClaw) }
func FuzzTakobot(f *testing.F)  { fuzz(f, session.Takobot) }
func FuzzOpenboa(f *testing.F)  { fuzz(f, session.Openboa) }
func FuzzPlain(f *testing.F)    { fuzz(f, session.Plain) }

// fuzz reads anything as a transcript of a host, whole and in two halves: no line is lost or counted twice, every message has a key
// of its own and can be stored, and the halves say what the whole does.
func fuzz(f *testing.F, host session.Host) {
	for _, path := range files(f) {
		f.Add(read(f, path), 300)
		for l := range strings.Lines(read(f, path)) {
			f.Add(l, len(l)/2)
		}
		list := "[" + strings.Join(strings.Split(strings.TrimSpace(read(f, path)), "\n"), ",\n ") + "]"
		f.Add(list, len(list)/3)
	}
	f.Fuzz(func(t *testing.T, content string, cut int) {
		if _, err := session.Detect(context.Background(), strings.NewReader(content), int64(len(content))); err != nil && err.Error() == "" {
			t.Error("an error that says nothing")
		}
		whole := keysOf(t, host, content, len(content))
		if cut = max(0, min(cut, len(content))); strings.Count(content, "\n") > 40 {
			return
		}
		pieces := keysOf(t, host, content, cut, len(content))
		for key := range whole {
			if !pieces[key] {
				t.Errorf("%q is not there in pieces", key)
			}
		}
	})
}

// keysOf reads a transcript up to each of some offsets and gives the keys of its messages and blocks.
func keysOf(t *testing.T, host session.Host, content string, ends ...int) map[string]bool {
	tr, err := session.Open(strings.NewReader(content), host, filepath.Join("folder", "file.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for _, end := range ends {
		if err := tr.Read(context.Background(), int64(end)); err != nil {
			t.Fatal(err)
		}
		if tr.Bytes+tr.Pending > int64(end) {
			t.Fatalf("read %d and %d bytes of %d", tr.Bytes, tr.Pending, end)
		}
		if err := tr.Bootstrap(100, func(conversation.Message) int { return 10 }); err != nil {
			t.Fatal(err)
		}
		for r, err := range tr.Records(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Key == "" || r.Thread >= len(tr.Threads) || tr.Threads[r.Thread].Key == "" {
				t.Fatalf("a record without a key or a thread: %+v", r)
			}
			blocks := r.Blocks
			if m := r.Message; m != nil {
				storable(t, m.Key, m.Role, m.Text, m.Session, m.Speaker)
				if len(m.Raw) > 0 && !json.Valid(m.Raw) {
					t.Errorf("raw is not the line: %q", m.Raw)
				}
				blocks = m.Blocks
				keys[m.Key] = true
			}
			for _, b := range blocks {
				storable(t, string(b.Type), b.CallID, b.Tool, b.FileName, b.MIME, b.Key)
				if strings.TrimSpace(string(b.Type)) == "" {
					t.Errorf("a block of no type: %+v", b)
				}
				if b.Key != "" {
					keys[b.Key] = true
				}
			}
		}
	}
	return keys
}

// storable fails for a text that no file holds.
func storable(t *testing.T, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			t.Errorf("%q can't be stored", s)
		}
	}
}

// FuzzRedactJSON: masked JSON is JSON still, and masking again changes nothing that a host could tell.
func FuzzRedactJSON(f *testing.F) {
	for _, path := range files(f) {
		f.Add(read(f, path))
	}
	f.Add(`{"password":"hunter2","b":["sk-aaaaaaaaaaaaaaaaaaaaaaaa"]}`)
	f.Fuzz(func(t *testing.T, s string) {
		masked := session.RedactJSON([]byte(s))
		if json.Valid([]byte(s)) != json.Valid(masked) && json.Valid([]byte(s)) {
			t.Errorf("%q became %q", s, masked)
		}
	})
}
