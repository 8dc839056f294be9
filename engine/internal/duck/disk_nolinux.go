//go:build !linux

package duck

import "path/filepath"

// reserveSpace looks whether the disk has room for a file of size bytes; ErrDiskFull: it has not.
func reserveSpace(name string, size int64) error { return SpaceFor(filepath.Dir(name), size) }

// renameNew gives a file a name that nothing has yet: os.ErrExist.
func renameNew(from, to string) error { return linkNew(from, to) }
