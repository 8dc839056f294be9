package duckfile_test

import (
	"slices"
	"testing"

	"github.com/mallardmem/mallard/engine/internal/duckfile"
)

// logged is a log of ten transactions, and where each ends.
func logged(t *testing.T) (log []byte, file *duckfile.File, ends []int64) {
	t.Helper()
	m := create(t)
	m.exec("CHECKPOINT a")
	for i := range 10 {
		m.insert(i*100, 1+i*10)
		log = m.copied(".wal")
		ends = append(ends, int64(len(log)))
	}
	file, err := duckfile.ReadFile(reader(m.copied("")))
	if err != nil {
		t.Fatal(err)
	}
	return log, file, ends
}

func scanned(t *testing.T, log []byte) *duckfile.Log {
	t.Helper()
	l, err := duckfile.ScanLog(reader(log), int64(len(log)))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLog(t *testing.T) {
	log, file, ends := logged(t)
	l := scanned(t, log)
	if !l.Whole() || l.Commits != 10 || !l.Named || l.ID != file.ID || l.Iteration != file.Iteration {
		t.Errorf("an intact log of ten transactions: %+v, of file %+v", l, file)
	}
	for n, end := range ends {
		if l := scanned(t, log[:end]); !l.Whole() || l.Commits != n+1 {
			t.Errorf("cut after %d transactions: %+v", n+1, l)
		}
	}
}

// TestEveryDamage cuts, blanks and flips a log at each of its bytes: what is whole before is found, and whether more was written behind.
func TestEveryDamage(t *testing.T) {
	log, file, ends := logged(t)
	const header = 60                                                       // or less; it has no checksum, but the ID of the file
	for at := int64(0); at < int64(len(log)); at += 1 + min(at/header, 6) { // every byte of the header
		before := 0 // transactions that lie before the byte
		for before < len(ends) && ends[before] <= at {
			before++
		}
		end := int64(0)
		if before > 0 {
			end = ends[before-1]
		}
		if l := scanned(t, log[:at]); l.End != end || l.Commits != before || l.Followed {
			t.Fatalf("cut at %d: %+v, want the end at %d", at, *l, end)
		}
		if l := scanned(t, log[:at]); at > header && l.Cut != (l.Damaged < at) {
			t.Fatalf("cut at %d: %+v", at, *l)
		}
		blank := slices.Concat(log[:at], make([]byte, int64(len(log))-at))
		if l := scanned(t, blank); l.End != end || l.Followed {
			t.Fatalf("blank from %d: %+v, want the end at %d", at, l, end)
		}
		flipped := slices.Clone(log)
		flipped[at] ^= 0x10
		l := scanned(t, flipped)
		if at < header {
			if l.Whole() && l.ID == file.ID && l.Iteration == file.Iteration {
				t.Fatalf("flipped at %d: %+v", at, l)
			}
		} else if last := before == len(ends)-1 || before == len(ends)-2 && at >= ends[before]-21; l.Whole() || l.End != end || l.Followed == last {
			t.Fatalf("flipped at %d: %+v, want the end at %d, followed %t", at, *l, end, !last) // what ends a transaction is 21 bytes long
		}
	}
}

func TestBlank(t *testing.T) {
	log, _, _ := logged(t)
	from := int64(len(log)) / 512 * 512
	blank := slices.Concat(log[:from-1024], make([]byte, 1024), make([]byte, 300))
	if l := scanned(t, blank); !l.Blank {
		t.Errorf("whole sectors at the end are blank: %+v", l)
	}
	blank[len(blank)-1] = 1
	if l := scanned(t, blank); l.Blank {
		t.Errorf("the last byte is not blank: %+v", l)
	}
}
