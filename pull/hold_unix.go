//go:build !windows

package pull

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes the lock of a file without waiting. It is the open file's, and ends with it.
func lockFile(file *os.File) (taken bool, err error) {
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		return false, nil
	default:
		return false, err
	}
}
