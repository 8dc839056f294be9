// Package golden holds what tests find against files that people have read, and owns the flag -update. It knows nothing of the engine.
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the tests find into their golden files")

// Updating reports whether goldens are to be written: by Check, or by a test that makes more of one than lines.
func Updating() bool { return *update }

// Check compares what a test found with a file, line by line. With the flag -update it writes the file instead, and the test's author reviews the difference.
func Check(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-golden +now):\n%s", path, diff)
	}
}
