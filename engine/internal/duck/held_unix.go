//go:build unix

package duck

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// lockFile takes the lock that DuckDB takes too, of the same process, without waiting.
func lockFile(file *os.File, readOnly bool) error {
	return syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: lockKind(readOnly)})
}

func lockKind(readOnly bool) int16 {
	if readOnly {
		return syscall.F_RDLCK
	}
	return syscall.F_WRLCK
}

// holder names the process that keeps this one from its lock, and its program where the system says so.
func holder(file *os.File, readOnly bool) string {
	lock := syscall.Flock_t{Type: lockKind(readOnly)}
	if err := syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, &lock); err != nil || lock.Type == syscall.F_UNLCK || lock.Pid <= 0 {
		return "another process"
	}
	name := fmt.Sprintf("process %d", lock.Pid)
	if program, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", lock.Pid)); err == nil {
		name += " (" + strings.TrimSpace(string(program)) + ")"
	}
	return name
}

// HardLinks is how many names a file has.
func HardLinks(info os.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Nlink)
	}
	return 1
}

// KeepOwner gives a file the owner of another, where this process may: only the system's administrator needs to.
func KeepOwner(path string, of os.FileInfo) error {
	stat, ok := of.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, int(stat.Uid), int(stat.Gid))
}
