//go:build !linux

package main

// limitMemory does nothing where no system call limits what a process maps; DuckDB's own limit holds.
func limitMemory(int) error { return nil }
