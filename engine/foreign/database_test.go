package foreign

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

// TestCopies: whatever a host does meanwhile, its log being taken into the database at every commit, what counts as a copy is one state of it: what one row lost another one won.
func TestCopies(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "host.db")
	host, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	host.SetMaxOpenConns(1)
	for _, s := range []string{"PRAGMA journal_mode = wal", "PRAGMA wal_autocheckpoint = 1", "PRAGMA synchronous = off", "CREATE TABLE t (n INTEGER, filling TEXT)",
		"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 2000) INSERT INTO t SELECT 0, hex(randomblob(1000)) FROM c"} {
		if _, err := host.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		for i := 0; ctx.Err() == nil; i++ {
			from, to := 1+i*7919%2000, 1+i*104729%2000
			if _, err := host.Exec("UPDATE t SET n = n + iif(rowid = ?1, 1, 0) - iif(rowid = ?2, 1, 0) WHERE rowid IN (?1, ?2)", from, to); err != nil {
				done <- err
				return
			}
			if i%200 == 0 { // so that a copy has a chance
				time.Sleep(40 * time.Millisecond)
			}
		}
		done <- nil
	}()
	holds := func() {
		t.Helper()
		to, err := copied(t.Context(), path, t.TempDir())
		if errors.Is(err, errBusy) && ctx.Err() == nil {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		copy, err := sql.Open("sqlite", to)
		if err != nil {
			t.Fatal(err)
		}
		var sum, rows int
		if err := copy.QueryRow("SELECT sum(n), count(*) FROM t").Scan(&sum, &rows); err != nil || sum != 0 || rows != 2000 {
			t.Errorf("the sum of %d rows is %d, %v", rows, sum, err)
		}
		if err := copy.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 8 {
		holds()
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	holds()
}

// TestStamp: a commit changes what says that a database changed; what says that a copy is none changes when the log is begun anew, and with every commit that uses no log.
func TestStamp(t *testing.T) {
	for _, c := range []struct {
		name, mode  string
		between     string // two commits
		torn, again bool
	}{{"a log that grows", "wal", "SELECT 1", false, true}, {"a log that is begun anew", "wal", "PRAGMA wal_checkpoint(restart)", true, true}, {"no log", "delete", "SELECT 1", true, true}} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "host.db")
			host, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer host.Close()
			host.SetMaxOpenConns(1)
			do := func(statement string) {
				t.Helper()
				if _, err := host.Exec(statement); err != nil {
					t.Fatal(err)
				}
			}
			do("PRAGMA journal_mode = " + c.mode)
			do("PRAGMA wal_autocheckpoint = 0")
			do("CREATE TABLE t (n INTEGER)")
			do("INSERT INTO t VALUES (1)")
			before, err := stampOf(path)
			if err != nil {
				t.Fatal(err)
			}
			do(c.between)
			do("INSERT INTO t VALUES (2)")
			after, err := stampOf(path)
			if err != nil {
				t.Fatal(err)
			}
			if torn, again := before.steady != after.steady, before.all != after.all; torn != c.torn || again != c.again {
				t.Errorf("torn %t, again %t\n%+v\n%+v", torn, again, before, after)
			}
		})
	}
}
