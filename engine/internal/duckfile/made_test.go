package duckfile_test

import (
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
)

// made is a file of DuckDB that a test writes to.
type made struct {
	t    *testing.T
	path string
	db   *sql.DB
}

// create makes a file with a table, of the storage version that has an ID in its log.
func create(t *testing.T) *made {
	t.Helper()
	m := &made{t: t, path: filepath.Join(t.TempDir(), "a.db")}
	var err error
	if m.db, err = sql.Open("duckdb", ":memory:"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.db.Close() })
	m.db.SetMaxOpenConns(1)
	m.exec("PRAGMA disable_checkpoint_on_shutdown")
	m.exec("SET checkpoint_threshold = '1TB'")
	m.exec(fmt.Sprintf("ATTACH '%s' AS a (STORAGE_VERSION 'v1.4.0', ROW_GROUP_SIZE 16384)", m.path))
	m.exec("USE a")
	m.exec("CREATE TABLE numbers (i INTEGER PRIMARY KEY, text VARCHAR)")
	return m
}

func (m *made) exec(query string) {
	m.t.Helper()
	if _, err := m.db.Exec(query); err != nil {
		m.t.Fatalf("%s: %v", query, err)
	}
}

// insert adds the numbers up to n, one transaction each for the last ten.
func (m *made) insert(from, n int) {
	m.t.Helper()
	m.exec(fmt.Sprintf("INSERT INTO numbers SELECT i, 'number ' || i FROM range(%d, %d) r(i)", from, from+n))
}

// copied gives the bytes of the file and its log as they are now. DuckDB's lock is of another process's concern.
func (m *made) copied(suffix string) []byte {
	m.t.Helper()
	b, err := os.ReadFile(m.path + suffix)
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	return b
}

// reader reads bytes.
type reader []byte

func (r reader) ReadAt(p []byte, at int64) (int, error) {
	if at >= int64(len(r)) {
		return 0, io.EOF
	}
	n := copy(p, r[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
