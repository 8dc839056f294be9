//go:build !linux

package duck

import "path/filepath"

// reserveSpace looks whether the disk has room for a file of size bytes; ErrDiskFull: it has not.
func reserveSpace(name string, size int64) error { return spaceFor(filepath.Dir(name), size) }
