//go:build !unix

package session

import "os"

// fileID would tell a file from others that had its name before; here only its first line does.
func fileID(os.FileInfo) string { return "" }
