package pull

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/BurntSushi/toml"
)

// LockFile is the name of the user's lock file, in the folder of the models.
const LockFile = "mallard-models.lock"

// parts is the folder, beside the models, of what is not whole yet.
const parts = ".part"

// entry is what a lock says of a model or of an archive.
type entry struct {
	Source   string `toml:"source"`
	Revision string `toml:"revision,omitempty"`
	Files    []File `toml:"files"`
}

// lockfile is the user's, by name.
type lockfile struct {
	Models map[string]entry `toml:"models"`
}

func readLock(folder string) (lockfile, error) {
	all := lockfile{Models: map[string]entry{}}
	path := filepath.Join(folder, LockFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		_, err = toml.Decode(string(text), &all)
	}
	if err != nil {
		return all, fmt.Errorf("%s: %w", path, err)
	}
	for name, e := range all.Models {
		for _, f := range e.Files {
			if len(f.SHA256) != hex.EncodedLen(sha256.Size) || !filepath.IsLocal(filepath.FromSlash(f.Path)) {
				return all, fmt.Errorf("%s: models.%s: %q with the SHA-256 %q is no file of a model", path, name, f.Path, f.SHA256)
			}
		}
	}
	return all, nil
}

// noteLock adds or replaces an entry. The file is written anew beside the old one, which it then replaces.
func noteLock(ctx context.Context, folder, name string, e entry) error {
	release, err := hold(ctx, filepath.Join(folder, parts, LockFile))
	if err != nil {
		return err
	}
	defer release()
	all, err := readLock(folder)
	if err != nil {
		return err
	}
	if all.Models == nil {
		all.Models = map[string]entry{}
	}
	all.Models[name] = e
	var text bytes.Buffer
	text.WriteString("# Written by memctl model pull --lock: what the files of these models have to be. An entry that is taken out is not held to any more.\n\n")
	if err := toml.NewEncoder(&text).Encode(all); err != nil {
		return err
	}
	path := filepath.Join(folder, LockFile)
	next := filepath.Join(folder, parts, LockFile+".new")
	if err := writeSynced(next, text.Bytes()); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// hold takes a lock between processes, and between those of this one, by a file that it leaves; it waits for whoever has it.
func hold(ctx context.Context, path string) (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path+".held", os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	for {
		taken, err := lockFile(file)
		if err == nil && taken {
			return func() { file.Close() }, nil
		}
		if err == nil {
			err = sleep(ctx, 50*time.Millisecond)
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
}

// hashFile gives a file as a lock would have it.
func hashFile(path string) (size int64, sum string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	h := sha256.New()
	if size, err = io.Copy(h, file); err != nil {
		return 0, "", err
	}
	return size, hex.EncodeToString(h.Sum(nil)), nil
}

func writeSynced(path string, content []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close())
}
