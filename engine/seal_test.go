package engine

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSeal asks DuckDB itself, past what Query refuses: an engine reaches no other file and can't be talked out of it. A database of its own
// shows that the statements are good.
func TestSeal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, secret := filepath.Join(dir, "mallard.db"), filepath.Join(dir, "secret.csv")
	if err := os.WriteFile(secret, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := func(db *sql.DB, name string, refused bool) {
		t.Helper()
		for _, s := range []string{
			"FROM 'DIR/secret.csv'", `FROM "DIR/secret"."csv"`, "FROM read_text('DIR/secret.csv')", "COPY (SELECT 1) TO 'DIR/out.csv'", "ATTACH 'DIR/other.db' AS other",
			"SET GLOBAL threads = 2", "SET GLOBAL memory_limit = '1GB'", "SET GLOBAL lock_configuration = false",
		} {
			if _, err := db.ExecContext(t.Context(), strings.ReplaceAll(s, "DIR", dir)); (err != nil) != refused {
				t.Errorf("%s: %s: %v", name, s, err)
			}
		}
	}
	plain, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	asked(plain, "plain DuckDB", false)
	plain.Close()
	for _, readOnly := range []bool{false, true} {
		e, err := Open(t.Context(), path, Options{ReadOnly: readOnly})
		if err != nil {
			t.Fatal(err)
		}
		asked(e.file.DB, fmt.Sprintf("read-only %t", readOnly), true)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
