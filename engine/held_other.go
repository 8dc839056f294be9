//go:build !unix

package engine

import "os"

// lockFile leaves locking to DuckDB.
func lockFile(*os.File, bool) error { return nil }
