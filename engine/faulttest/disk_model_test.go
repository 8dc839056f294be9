package faulttest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecordingIsWhole proves that no call escapes the tracer: what was recorded makes the folder as the process left it, closed or killed.
func TestRecordingIsWhole(t *testing.T) {
	needTracer(t)
	whole := lived(t, "short")
	same(t, "closed", whole)
	writes := 0
	for _, o := range whole.recording {
		if o.kind == 'w' {
			writes++
		}
	}
	for n, do := range []string{"kill", "half", "half"} { // only of a write there is a half
		p := staged(t, staging{action: action{do: do, kinds: "w", first: writes * (n + 1) / 4}, role: "live", args: []string{"short"}})
		if !p.wasKilled() {
			t.Fatalf("the process ended with %d: %s", p.status, p.stderr)
		}
		same(t, do, p)
	}
}

// same compares a folder with what its recording makes.
func same(t *testing.T, what string, p traced) {
	t.Helper()
	d, err := newDisk(p.folder)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.recording.left(len(p.recording)), d.found(); !got.same(want) {
		t.Errorf("%s: the recording makes %v, the process made %v", what, got.sizes(), want.sizes())
	}
}

func (m image) sizes() map[string]int {
	sizes := map[string]int{}
	for name, content := range m {
		sizes[name] = len(content)
	}
	return sizes
}

// TestDisk lists all that can be left of some operations.
func TestDisk(t *testing.T) {
	made := func(path string) operation { return operation{kind: 'o', path: path, made: true} }
	write := func(path, data string, at int64) operation {
		return operation{kind: 'w', path: path, data: []byte(data), at: at, result: int64(len(data))}
	}
	sync := func(path string) operation { return operation{kind: 's', path: path} }
	cut := func(path string, at int64) operation { return operation{kind: 't', path: path, at: at} }
	gone := func(path string) operation { return operation{kind: 'u', path: path} }
	moved := func(path, other string) operation { return operation{kind: 'r', path: path, other: other} }
	for _, c := range []struct {
		name string
		do   []operation
		left []string // each "name=content …"
	}{
		{"nothing synced", []operation{made("a"), write("a", "x", 0)}, []string{"", "a=", "a=0", "a=x", "a=?"}},
		{"synced with its name", []operation{made("a"), write("a", "x", 0), sync("a")}, []string{"a=x"}},
		{"written over", []operation{made("a"), write("a", "x", 0), sync("a"), write("a", "y", 0)}, []string{"a=0", "a=x", "a=y", "a=?"}},
		{"removed", []operation{made("a"), sync("a"), gone("a")}, []string{"", "a="}},
		{"removed and the folder synced", []operation{made("a"), sync("a"), gone("a"), sync("")}, []string{""}},
		{"renamed over", []operation{made("a"), write("a", "x", 0), sync("a"), made("b"), write("b", "y", 0), sync("b"), moved("b", "a")},
			[]string{"a=x b=y", "a=y"}},
		{"renamed unsynced", []operation{made("a"), write("a", "x", 0), sync("a"), made("b"), write("b", "y", 0), moved("b", "a")},
			[]string{"a=", "a=0", "a=x", "a=x b=", "a=x b=0", "a=x b=y", "a=x b=?", "a=y", "a=?"}},
		{"a length that is durable makes durable what came before", []operation{made("a"), sync("a"), made("b"), sync("b"), gone("b"), write("a", "x", 0), sync("a")},
			[]string{"a=x"}},
		{"written over and synced, nothing else", []operation{made("a"), write("a", "x", 0), made("b"), sync("b"), sync("a"), gone("b"), write("a", "y", 0), sync("a")},
			[]string{"a=y", "a=y b="}},
		{"cut and written", []operation{made("a"), write("a", "x", 0), sync("a"), cut("a", 0), write("a", "y", 0)}, []string{"a=", "a=0", "a=x", "a=y", "a=?"}},
		{"a sync that failed", []operation{made("a"), sync("a"), write("a", "x", 0), {kind: 's', path: "a", result: -5}}, []string{"a=", "a=0", "a=x", "a=?"}},
	} {
		left := map[string]bool{}
		for seed := range uint64(400) {
			d := emptyDisk()
			for _, o := range c.do {
				d.do(o)
			}
			left[d.left(ways[seed%uint64(len(ways))], rand.New(rand.NewPCG(seed, 0))).text()] = true
		}
		slices.Sort(c.left)
		if diff := cmp.Diff(c.left, slices.Sorted(maps.Keys(left))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// text writes an image of files of one letter: 0 is a zero, ? garbage.
func (m image) text() string {
	parts := []string{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		content := ""
		for _, b := range m[name] {
			switch {
			case b == 0:
				content += "0"
			case b == 'x' || b == 'y':
				content += string(rune(b))
			default:
				content += "?"
			}
		}
		parts = append(parts, fmt.Sprintf("%s=%s", name, content))
	}
	return strings.Join(parts, " ")
}
