package duck

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// TestPlace: a file gets its name in whole, nothing else has that name or keeps the old one, and what is there is left alone.
func TestPlace(t *testing.T) {
	for name, place := range map[string]func(unmade, path string) error{"place": Place, "two steps": linkNew} {
		folder := t.TempDir()
		unmade, path := filepath.Join(folder, "unmade"), filepath.Join(folder, "made")
		write(t, unmade, "one")
		if err := place(unmade, path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if info, err := os.Stat(path); err != nil || HardLinks(info) != 1 || Exists(unmade) {
			t.Errorf("%s: %v, %d names, the old one there: %t", name, err, HardLinks(info), Exists(unmade))
		}
		write(t, unmade, "two")
		if err := place(unmade, path); !errors.Is(err, fault.ErrExists) && !errors.Is(err, os.ErrExist) {
			t.Errorf("%s: a name that is taken: %v", name, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != "one" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestMisplaced: what Place had to leave under a name goes when the name is wanted again, and what somebody else put there does not.
func TestMisplaced(t *testing.T) {
	folder := t.TempDir()
	own, out := filepath.Join(folder, "mallard.db"), filepath.Join(folder, "copy.db")
	leave := func() {
		write(t, out, "left")
		info, err := os.Lstat(out)
		if err != nil {
			t.Fatal(err)
		}
		misplaced.Store(out, info)
	}
	leave()
	if err := FreeName(out, own); err != nil || Exists(out) {
		t.Errorf("%v; there: %t", err, Exists(out))
	}
	leave()
	if err := os.Rename(out, out+".mine"); err != nil {
		t.Fatal(err)
	}
	write(t, out, "another")
	for range 2 {
		if err := FreeName(out, own); !errors.Is(err, fault.ErrExists) || !Exists(out) {
			t.Errorf("%v; there: %t", err, Exists(out))
		}
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
