//go:build !unix

package duckfile

import "os"

// syncFolder does nothing: the system keeps names by itself.
func syncFolder(*os.File) error { return nil }
