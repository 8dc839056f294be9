package note

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// MaxFile is how many bytes a file may have; a larger one is refused.
const MaxFile = 4 << 20

// maxFiles is how many files a folder may have.
const maxFiles = 10_000

// SyncRequest names the Markdown files of a folder that shall have notes.
type SyncRequest struct {
	Agent  string // empty: an internal caller
	Scope  string // who may see them; default by the agent, else the configured one
	Folder string
	// Files are files of the folder, and folders in it, of which all Markdown files are meant (.md, .markdown), however deep. Default MEMORY.md and memory;
	// "." is all. What is not there, and what begins with a dot, is passed over.
	Files []string
}

// Synced says what a Sync found.
type Synced struct {
	Folder    string    `json:"folder"`
	Added     []string  `json:"added"` // paths
	Changed   []string  `json:"changed"`
	Unchanged int       `json:"unchanged"`
	Removed   []string  `json:"removed"` // they are gone, refused, or no longer meant
	Refused   []Refused `json:"refused,omitempty"`
	Notes     int       `json:"notes"` // that were written
	// VectorErr: the notes are stored, but the model failed or took too long, so some have no vector until RebuildIndex.
	VectorErr error `json:"-"`
}

// Refused is a file that has no notes, and why.
type Refused struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Sync brings the notes of a folder to what its files say now: those that are new or changed are read, those that are the same to the byte are passed over, and
// what is gone leaves. Files are read and nothing else; the host decides when. Calling it again does nothing where nothing changed. Errors: ErrNotFound for a
// folder that is not there, ErrInvalid, ErrBadScope, ErrScopeDenied; a file that can't be taken is among Refused.
func (k *Keeper) Sync(ctx context.Context, r SyncRequest) (*Synced, error) {
	const op = "sync notes"
	scope, err := k.scopes.Now().ForWriting(r.Agent, r.Scope)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	root, folder, err := openFolder(r.Folder)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	defer root.Close()
	s := &Synced{Folder: folder, Added: []string{}, Changed: []string{}, Removed: []string{}}
	paths, err := s.find(root, r.Files)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	known := map[string]File{}
	err = k.file.Read(ctx, op, func(c *duck.Conn) error {
		all, err := k.files(ctx, c, "", folder, "")
		for _, f := range all {
			known[f.Path] = f
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, f := range known {
		if !k.scopes.Now().Sees(r.Agent, f.Scope) {
			return nil, fmt.Errorf("%s: %w: agent %q may not use %s, which %s is in", op, fault.ErrScopeDenied, r.Agent, f.Scope, f.Path)
		}
	}
	for n, p := range paths {
		k.opts.Progress("notes", n, len(paths))
		if err := ctx.Err(); err != nil {
			return s, fmt.Errorf("%s: %w", op, err)
		}
		content, modified, why := readFile(root, p)
		if why != "" {
			s.Refused = append(s.Refused, Refused{p, why})
			continue
		}
		was, there := known[p]
		delete(known, p)
		sum := sha256.Sum256(content)
		f := File{ID: was.ID, Folder: folder, Path: p, Scope: scope, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content)), ModifiedAt: modified}
		if there && was.SHA256 == f.SHA256 && was.Scope == scope {
			s.Unchanged++
			continue
		}
		if err := k.write(ctx, op, &f, lines(string(content)), s); err != nil {
			return s, err
		}
		if there {
			s.Changed = append(s.Changed, p)
		} else {
			s.Added = append(s.Added, p)
		}
	}
	for _, f := range known {
		s.Removed = append(s.Removed, f.Path)
	}
	slices.Sort(s.Removed)
	if len(known) == 0 {
		return s, nil
	}
	return s, k.file.Write(ctx, op, func(tx *duck.Write) error {
		for _, f := range known {
			if err := k.remove(ctx, tx, f.ID, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// openFolder opens a folder so that nothing outside it can be reached from it.
func openFolder(name string) (*os.Root, string, error) {
	if err := fault.CheckText("folder", name); err != nil {
		return nil, "", err
	}
	folder, err := filepath.Abs(name)
	if err != nil || name == "" {
		return nil, "", fault.Invalid("folder", name, "a folder")
	}
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("%w: folder %s", fault.ErrNotFound, fault.Quote(folder))
	}
	if err != nil {
		return nil, "", fault.Invalid("folder", folder, "a folder that can be read: "+err.Error())
	}
	return root, folder, nil
}

// markdown reports whether a file is one, by its name.
func markdown(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".md" || ext == ".markdown"
}

// find gives the paths of the files that are meant, in their order.
func (s *Synced) find(root *os.Root, asked []string) (paths []string, err error) {
	if asked == nil {
		asked = []string{"MEMORY.md", "memory"}
	}
	for _, name := range asked {
		clean := path.Clean(filepath.ToSlash(name))
		if name == "" || !filepath.IsLocal(filepath.FromSlash(clean)) {
			return nil, fault.Invalid("files", name, "paths within the folder")
		}
		if _, err := root.Lstat(filepath.FromSlash(clean)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		err := fs.WalkDir(root.FS(), clean, func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				s.Refused = append(s.Refused, Refused{p, "it can't be read: " + err.Error()})
			case d.IsDir():
				if p != clean && strings.HasPrefix(d.Name(), ".") {
					return fs.SkipDir
				}
			case !markdown(p):
				if p == clean {
					s.Refused = append(s.Refused, Refused{p, "it is no Markdown file (.md, .markdown)"})
				}
			case strings.HasPrefix(d.Name(), ".") && p != clean:
			case d.Type()&fs.ModeSymlink != 0:
				s.Refused = append(s.Refused, Refused{p, "it is a link; name the file that it leads to"})
			case !d.Type().IsRegular():
				s.Refused = append(s.Refused, Refused{p, "it is no regular file"})
			case !utf8.ValidString(p):
				s.Refused = append(s.Refused, Refused{strings.ToValidUTF8(p, "�"), "its name is no valid UTF-8"})
			case len(paths) == maxFiles:
				return fault.Invalid("files", name, fmt.Sprintf("at most %d files", maxFiles))
			default:
				paths = append(paths, p)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// readFile reads a file of the folder; why says why it can't be taken.
func readFile(root *os.Root, name string) (content []byte, modified time.Time, why string) {
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, modified, "it can't be read: " + err.Error()
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, modified, "it is no regular file"
	}
	if content, err = io.ReadAll(io.LimitReader(f, MaxFile+1)); err != nil {
		return nil, modified, "it can't be read: " + err.Error()
	}
	switch {
	case len(content) > MaxFile:
		return nil, modified, fmt.Sprintf("it has %d bytes; allowed: %d", max(info.Size(), int64(len(content))), MaxFile)
	case !utf8.Valid(content):
		return nil, modified, "it is no valid UTF-8"
	case slices.Contains(content, 0):
		return nil, modified, "it has NUL bytes"
	}
	return content, info.ModTime(), ""
}

// write puts a file and its notes in the place of what there was of it. The model thinks before the lock is taken.
func (k *Keeper) write(ctx context.Context, op string, f *File, all []string, s *Synced) error {
	f.Lines = len(all)
	f.ModifiedAt = duck.UTC(f.ModifiedAt)
	if year := f.ModifiedAt.Year(); year < 1 || year > 9999 {
		f.ModifiedAt = k.file.Now()
	}
	notes := divide(all)
	documents, texts := make([]*index.Document, len(notes)), make([]string, len(notes))
	for i := range notes {
		documents[i], texts[i] = k.document(&notes[i], f.Scope, 0, index.Stand{}, f.ModifiedAt), notes[i].Text
	}
	if err := k.index.EmbedDocuments(ctx, documents, texts); err != nil {
		if !index.EmbeddingFailed(ctx, err) {
			return fmt.Errorf("%s: %s: %w", op, f.Path, err)
		}
		s.VectorErr = err
	}
	if f.ID == "" {
		var err error
		if f.ID, err = k.file.NewID(ids.NoteFile, k.file.Now()); err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
	}
	err := k.file.Write(ctx, op, func(tx *duck.Write) error {
		there, err := k.files(ctx, tx.Conn, "", f.Folder, f.Path) // another Sync may have been here meanwhile
		if err != nil {
			return err
		}
		for _, was := range there {
			if err := k.remove(ctx, tx, was.ID, nil); err != nil {
				return err
			}
		}
		f.IndexedAt = k.file.Now()
		err = tx.AppendRows("note_files", [][]driver.Value{{f.ID, f.Folder, f.Path, f.Scope, f.SHA256, f.Bytes, int32(f.Lines), f.ModifiedAt, f.IndexedAt}})
		if err != nil || len(notes) == 0 {
			return err
		}
		numbers, err := k.index.NextDocNos(ctx, tx.Conn, len(notes))
		if err != nil {
			return err
		}
		rows := make([][]driver.Value, len(notes))
		for i, n := range notes {
			documents[i].No, documents[i].Stand = numbers[i], index.Stand{SessionNo: numbers[0], Place: int32(i)}
			rows[i] = []driver.Value{n.ID, numbers[i], f.ID, int32(i), int32(n.FirstLine), int32(n.LastLine), n.Text}
		}
		if err := tx.AppendRows("notes", rows); err != nil {
			return err
		}
		return k.index.InsertDocuments(ctx, tx, documents)
	})
	if err == nil {
		s.Notes += len(notes)
	}
	return err
}
