package duck

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSaid has DuckDB say what is understood by its words, as far as one process can make it.
func TestSaid(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	said := func(statement string) error {
		t.Helper()
		_, err := db.ExecContext(t.Context(), statement)
		if err == nil {
			t.Fatalf("%s is no error", statement)
		}
		return err
	}
	other := filepath.Join(t.TempDir(), "other.db")
	if err := os.WriteFile(other, []byte(strings.Repeat("no database ", 10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := said("ATTACH '" + other + "'"); !Damaged(err) || TooLarge(err) || kindOf(err) != nil {
		t.Errorf("a file that is not DuckDB's: %v", err)
	}
	if err := said(`SELECT regexp_matches('a', '(\pL{100}){10}')`); !TooLarge(err) || Damaged(err) {
		t.Errorf("a large pattern: %v", err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE known (id VARCHAR PRIMARY KEY); INSERT INTO known VALUES ('mem_1')"); err != nil {
		t.Fatal(err)
	}
	if err := said("INSERT INTO known VALUES ('mem_1')"); takenID(err) != "mem_1" || takenID(said("SELECT no_column")) != "" {
		t.Errorf("a taken id: %v", err)
	}
}
