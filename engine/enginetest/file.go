package enginetest

import (
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine"
)

// CopyFile is a copy of a closed file.
func CopyFile(t *testing.T, original string) string {
	t.Helper()
	content, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	path := NewFile(t)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// NewFile is a path in a folder of its own.
func NewFile(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "mallard.db")
}

// OpenFile opens a file that the test closes itself.
func OpenFile(t testing.TB, path string, o engine.Options) *engine.Engine {
	t.Helper()
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) && path != ":memory:" {
		begin(t, path, o)
	}
	e, err := engine.Open(context.Background(), path, Thrifty(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// CloseFile closes an engine and wants no error of it.
func CloseFile(t testing.TB, e *engine.Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// PlainDuckDB opens a file as any other program would, with the options of a data source name such as "access_mode=read_only". One thread is enough for
// files as small as those of tests.
func PlainDuckDB(t testing.TB, path, options string) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", path+"?threads=1&"+options)
	if err == nil {
		err = db.Ping()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// Tamper runs statements on a closed file, behind the engine's back.
func Tamper(t testing.TB, path string, statements ...string) {
	t.Helper()
	db := PlainDuckDB(t, path, "")
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// KilledCopy is the file with its log as a kill would leave them now.
func KilledCopy(t *testing.T, e *engine.Engine) (killed string) {
	t.Helper()
	Still(e, func() { killed = CopyWithLog(t, e.Path()) })
	return killed
}

// CopyWithLog is a copy of a file and of what lies beside it as it is now.
func CopyWithLog(t *testing.T, path string) string {
	t.Helper()
	killed := CopyFile(t, path)
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

// Unpack writes what a gzip file of testdata holds to a path.
func Unpack(t *testing.T, name, path string) {
	t.Helper()
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// FilesIn gives the paths of all that is in a folder.
func FilesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, filepath.Join(dir, entry.Name()))
	}
	return names
}
