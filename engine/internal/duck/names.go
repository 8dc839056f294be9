package duck

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mallardmem/mallard/engine/internal/duckfile"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// RemoveFiles deletes files, whether they are there or not.
func RemoveFiles(paths []string) (err error) {
	for _, path := range paths {
		if gone := os.Remove(path); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// QuotedName is a name as a statement has it.
func QuotedName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Shredding is the folder in which the file is made anew. Whoever has the file open for writing owns it.
func (f *File) Shredding() string { return f.Guard.Path + shredSuffix }

// CloseUnless closes a file that did not take the other's place.
func CloseUnless(h, next *Held) error {
	if h.File == next.File {
		return nil
	}
	return next.File.Close()
}

// FreeName refuses names of files that are there, or that belong to a file: to the own one above all, for which they decide what a crash leaves.
func FreeName(out, own string) error {
	removeMisplaced(out)
	for _, suffix := range []string{"", LogSuffix, SecondLogSuffix, JournalSuffix, WitnessSuffix} {
		if Exists(out + suffix) {
			return fmt.Errorf("%w: %s", fault.ErrExists, out+suffix)
		}
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(out))
	if err != nil {
		return err
	}
	name := filepath.Join(folder, filepath.Base(out))
	for _, suffix := range []string{"", LogSuffix, SecondLogSuffix, JournalSuffix, WitnessSuffix, shredSuffix, ".wal.recovery", ".files", ".tmp"} {
		if strings.EqualFold(name, own+suffix) {
			return fault.Invalid("out", out, "a name that the engine's own file does not need")
		}
	}
	if strings.HasPrefix(name, own+DamagedLogSuffix) || strings.HasPrefix(name, own+".files"+string(filepath.Separator)) {
		return fault.Invalid("out", out, "a name that the engine's own file does not need")
	}
	return nil
}

// Exists reports whether something has that name, be it a link to nothing.
func Exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// UnmadeName is another name for a file while it is being made.
func UnmadeName(path string) string {
	return path + "." + strings.ToLower(rand.Text()[:8]) + UnmadeSuffix
}

// Place gives a file that is made its name, unless there is one of that name: ErrExists.
func Place(unmade, path string) error {
	err := renameNew(unmade, path)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%w: %s", fault.ErrExists, path)
	}
	if err != nil {
		return err
	}
	if err := duckfile.SyncFolder(filepath.Dir(path)); err != nil { // what failed is not there
		gone := Remove(path)
		if info, err := os.Lstat(path); gone != nil && err == nil {
			misplaced.Store(path, info)
		}
		return errors.Join(err, gone)
	}
	return nil
}

// misplaced has, by their names, the files that Place could neither make sure of nor remove, because the disk failed: they go when the name is wanted again.
var misplaced sync.Map

// removeMisplaced removes what Place had to leave under a name, if it is that still.
func removeMisplaced(path string) {
	left, ok := misplaced.LoadAndDelete(path)
	if !ok {
		return
	}
	was := left.(os.FileInfo)
	if now, err := os.Lstat(path); err == nil && os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime()) {
		if Remove(path) != nil {
			misplaced.Store(path, was)
		}
	}
}

// linkNew is renameNew where that takes two steps.
func linkNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		return os.Remove(from)
	}
	if errors.Is(err, os.ErrExist) {
		return err
	}
	taken, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // without links the name is taken first
	if err != nil {
		return err
	}
	return errors.Join(taken.Close(), os.Rename(from, to))
}
