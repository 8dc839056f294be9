package share

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// within is an address for a new socket in a folder, however long the folder's name is, until done is called.
func within(folder, name string) (short string, done func(), err error) {
	return shorten(folder, "/"+name)
}

// reach is an address for a socket that is there.
func reach(address string) (short string, done func(), err error) { return shorten(address, "") }

// shorten takes the way through an open file where the name is too long.
func shorten(path, rest string) (short string, done func(), err error) {
	if len(path)+len(rest) <= mostAddress {
		return path + rest, func() {}, nil
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, &os.PathError{Op: "open", Path: filepath.Base(path), Err: err}
	}
	return fmt.Sprintf("/proc/self/fd/%d%s", fd, rest), func() { unix.Close(fd) }, nil
}
