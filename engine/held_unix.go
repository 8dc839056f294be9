//go:build unix

package engine

import (
	"os"
	"syscall"
)

// lockFile takes the lock that DuckDB takes too, of the same process, without waiting.
func lockFile(file *os.File, readOnly bool) error {
	kind := int16(syscall.F_WRLCK)
	if readOnly {
		kind = syscall.F_RDLCK
	}
	return syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: kind})
}
