//go:build unix

package duckfile

import "os"

func syncFolder(folder *os.File) error { return folder.Sync() }
