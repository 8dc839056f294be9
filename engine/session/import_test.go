package session_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the goldens anew")

// TestFixtures imports every fixture and compares the conversations; a second import adds nothing.
func TestFixtures(t *testing.T) {
	for _, path := range fixtures(t) {
		t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
			e := open(t)
			imported(t, e, path)
			got := dump(t, e)
			golden := strings.TrimSuffix(path, ".jsonl") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(read(t, golden), got); diff != "" {
				t.Errorf("differs from %s (-golden +got):\n%s", golden, diff)
			}
			if again := imported(t, e, path); again.Messages+again.Parts+again.Summaries > 0 {
				t.Errorf("a second import added: %+v", again)
			}
			if diff := cmp.Diff(got, dump(t, e)); diff != "" {
				t.Errorf("a second import changed:\n%s", diff)
			}
		})
	}
}
