package enginetest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Equal compares two values of any depth and shows what differs.
func Equal[T any](t testing.TB, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Alone is for a test in which nothing runs beside anything, and which takes its time: it may run beside others, and is left out with -short,
// as under the race detector, which has nothing to find in it.
func Alone(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: nothing in it runs beside anything")
	}
	t.Parallel()
}

// Pointer is where a copy of a value lies.
func Pointer[T any](v T) *T { return &v }

// Long reports whether tests of a sort are as long as they get, which takes minutes or hours: MALLARD_LONG names sorts (simulation, growth, kills, doors, recover,
// doctor, recall, options, ways, models, faults, threads, checks, history, lineage), with commas between them, or is 1 for all.
func Long(sort string) bool {
	asked := os.Getenv("MALLARD_LONG")
	return asked == "1" || slices.Contains(strings.Split(asked, ","), sort)
}
