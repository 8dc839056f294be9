//go:build unix && !linux

package share

import (
	"fmt"
	"path/filepath"
)

// within is an address for a new socket in a folder.
func within(folder, name string) (short string, done func(), err error) {
	return reach(filepath.Join(folder, name))
}

// reach is an address for a socket that is there.
func reach(address string) (short string, done func(), err error) {
	if len(address) > mostAddress {
		return "", nil, fmt.Errorf("the name has %d bytes; allowed: %d, so move the file to a folder of a shorter name", len(address), mostAddress)
	}
	return address, func() {}, nil
}
