package engine_test

import (
	"os"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// TestLogOfBulk: many messages at once are written one batch after the other without a checkpoint for each; the next single one brings the log
// back to its usual length; and a process that is killed before that has lost nothing.
func TestLogOfBulk(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	e := openFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	log := func() int64 {
		info, err := os.Stat(path + ".wal")
		if os.IsNotExist(err) {
			return 0
		}
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	const usual = 2 << 20
	for from := 0; log() <= usual+usual/2; from += 500 {
		if from > 20_000 {
			t.Fatalf("the log is %d bytes long after %d messages", log(), from)
		}
		said(t, e, "talk", times(500, 40)...)
	}
	stored := rowsOf(t, e, "SELECT count(*) FROM messages")[0][0]
	killed := copied(t, path)
	content, err := os.ReadFile(path + ".wal")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(killed+".wal", content, 0o600); err != nil {
		t.Fatal(err)
	}
	said(t, e, "talk", times(1, 40)...)
	if n := log(); n > usual {
		t.Errorf("after a single message the log is %d bytes long", n)
	}
	other := openFile(t, killed, engine.Options{Embedder: enginetest.Words{}})
	intact(t, other)
	equal(t, "messages after a kill", stored, rowsOf(t, other, "SELECT count(*) FROM messages")[0][0])
}
