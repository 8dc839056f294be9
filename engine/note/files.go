package note

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
)

// File is a Markdown file, as it was read last.
type File struct {
	ID         string    `json:"id"`
	Folder     string    `json:"folder"` // its whole path
	Path       string    `json:"path"`   // within the folder, with slashes
	Scope      string    `json:"scope"`
	SHA256     string    `json:"sha256"`
	Bytes      int64     `json:"bytes"`
	Lines      int       `json:"lines"`
	Notes      int       `json:"notes"`
	ModifiedAt time.Time `json:"modified_at"`
	IndexedAt  time.Time `json:"indexed_at"`
}

// FilesRequest asks which files have notes.
type FilesRequest struct {
	Agent  string // empty: an internal caller
	Folder string // empty: any
}

// Files lists the files that have notes, or had none in them, by folder and path.
func (k *Keeper) Files(ctx context.Context, r FilesRequest) (all []File, err error) {
	err = k.file.Read(ctx, "note files", func(c *duck.Conn) error {
		all, err = k.files(ctx, c, r.Agent, r.Folder, "")
		return err
	})
	return all, err
}

// files gives the files of a folder, or of all, and of a path, or of all, that the agent may read.
func (k *Keeper) files(ctx context.Context, c *duck.Conn, agent, folder, path string) ([]File, error) {
	if err := cmp.Or(fault.CheckText("folder", folder), fault.CheckText("path", path)); err != nil {
		return nil, err
	}
	if folder != "" {
		whole, err := filepath.Abs(folder)
		if err != nil {
			return nil, fault.Invalid("folder", folder, "a folder")
		}
		folder = whole
	}
	scopes, _ := k.scopes.Now().ForReading(agent, nil)
	return duck.List(ctx, c, "note_files", func(rows *sql.Rows, f *File) error {
		var count, notes int32
		err := rows.Scan(&f.ID, &f.Folder, &f.Path, &f.Scope, &f.SHA256, &f.Bytes, &count, &notes, &f.ModifiedAt, &f.IndexedAt)
		f.Lines, f.Notes = int(count), int(notes)
		return err
	}, sql.Named("folder", duck.NullText(folder)), sql.Named("path", duck.NullText(path)), sql.Named("scopes", duck.ListArg(scopes)))
}

// one finds the file of a path.
func (k *Keeper) one(ctx context.Context, c *duck.Conn, agent, folder, path string) (*File, error) {
	if path == "" {
		return nil, fault.Invalid("path", path, "the path of a file that has notes")
	}
	found, err := k.files(ctx, c, agent, folder, filepath.ToSlash(path))
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fmt.Errorf("%w: no file %s has notes", fault.ErrNotFound, fault.Quote(path))
	case len(found) > 1:
		var folders []string
		for _, f := range found {
			folders = append(folders, f.Folder)
		}
		return nil, fmt.Errorf("%w: %s is in %s; name the folder", fault.ErrAmbiguous, fault.Quote(path), strings.Join(folders, ", "))
	}
	return &found[0], nil
}

// ReadRequest asks for lines of a file that has notes.
type ReadRequest struct {
	Agent               string // empty: an internal caller
	Folder              string // empty: any, if only one has the path
	Path                string // as in a hit of Recall
	FirstLine, LastLine int    // from 1; default all
}

// Piece is some lines of a file.
type Piece struct {
	File
	FirstLine int    `json:"first_line"`
	LastLine  int    `json:"last_line"`
	Text      string `json:"text"`
}

// Read gives lines of a file as they were when it was read last, and nothing of files that have no notes; lines after the last are left out. Errors:
// ErrNotFound, ErrAmbiguous, ErrInvalid.
func (k *Keeper) Read(ctx context.Context, r ReadRequest) (*Piece, error) {
	const op = "read note"
	if r.FirstLine < 0 {
		return nil, fmt.Errorf("%s: %w", op, fault.Invalid("first_line", r.FirstLine, "1 or more"))
	}
	if r.LastLine < 0 || r.LastLine > 0 && r.LastLine < r.FirstLine {
		return nil, fmt.Errorf("%s: %w", op, fault.Invalid("last_line", r.LastLine, "no less than first_line"))
	}
	var p *Piece
	err := k.file.Read(ctx, op, func(c *duck.Conn) error {
		f, err := k.one(ctx, c, r.Agent, r.Folder, r.Path)
		if err != nil {
			return err
		}
		p = &Piece{File: *f, FirstLine: max(r.FirstLine, 1), LastLine: f.Lines}
		if r.LastLine > 0 {
			p.LastLine = min(r.LastLine, f.Lines)
		}
		if p.FirstLine > max(p.LastLine, 1) {
			return fault.Invalid("first_line", r.FirstLine, fmt.Sprintf("at most %d, which is the last line of %s", f.Lines, f.Path))
		}
		wanted := make([]string, p.LastLine-p.FirstLine+1) // what no note has is blank
		err = c.Each(ctx, "notes_of", func(rows *sql.Rows) error {
			var first, last int32
			var text string
			if err := rows.Scan(&first, &last, &text); err != nil {
				return err
			}
			for i, line := range strings.Split(text, "\n") {
				if at := int(first) + i - p.FirstLine; at >= 0 && at < len(wanted) {
					wanted[at] = line
				}
			}
			return nil
		}, sql.Named("file_id", f.ID))
		p.Text = strings.Join(wanted, "\n")
		return err
	})
	return p, err
}

// ForgetRequest names files that shall have no notes any more.
type ForgetRequest struct {
	Agent  string // empty: an internal caller
	Folder string // empty: any, if only one has the path
	Path   string // empty: all files of the folder
}

// Forget removes the notes of a file, or of a folder, for good, with the words that no other document has; the file itself is the host's and stays. A Sync
// that finds it gives it notes again. It gives how many files that were. Errors: ErrNotFound, ErrAmbiguous, ErrInvalid.
func (k *Keeper) Forget(ctx context.Context, r ForgetRequest) (n int, err error) {
	const op = "forget notes"
	if r.Folder == "" && r.Path == "" {
		return 0, fmt.Errorf("%s: %w", op, fault.Invalid("path", "", "the path of a file that has notes, or a folder"))
	}
	err = k.file.Write(ctx, op, func(tx *duck.Write) error {
		var all []File
		if r.Path != "" {
			f, err := k.one(ctx, tx.Conn, r.Agent, r.Folder, r.Path)
			if err != nil {
				return err
			}
			all = []File{*f}
		} else if all, err = k.files(ctx, tx.Conn, r.Agent, r.Folder, ""); err != nil {
			return err
		} else if len(all) == 0 {
			return fmt.Errorf("%w: no file of the folder %s has notes", fault.ErrNotFound, fault.Quote(r.Folder))
		}
		leaving := index.Leaving{}
		for _, f := range all {
			if err := k.remove(ctx, tx, f.ID, leaving); err != nil {
				return err
			}
		}
		n = len(all)
		return k.index.SweepWords(ctx, tx, leaving)
	})
	return n, err
}

// remove takes out a file and its notes; the words of these are added to those that leave, unless leaving is nil.
func (k *Keeper) remove(ctx context.Context, tx *duck.Write, fileID string, leaving index.Leaving) error {
	var numbers []int32
	var owners []string
	err := tx.Each(ctx, "notes_numbers", func(rows *sql.Rows) error {
		var no int32
		var id string
		err := rows.Scan(&no, &id)
		numbers, owners = append(numbers, no), append(owners, id)
		return err
	}, sql.Named("file_id", fileID))
	if err != nil {
		return err
	}
	if leaving != nil {
		if err := k.index.LeaveWords(ctx, tx.Conn, leaving, map[kinds.Kind][]string{kinds.Note: owners}); err != nil {
			return err
		}
	}
	if err := k.index.DeleteDocuments(ctx, tx, kinds.Note, numbers); err != nil {
		return err
	}
	for _, query := range []string{"notes_delete", "note_file_delete"} {
		if _, err := tx.Exec(ctx, query, sql.Named("file_id", fileID)); err != nil {
			return err
		}
	}
	return nil
}
