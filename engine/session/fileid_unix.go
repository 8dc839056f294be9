//go:build unix

package session

import (
	"fmt"
	"os"
	"syscall"
)

// fileID tells a file from others that had its name before.
func fileID(info os.FileInfo) string {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", s.Dev, s.Ino)
	}
	return ""
}
