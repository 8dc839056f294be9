package duckfile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/mallardmem/mallard/engine/internal/duckfile"
)

// TestRestore tears a checkpoint in two, at every block that it wrote: with the journal the file is as it was before.
func TestRestore(t *testing.T) {
	m := create(t)
	m.exec("CHECKPOINT a")
	for i := range 3 {
		m.insert(i*1000, 1000)
		m.exec("CHECKPOINT a")
	}
	m.insert(5000, 1000)
	before := m.copied("")
	name := filepath.Join(t.TempDir(), "a.journal")
	if _, err := duckfile.WriteJournal(name, reader(before)); err != nil {
		t.Fatal(err)
	}
	m.exec("CHECKPOINT a")
	after := m.copied("")
	kept, err := duckfile.ReadFile(reader(before))
	if err != nil {
		t.Fatal(err)
	}
	restored := func(content []byte) (duckfile.Restored, []byte) {
		t.Helper()
		file, err := os.OpenFile(filepath.Join(t.TempDir(), "b.db"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.Write(content); err != nil {
			t.Fatal(err)
		}
		result, err := duckfile.Restore(name, file)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		return result, b
	}
	inPlace := 0
	for at := 4096; at < len(after); at += 4096 { // everything before is of the new state, everything behind of the old
		torn := bytes.Clone(after[:at])
		if at < len(before) {
			torn = append(torn, before[at:]...)
		}
		copy(torn[:3*4096], before[:3*4096]) // the headers come last
		if f, err := duckfile.ReadFile(reader(torn)); err != nil || f.Iteration != kept.Iteration {
			t.Fatal(f, err)
		}
		if damaged, err := kept.Verify(nil); err != nil || len(damaged) > 0 {
			t.Fatal(damaged, err)
		}
		f, _ := duckfile.ReadFile(reader(torn))
		if damaged, err := f.Verify(nil); err != nil || len(damaged) > 0 {
			inPlace++
		}
		result, content := restored(torn)
		f, err := duckfile.ReadFile(reader(content))
		if err != nil || result != duckfile.BeforeSwitch {
			t.Fatalf("torn at %d: %v, %v", at, result, err)
		}
		if damaged, err := f.Verify(nil); err != nil || len(damaged) > 0 {
			t.Fatalf("torn at %d: blocks %v are damaged still (%v)", at, damaged, err)
		}
	}
	if inPlace == 0 {
		t.Error("no block was torn that the old state needs: the journal is not asked")
	}
	torn := bytes.Clone(after)
	active := 4096
	if !bytes.Equal(after[4096:8192], before[4096:8192]) {
		torn[4096+100] ^= 1
	} else {
		active = 8192
		torn[8192+100] ^= 1
	}
	if result, content := restored(torn); result != duckfile.BeforeSwitch || !bytes.Equal(content[:3*4096], before[:3*4096]) {
		t.Errorf("the header at %d is torn: %v", active, result)
	}
	if result, content := restored(after); result != duckfile.AfterSwitch || !bytes.Equal(content, after) {
		t.Errorf("a checkpoint that was done: %v", result)
	}
	m.insert(9000, 10)
	m.exec("CHECKPOINT a")
	if result, content := restored(m.copied("")); result != duckfile.OtherState || !bytes.Equal(content, m.copied("")) {
		t.Errorf("a later state: %v", result)
	}
	journal, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{nil, journal[:20], journal[:len(journal)-1], append(bytes.Clone(journal[:5000]), make([]byte, len(journal)-5000)...)} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if result, content := restored(before); result != duckfile.NothingKept || !bytes.Equal(content, before) {
			t.Errorf("a journal of %d bytes that is not whole: %v", len(b), result)
		}
	}
}

func TestWitness(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.synced")
	if _, ok, err := duckfile.ReadWitness(name); ok || err != nil {
		t.Errorf("there is none: %t, %v", ok, err)
	}
	w, _, ok, err := duckfile.OpenWitness(name)
	if err != nil || ok {
		t.Fatal(ok, err)
	}
	id := duckfile.ID{1, 2, 3}
	for length := range int64(20) {
		want := duckfile.Acknowledged{ID: id, Iteration: 7, Length: length}
		if err := w.Note(want); err != nil {
			t.Fatal(err)
		}
		if got, ok, err := duckfile.ReadWitness(name); got != want || !ok || err != nil {
			t.Fatalf("noted %+v: %+v, %t, %v", want, got, ok, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	for at := range content { // one of the two places is always whole
		b := bytes.Clone(content)
		for i := at / 512 * 512; i < min(len(b), at/512*512+512); i++ {
			b[i] ^= 0x55
		}
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, ok, err := duckfile.ReadWitness(name)
		if !ok || err != nil {
			t.Fatalf("sector %d garbled: %t, %v", at/512, ok, err)
		}
		seen[got.Length] = true
	}
	if len(seen) != 2 || !seen[19] || !seen[18] {
		t.Errorf("lengths %v: want 19 and, while that is garbled, 18", seen)
	}
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	w, last, ok, err := duckfile.OpenWitness(name)
	if err != nil || !ok || last.Length != 19 {
		t.Fatalf("opened again: %+v, %t, %v", last, ok, err)
	}
	defer w.Close()
	if err := w.Note(duckfile.Acknowledged{ID: id, Iteration: 8}); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := duckfile.ReadWitness(name); got.Iteration != 8 || got.Length != 0 {
		t.Errorf("after another note: %+v", got)
	}
}
