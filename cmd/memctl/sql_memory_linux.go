package main

import "syscall"

// limitMemory has the system refuse this process more than so many megabytes. It counts what can be written, not what Go reserves.
func limitMemory(megabytes int) error {
	limit := uint64(megabytes) << 20
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit})
}
