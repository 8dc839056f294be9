package duckfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mallardmem/mallard/engine/internal/duckfile"
)

// checkpointed is a file after two checkpoints, its log after these, and what it is.
func checkpointed(t *testing.T) (file, log []byte, whole *duckfile.File) {
	t.Helper()
	m := create(t)
	m.insert(0, 20_000)
	m.exec("CHECKPOINT a")
	m.insert(20_000, 20_000)
	m.exec("CHECKPOINT a")
	m.insert(40_000, 10)
	file, log = m.copied(""), m.copied(".wal")
	whole, err := duckfile.ReadFile(reader(file))
	if err != nil {
		t.Fatal(err)
	}
	return file, log, whole
}

// onDisk is a copy of bytes that may be written to.
func onDisk(t *testing.T, content []byte) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "copy.db"))
	if err == nil {
		_, err = f.Write(content)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestMendHeaders flips bits in headers: what DuckDB takes from the copy is the newest state, or the other where the newest can't be told.
func TestMendHeaders(t *testing.T) {
	content, _, whole := checkpointed(t)
	newest := int(4096 * (2 - whole.Iteration%2)) // the two take turns
	if b, err := duckfile.ReadFile(reader(flipped(content, newest+20))); err != nil || b.Iteration != whole.Iteration-1 {
		t.Fatalf("the newest header is not at %d: %+v, %v", newest, b, err)
	}
	other := 4096 + 8192 - newest
	for _, test := range []struct {
		what      string
		flip      []int
		iteration uint64
		done      int
		behind    bool
	}{
		{"nothing", nil, whole.Iteration, 0, false},
		{"the main header's checksum", []int{3}, whole.Iteration, 1, false},
		{"the main header's magic bytes", []int{9}, whole.Iteration, 1, false},
		{"the newest header's checksum", []int{newest}, whole.Iteration, 1, false},
		{"the newest header's end", []int{newest + 4000}, whole.Iteration, 1, false},
		{"the newest header's iteration", []int{newest + 14}, whole.Iteration, 1, false},
		{"the newest header's iteration and more", []int{newest + 14, newest + 20}, whole.Iteration - 1, 1, true},
		{"the older header", []int{other + 9}, whole.Iteration, 1, true},
		{"the older header's checksum", []int{other}, whole.Iteration, 1, false},
		{"both headers' checksums", []int{newest, other}, whole.Iteration, 1, false},
		{"both headers, one not to be believed", []int{newest, other + 14}, whole.Iteration, 1, true},
	} {
		c := onDisk(t, flipped(content, test.flip...))
		done, behind, err := duckfile.MendHeaders(c, int64(len(content)))
		if err != nil || len(done) != test.done || behind != test.behind {
			t.Errorf("%s: %q, behind %t, %v", test.what, done, behind, err)
			continue
		}
		f, err := duckfile.ReadFile(c)
		if err != nil || f.Torn || f.Iteration != test.iteration {
			t.Errorf("%s: %+v, %v: want iteration %d", test.what, f, err, test.iteration)
		}
	}
	if _, _, err := duckfile.MendHeaders(onDisk(t, make([]byte, 20_000)), 20_000); !errors.Is(err, duckfile.ErrDamaged) {
		t.Errorf("a file of zeros: %v", err)
	}
	twins := slices.Clone(content)
	copy(twins[newest:][:4096], content[other:][:4096])
	if f, err := duckfile.ReadFile(reader(twins)); err != nil || !f.Torn {
		t.Errorf("a header in the place of the other: %+v, %v", f, err)
	}
	if done, behind, err := duckfile.MendHeaders(onDisk(t, twins), int64(len(twins))); err != nil || len(done) != 1 || !behind {
		t.Errorf("a header in the place of the other: %q, behind %t, %v", done, behind, err)
	}
	c := onDisk(t, content)
	if err := duckfile.Older(c); err != nil {
		t.Fatal(err)
	}
	if f, err := duckfile.ReadFile(c); err != nil || f.Iteration != whole.Iteration-1 {
		t.Errorf("the older state: %+v, %v", f, err)
	}
}

func flipped(content []byte, at ...int) []byte {
	changed := slices.Clone(content)
	for _, at := range at {
		changed[at] ^= 2
	}
	return changed
}

// TestBelieve flips a bit in each block: those of metadata are told from others, and no block that is believed is damaged any more.
func TestBelieve(t *testing.T) {
	content, _, whole := checkpointed(t)
	space, err := whole.Space()
	if err != nil {
		t.Fatal(err)
	}
	for block := range whole.Blocks {
		if slices.Contains(space.Free, block) {
			continue
		}
		c := onDisk(t, flipped(content, int(3*4096+block<<18+200_000)))
		f, err := duckfile.ReadFile(c)
		if err != nil {
			t.Fatal(err)
		}
		damaged, err := f.Verify(nil)
		if err != nil && !errors.Is(err, duckfile.ErrDamaged) {
			t.Fatal(err)
		}
		holds := slices.ContainsFunc(space.Metadata, func(m duckfile.Metadata) bool { return m.Block == block })
		if got := f.Metadata(damaged); holds != slices.Equal(got, damaged) {
			t.Errorf("block %d of %v holds metadata: %t; said of %v", block, damaged, holds, got)
		}
		if err := duckfile.Believe(c, damaged); err != nil {
			t.Fatal(err)
		}
		if damaged, err := f.Verify(nil); err != nil || len(damaged) > 0 {
			t.Errorf("block %d is damaged although it is believed: %v, %v", block, damaged, err)
		}
	}
}

// TestClaim overwrites the header of a log: with its file's own it is whole again.
func TestClaim(t *testing.T) {
	_, log, whole := checkpointed(t)
	before := scanned(t, log)
	for _, at := range []int{0, 4, 12, 30} {
		c := onDisk(t, flipped(log, at))
		if err := duckfile.Claim(c, whole); err != nil {
			t.Fatal(err)
		}
		after, err := duckfile.ScanLog(c, int64(len(log)))
		if err != nil || fmt.Sprint(after) != fmt.Sprint(before) || after.ID != whole.ID || after.Iteration != whole.Iteration || !after.Whole() {
			t.Errorf("flipped at %d, then claimed: %+v, %v", at, after, err)
		}
	}
}

func TestEnds(t *testing.T) {
	log, _, ends := logged(t)
	for n, from := range append([]int64{0}, ends...) {
		if got, err := duckfile.Ends(reader(log), from, int64(len(log))); err != nil || got != len(ends)-n {
			t.Errorf("%d ends from byte %d on, %v: want %d", got, from, err, len(ends)-n)
		}
	}
}
