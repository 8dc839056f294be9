//go:build linux || darwin || freebsd

package duck

import (
	"syscall"
)

// freeSpace is how many bytes can be written to the disk of a folder.
func freeSpace(folder string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
