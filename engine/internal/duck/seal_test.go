package duck_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
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
		e, err := engine.Open(t.Context(), path, enginetest.Thrifty(engine.Options{ReadOnly: readOnly}))
		if err != nil {
			t.Fatal(err)
		}
		asked(enginetest.File(e).DB, fmt.Sprintf("read-only %t", readOnly), true)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSealWithFTS: the extension opens no way out of an engine that reads.
func TestSealWithFTS(t *testing.T) {
	t.Parallel()
	path, o := enginetest.NewFile(t), enginetest.WithFTS(t)
	o.Lexical = setup.FTSBackend
	enginetest.CloseFile(t, enginetest.OpenFile(t, path, o))
	o.ReadOnly = true
	e := enginetest.OpenFile(t, path, o)
	for _, s := range []string{
		"FROM read_text('" + path + "')", "LOAD '" + path + "'", "INSTALL fts", "FORCE INSTALL fts",
		"SET GLOBAL lock_configuration = false", "SET GLOBAL allow_unsigned_extensions = true", "ATTACH '" + path + ".other' AS other",
		"PRAGMA create_fts_index('memories', 'id', 'text')",
	} {
		if _, err := enginetest.File(e).DB.ExecContext(t.Context(), s); err == nil {
			t.Errorf("%s: no error", s)
		}
	}
}
