package engine_test

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

// killedCopy is the file with its log as a kill would leave them now.
func killedCopy(t *testing.T, e *engine.Engine) (killed string) {
	t.Helper()
	e.Still(func() { killed = copiedWithLog(t, e.Path()) })
	return killed
}

func copiedWithLog(t *testing.T, path string) string {
	t.Helper()
	killed := copied(t, path)
	for _, suffix := range []string{".wal", ".synced"} {
		content, err := os.ReadFile(path + suffix)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(killed+suffix, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return killed
}

// TestLog: single writes go to the log alone; it is taken into the file when nobody writes for a while, and nothing stays beside a closed file.
func TestLog(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	e := openFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	said(t, e, "talk", times(500, 40)...)
	within(t, time.Minute, "an idle engine takes the log into the file", func() bool { return logBytes(t, path) == 0 })
	said(t, e, "talk", times(1, 40)...)
	short := logBytes(t, path)
	if short == 0 {
		t.Error("a single message is not in the log")
	}
	killed := killedCopy(t, e)
	closeFile(t, e)
	equal(t, "files beside a closed one", []string{path}, filesIn(t, filepath.Dir(path)))
	other := openFile(t, killed, engine.Options{Embedder: enginetest.Words{}})
	intact(t, other)
	equal(t, "messages after a kill", int64(501), rowsOf(t, other, "SELECT count(*) FROM messages")[0][0].(int64))
}

// TestLogOfBulk: many messages at once are written one batch after the other without a checkpoint for each; a process that is killed then
// has lost nothing.
func TestLogOfBulk(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	e := openFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	const long = 4 << 20 // of single writes
	for from := 0; logBytes(t, path) <= long+long/2; from += 500 {
		if from > 40_000 {
			t.Fatalf("the log is %d bytes long after %d messages", logBytes(t, path), from)
		}
		said(t, e, "talk", times(500, 40)...)
	}
	stored := rowsOf(t, e, "SELECT count(*) FROM messages")[0][0]
	killed := killedCopy(t, e)
	other := openFile(t, killed, engine.Options{Embedder: enginetest.Words{}})
	intact(t, other)
	equal(t, "messages after a kill", stored, rowsOf(t, other, "SELECT count(*) FROM messages")[0][0])
}
