package pull

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// RuntimeRequest says which ONNX Runtime to fetch, and where to.
type RuntimeRequest struct {
	// To is the folder in which each version gets a folder of its name. Default onnxruntime in the user's cache folder for mallard, where embed/ort looks.
	To string
	// Version is that of the release. Default the locked one.
	Version string
	// OS and Arch are the system, as Go names it. Default this one.
	OS, Arch string
	// From is an archive: a file or an address. Releases (.tgz, .zip) and Python wheels (.whl) are known. Default the release.
	From string
	// Lock takes an archive that is in no lock as it comes, and locks it.
	Lock bool
}

// RuntimeFolder is where ONNX Runtime is put, and looked for, by default.
func RuntimeFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "mallard", "onnxruntime"), nil
}

// Runtime brings ONNX Runtime's library, unless that version is there. A file of this machine needs no lock.
func (s Source) Runtime(ctx context.Context, r RuntimeRequest) (*Pulled, error) {
	s, err := s.withDefaults()
	if err == nil && r.To == "" {
		r.To, err = RuntimeFolder()
	}
	if err != nil {
		return nil, err
	}
	r.OS, r.Arch = cmp.Or(r.OS, runtime.GOOS), cmp.Or(r.Arch, runtime.GOARCH)
	chosen, address, err := s.chooseArchive(r)
	if err != nil {
		return nil, err
	}
	name := "onnxruntime"
	pulled := &Pulled{Name: name, Folder: filepath.Join(r.To, chosen.Version), Source: address, Revision: chosen.Version}
	release, err := hold(ctx, filepath.Join(r.To, parts, name))
	if err != nil {
		return nil, err
	}
	defer release()
	if pulled.Library, err = findLibrary(pulled.Folder, r.OS); err == nil {
		pulled.Already = true
		return pulled, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	packed := r.From
	if strings.Contains(address, "://") {
		packed = filepath.Join(r.To, parts, chosen.Path)
		lock := chosen.SHA256 == ""
		if lock {
			own, err := readLock(r.To)
			if err != nil {
				return nil, err
			}
			if i := slices.IndexFunc(own.Models[chosen.Path].Files, func(f File) bool { return f.Path == chosen.Path }); i >= 0 {
				chosen.File, lock = own.Models[chosen.Path].Files[i], false
			}
		}
		if lock && !r.Lock {
			return nil, &Unlocked{name + " " + chosen.Version, address, ""}
		}
		file, err := s.fetch(ctx, address, packed, chosen.File)
		if err != nil {
			if errors.Is(err, context.Canceled) || errors.As(err, new(*Mismatch)) || errors.As(err, &written{}) {
				return nil, err
			}
			return nil, &Missing{name, []MissingFile{{chosen.File, address}}, err, fmt.Sprintf(
				"get the archive some other way, and name its file in place of the address; or put only the library into %s.", filepath.Join(pulled.Folder, "lib"))}
		}
		pulled.Files, pulled.Locked = []File{file}, lock
		if lock {
			if err := noteLock(ctx, r.To, chosen.Path, entry{Source: address, Revision: chosen.Version, Files: pulled.Files}); err != nil {
				return nil, err
			}
		}
	}
	if err := place(packed, r.OS, pulled); err != nil {
		return nil, err
	}
	if packed == r.From {
		return pulled, nil
	}
	return pulled, os.Remove(packed) // it has served
}

// place unpacks an archive beside, and then gives the folder its name.
func place(packed, system string, pulled *Pulled) error {
	staged := filepath.Join(filepath.Dir(pulled.Folder), parts, "unpacked", pulled.Revision)
	if err := os.RemoveAll(staged); err != nil {
		return err
	}
	if err := unpack(packed, filepath.Join(staged, "lib"), system); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", packed, err), os.RemoveAll(staged))
	}
	if err := os.RemoveAll(pulled.Folder); err != nil { // it has no library
		return err
	}
	if err := os.Rename(staged, pulled.Folder); err != nil {
		return err
	}
	var err error
	pulled.Library, err = findLibrary(pulled.Folder, system)
	return err
}

// findLibrary gives the library in the folder of a version.
func findLibrary(folder, system string) (string, error) {
	for _, below := range []string{"lib", ""} {
		entries, err := os.ReadDir(filepath.Join(folder, below))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		for _, e := range entries {
			if isLibrary(e.Name(), system) {
				return filepath.Join(folder, below, e.Name()), nil
			}
		}
	}
	return "", fmt.Errorf("%s has no library: %w", folder, fs.ErrNotExist)
}

// chooseArchive gives the archive for a request, and where it is.
func (s Source) chooseArchive(r RuntimeRequest) (archive, string, error) {
	if r.From != "" {
		chosen := archive{Version: cmp.Or(r.Version, versionIn(path.Base(filepath.ToSlash(r.From)))), File: File{Path: path.Base(filepath.ToSlash(r.From))}}
		if chosen.Version == "" {
			return chosen, "", &Invalid{"version", "", "that of the archive, such as 1.23.2"}
		}
		if strings.Contains(r.From, "://") {
			return chosen, r.From, errors.Join(checkAddress("from", r.From), checkName(chosen.Path), checkName(chosen.Version))
		}
		if info, err := os.Stat(r.From); err != nil || info.IsDir() {
			return chosen, "", &Invalid{"from", r.From, "an archive: a file, or an address"}
		}
		return chosen, r.From, checkName(chosen.Version)
	}
	var systems []string
	for _, a := range shipped().Runtimes {
		if a.OS == r.OS && a.Arch == r.Arch {
			if r.Version != "" && r.Version != a.Version {
				a = archive{r.Version, a.OS, a.Arch, File{Path: strings.ReplaceAll(a.Path, a.Version, r.Version)}}
			}
			return a, s.Releases + "/v" + a.Version + "/" + a.Path, checkName(a.Version)
		}
		systems = append(systems, a.OS+"/"+a.Arch)
	}
	return archive{}, "", &Invalid{"system", r.OS + "/" + r.Arch, strings.Join(systems, ", ") + "; or an archive for it with From"}
}

// versionIn finds the version in the name of an archive, such as onnxruntime-linux-x64-1.23.2.tgz or onnxruntime-1.23.2-cp312-….whl.
func versionIn(name string) string {
	for _, part := range strings.FieldsFunc(strings.TrimSuffix(strings.TrimSuffix(name, ".tgz"), ".zip"), func(r rune) bool { return r == '-' || r == '_' }) {
		if strings.Count(part, ".") == 2 && strings.Trim(part, "0123456789.") == "" {
			return part
		}
	}
	return ""
}
