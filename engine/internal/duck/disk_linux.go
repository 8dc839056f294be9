package duck

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
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
