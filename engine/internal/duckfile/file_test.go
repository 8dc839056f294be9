package duckfile_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/internal/duckfile"
)

// TestFile holds what is read from the bytes against what DuckDB says of the same file.
func TestFile(t *testing.T) {
	m := create(t)
	m.exec("CHECKPOINT a")
	for round := range 4 {
		m.insert(round*50_000, 50_000)
		m.exec("DELETE FROM numbers WHERE i % 3 = 0")
		m.exec("CHECKPOINT a")
		f, err := duckfile.ReadFile(reader(m.copied("")))
		if err != nil {
			t.Fatal(err)
		}
		space, err := f.Space()
		if err != nil {
			t.Fatal(err)
		}
		if want := uint64(round + 2); f.Iteration != want || f.Torn {
			t.Errorf("iteration %d, torn %t: want %d, whole", f.Iteration, f.Torn, want)
		}
		rows, err := m.db.Query("SELECT block_id, list_sum(list_transform(free_list, i -> 1::UBIGINT << i)) FROM pragma_metadata_info('a') ORDER BY ALL")
		if err != nil {
			t.Fatal(err)
		}
		var want []duckfile.Metadata
		for rows.Next() {
			var b duckfile.Metadata
			var free *float64
			if err := rows.Scan(&b.Block, &free); err != nil {
				t.Fatal(err)
			}
			want = append(want, b)
		}
		got := slices.Clone(space.Metadata)
		slices.SortFunc(got, func(a, b duckfile.Metadata) int { return int(a.Block - b.Block) })
		for i := range got {
			got[i].Free = 0
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("blocks of metadata (-DuckDB +here):\n%s", diff)
		}
		var total, free int64
		if err := m.db.QueryRow("SELECT total_blocks, free_blocks FROM pragma_database_size() WHERE database_name = 'a'").Scan(&total, &free); err != nil {
			t.Fatal(err)
		}
		if f.Blocks < total || int64(len(space.Free)) < free || int64(len(space.Free))-free > f.Blocks-total+free {
			t.Errorf("%d blocks, %d free; DuckDB says %d and %d", f.Blocks, len(space.Free), total, free)
		}
		if damaged, err := f.Verify(nil); err != nil || len(damaged) > 0 {
			t.Errorf("blocks %v of an intact file are called damaged (%v)", damaged, err)
		}
		size := int64(len(m.copied("")))
		if err := f.CheckLength(size); err != nil {
			t.Errorf("an intact file of %d bytes: %v", size, err)
		}
		if err := f.CheckLength(size / 2); !errors.Is(err, duckfile.ErrDamaged) {
			t.Errorf("half of a file: %v", err)
		}
	}
}

// TestVerifyFindsEachBlock flips a bit in every block in turn.
func TestVerifyFindsEachBlock(t *testing.T) {
	m := create(t)
	m.insert(0, 60_000)
	m.exec("CHECKPOINT a")
	content := m.copied("")
	f, err := duckfile.ReadFile(reader(content))
	if err != nil {
		t.Fatal(err)
	}
	space, err := f.Space()
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for block := range f.Blocks {
		at := 3*4096 + block<<18 + 1000*(block+1)
		content[at] ^= 4
		damaged, err := f.Verify(nil)
		content[at] ^= 4
		metadata := slices.ContainsFunc(space.Metadata, func(b duckfile.Metadata) bool { return b.Block == block })
		switch {
		case slices.Contains(space.Free, block):
			if err != nil || len(damaged) > 0 {
				t.Errorf("block %d is free: %v, %v", block, damaged, err)
			}
			continue
		case metadata && errors.Is(err, duckfile.ErrDamaged) && slices.Equal(damaged, []int64{block}): // the list of free blocks lies in it
		case err != nil || !slices.Equal(damaged, []int64{block}):
			t.Errorf("block %d: %v, %v", block, damaged, err)
		}
		used++
	}
	if used < 3 {
		t.Errorf("%d blocks in use: the file is too small to tell", used)
	}
}

// TestHeaders: a header that is not whole leaves the other; a file without a whole one can't be told.
func TestHeaders(t *testing.T) {
	m := create(t)
	m.insert(0, 10)
	m.exec("CHECKPOINT a")
	m.insert(10, 10)
	m.exec("CHECKPOINT a")
	content := m.copied("")
	for _, test := range []struct {
		flip      []int
		iteration uint64
		damaged   bool
	}{{nil, 2, false}, {[]int{4096 + 20}, 2, false}, {[]int{8192 + 20}, 1, false}, {[]int{4096, 8192}, 0, true}, {[]int{100}, 0, true}, {[]int{9}, 0, true}} {
		changed := slices.Clone(content)
		for _, at := range test.flip {
			changed[at] ^= 1
		}
		f, err := duckfile.ReadFile(reader(changed))
		switch {
		case test.damaged != errors.Is(err, duckfile.ErrDamaged):
			t.Errorf("flipped %v: %v", test.flip, err)
		case err == nil && (f.Iteration != test.iteration || f.Torn != (test.flip != nil)):
			t.Errorf("flipped %v: iteration %d, torn %t: want %d", test.flip, f.Iteration, f.Torn, test.iteration)
		}
	}
	if _, err := duckfile.ReadFile(reader(content[:5000])); !errors.Is(err, duckfile.ErrDamaged) {
		t.Errorf("cut within the headers: %v", err)
	}
}
