package payload

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
)

// unfinished begins the name of a content that is being written; one that is older than abandoned was given up.
const (
	unfinished = ".new-"
	abandoned  = time.Hour
)

// folder is where the largest payloads lie, each under its SHA-256.
func (ct *Contents) folder() string { return ct.file.Path() + ".files" }

// ApartName is the path of a content that lies in the folder.
func (ct *Contents) ApartName(name string) string { return filepath.Join(ct.folder(), name) }

// PutAllApart puts those contents into the folder that lie there, before the rows that name them. It needs no lock. Beside a file that is only
// read it puts nothing; the write that follows is refused.
func (ct *Contents) PutAllApart(p Pending) error {
	if ct.opts.ReadOnly {
		return nil
	}
	for name, content := range p {
		if ct.apart(content) {
			if err := ct.putApart(name, content); err != nil {
				return err
			}
		}
	}
	return nil
}

// putApart puts a content into the folder unless it is there: written, synced, then renamed, so that under its name is all of it or nothing.
func (ct *Contents) putApart(name string, content []byte) error {
	path := ct.ApartName(name)
	if info, err := os.Stat(path); err == nil && info.Size() == int64(len(content)) {
		return nil
	}
	if err := os.MkdirAll(ct.folder(), 0o700); err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	f, err := os.CreateTemp(ct.folder(), unfinished)
	if err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("payload: %w", err)
	}
	return errors.Join(syncFolder(ct.folder()), syncFolder(filepath.Dir(ct.folder())))
}

// syncFolder makes the names in a folder last.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("payload: %w", err)
	}
	return nil
}

// Files says how the folder beside the file and the file differ; both lists are empty where they agree.
type Files struct {
	Orphans []string `json:"orphans"` // paths of files that no row names, left by writes that were broken off or by a purge
	Missing []string `json:"missing"` // hashes of payloads whose file is gone or of another length
}

// CheckPayloadFiles compares the folder of the largest payloads (the file's name and ".files") with the rows that name them. With remove,
// the orphans are deleted.
func (ct *Contents) CheckPayloadFiles(ctx context.Context, remove bool) (*Files, error) {
	result := &Files{Orphans: []string{}, Missing: []string{}}
	check := func(c *duck.Conn) error {
		wanted := map[string]int64{}
		err := c.Each(ctx, "payloads_apart", func(rows *sql.Rows) error {
			var name string
			var size int64
			if err := rows.Scan(&name, &size); err != nil {
				return err
			}
			wanted[name] = size
			return nil
		})
		if err != nil {
			return err
		}
		entries, err := os.ReadDir(ct.folder())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // renamed or given up since
			}
			if err != nil {
				return err
			}
			size, known := wanted[entry.Name()]
			switch {
			case known && size == info.Size():
				delete(wanted, entry.Name())
			case known, info.IsDir(), strings.HasPrefix(entry.Name(), unfinished) && time.Since(info.ModTime()) < abandoned:
			default:
				result.Orphans = append(result.Orphans, ct.ApartName(entry.Name()))
			}
		}
		for name := range wanted {
			result.Missing = append(result.Missing, name)
		}
		slices.Sort(result.Missing)
		if !remove {
			return nil
		}
		return duck.RemoveFiles(result.Orphans)
	}
	var err error
	if remove { // under the writer's lock: whoever writes looks for its files there once more
		err = ct.file.Write(ctx, "payload files", func(tx *duck.Write) error { return check(tx.Conn) })
	} else {
		err = ct.file.Read(ctx, "payload files", check)
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

// AlteredFiles gives the hashes of the payloads in the folder whose content has another one. It needs no lock: what lies there never changes.
func (ct *Contents) AlteredFiles(ctx context.Context, missing []string) (altered []string, err error) {
	var names []string
	err = ct.file.Read(ctx, "payload files", func(c *duck.Conn) error {
		return c.Each(ctx, "payloads_apart", func(rows *sql.Rows) error {
			var name string
			var size int64
			if err := rows.Scan(&name, &size); err != nil {
				return err
			}
			names = append(names, name)
			return nil
		})
	})
	for _, name := range names {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return altered, err
		}
		if slices.Contains(missing, name) {
			continue
		}
		switch sum, err := hashFile(ct.ApartName(name)); {
		case errors.Is(err, fs.ErrNotExist): // purged since
		case err != nil:
			return altered, fmt.Errorf("payload: %w", err)
		case sum != name:
			altered = append(altered, name)
		}
	}
	return altered, err
}

// hashFile gives the SHA-256 of a file.
func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// CopyFolder puts the payloads that lie apart beside a copy of the file; they never change, so a link will do. The caller has the
// writer's lock.
func (ct *Contents) CopyFolder(ctx context.Context, c *duck.Conn, out string) error {
	return c.Each(ctx, "payloads_apart", func(rows *sql.Rows) error {
		var name string
		var size int64
		if err := rows.Scan(&name, &size); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return CopyApart(ct.ApartName(name), filepath.Join(out+".files", name), size)
	})
}

// CopyApart copies a payload. What is left of an earlier copy is never written to, for it may be a link to the original itself. One that is
// gone can't be copied, and Check says so of the copy as it does of the original.
func CopyApart(from, to string, size int64) error {
	if info, err := os.Stat(to); err == nil && info.Size() == size {
		return nil
	}
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), duck.RemoveFiles([]string{to})); err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	return copyFile(from, to)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// clearUnfinished removes contents that a process which ended had begun to write. Nobody else writes there, for this one has the file locked.
func (ct *Contents) clearUnfinished() error {
	entries, err := os.ReadDir(ct.folder())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var left []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), unfinished) {
			left = append(left, ct.ApartName(entry.Name()))
		}
	}
	return duck.RemoveFiles(left)
}
