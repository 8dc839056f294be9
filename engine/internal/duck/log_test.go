package duck_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// logBytes is how long the log beside a file is.
func logBytes(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + ".wal")
	if os.IsNotExist(err) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// within waits until something has come to pass.
func within(t testing.TB, d time.Duration, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(d); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", d, what)
		}
	}
}

// TestLog: single writes go to the log alone; it is taken into the file when nobody writes for a while, and nothing stays beside a closed file.
func TestLog(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Say(t, e, "talk", enginetest.Times(500, 40)...)
	within(t, time.Minute, "an idle engine takes the log into the file", func() bool { return logBytes(t, path) == 0 })
	enginetest.Say(t, e, "talk", enginetest.Times(1, 40)...)
	short := logBytes(t, path)
	if short == 0 {
		t.Error("a single message is not in the log")
	}
	killed := enginetest.KilledCopy(t, e)
	enginetest.CloseFile(t, e)
	enginetest.Equal(t, "files beside a closed one", []string{path}, enginetest.FilesIn(t, filepath.Dir(path)))
	other := enginetest.OpenFile(t, killed, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Check(t, other)
	enginetest.Equal(t, "messages after a kill", int64(501), enginetest.Rows(t, other, "SELECT count(*) FROM messages")[0][0].(int64))
}

// TestLogOfBulk: many messages at once are written one batch after the other without a checkpoint for each; a process that is killed then
// has lost nothing.
func TestLogOfBulk(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	const long = 4 << 20 // of single writes
	for from := 0; logBytes(t, path) <= long+long/2; from += 500 {
		if from > 40_000 {
			t.Fatalf("the log is %d bytes long after %d messages", logBytes(t, path), from)
		}
		enginetest.Say(t, e, "talk", enginetest.Times(500, 40)...)
	}
	stored := enginetest.Rows(t, e, "SELECT count(*) FROM messages")[0][0]
	killed := enginetest.KilledCopy(t, e)
	other := enginetest.OpenFile(t, killed, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Check(t, other)
	enginetest.Equal(t, "messages after a kill", stored, enginetest.Rows(t, other, "SELECT count(*) FROM messages")[0][0])
}
