package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSeal asks DuckDB itself, past what Query refuses: an engine opened for reading reaches no other file and can't be talked
// out of it. The one that writes shows that the statements are good.
func TestSeal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, secret := filepath.Join(dir, "mallard.db"), filepath.Join(dir, "secret.csv")
	if err := os.WriteFile(secret, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	statements := []string{
		"FROM 'DIR/secret.csv'", "FROM read_text('DIR/secret.csv')", "COPY (SELECT 1) TO 'DIR/out.csv'", "ATTACH 'DIR/other.db' AS other",
		"SET GLOBAL threads = 2", "SET GLOBAL memory_limit = '1GB'", "SET GLOBAL lock_configuration = false",
	}
	for _, readOnly := range []bool{false, true} {
		e, err := Open(t.Context(), path, Options{ReadOnly: readOnly})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range statements {
			if _, err := e.db.ExecContext(t.Context(), strings.ReplaceAll(s, "DIR", dir)); (err != nil) != readOnly {
				t.Errorf("read-only %t: %s: %v", readOnly, s, err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
