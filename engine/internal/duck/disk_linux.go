package duck

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// reserveSpace has the disk keep room for a file of size bytes, whose length stays as it is; ErrDiskFull: there is none. The file may be new.
func reserveSpace(name string, size int64) error {
	const keepSize = 1 // FALLOC_FL_KEEP_SIZE
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	err = syscall.Fallocate(int(file.Fd()), keepSize, 0, size)
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Fallocate(int(file.Fd()), keepSize, 0, size)
	}
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		err = SpaceFor(filepath.Dir(name), size)
	}
	return errors.Join(err, file.Close())
}

// renameNew gives a file a name that nothing has yet: os.ErrExist. It is one step, so that no fault leaves the file with two names.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) { // the file system can't
		return linkNew(from, to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}
