package duckfile

import (
	"encoding/binary"
	"io"
)

// checksum is the one that DuckDB puts before blocks and entries of the log.
func checksum(b []byte) uint64 {
	sum := uint64(5381)
	for len(b) >= 8 {
		sum ^= binary.LittleEndian.Uint64(b) * 0xbf58476d1ce4e5b9
		b = b[8:]
	}
	if len(b) > 0 {
		sum ^= remainder(b)
	}
	return sum
}

// readChecksum is the checksum of the next n bytes of r.
func readChecksum(r io.Reader, n int64) (uint64, error) {
	buffer := make([]byte, min(n, 64<<10)) // a multiple of eight where more follows
	sum := checksum(nil)
	for n > 0 {
		part := buffer[:min(n, int64(len(buffer)))]
		if _, err := io.ReadFull(r, part); err != nil {
			return 0, err
		}
		sum ^= checksum(part) ^ checksum(nil)
		n -= int64(len(part))
	}
	return sum, nil
}

// remainder is the checksum of the last one to seven bytes.
func remainder(b []byte) uint64 {
	const m = 0xc6a4a7935bd1e995
	const r = 47
	h := 0xe17a1465 ^ uint64(len(b))*m
	for i := len(b) - 1; i >= 0; i-- {
		h ^= uint64(b[i]) << (8 * i)
	}
	h *= m
	h ^= h >> r
	h *= m
	h ^= h >> r
	return h
}
