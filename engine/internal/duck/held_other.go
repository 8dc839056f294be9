//go:build !unix

package duck

import "os"

// lockFile leaves locking to DuckDB.
func lockFile(*os.File, bool) error { return nil }

// holder can't tell here.
func holder(*os.File, bool) string { return "another process" }

// HardLinks and KeepOwner leave both as they are.
func HardLinks(os.FileInfo) int           { return 1 }
func KeepOwner(string, os.FileInfo) error { return nil }
