//go:build !(linux || darwin || freebsd)

package duck

import "math"

// freeSpace is not known here: what does not fit shows when it is written.
func freeSpace(string) (int64, error) { return math.MaxInt64, nil }
