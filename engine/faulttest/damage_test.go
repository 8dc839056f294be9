package faulttest

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// damage is something that happens to a file behind everybody's back.
type damage struct {
	name string
	do   func(rng *rand.Rand, content []byte) []byte
}

// blockSize is how much of a file a database reads and writes at once.
const blockSize = 256 << 10

var damages = []damage{
	{"flipped bit", func(rng *rand.Rand, b []byte) []byte {
		b[spot(rng, b)] ^= 1 << rng.IntN(8)
		return b
	}},
	{"zeroed sector", func(rng *rand.Rand, b []byte) []byte {
		clear(stretch(rng, b, sector))
		return b
	}},
	{"garbage in a sector", func(rng *rand.Rand, b []byte) []byte {
		garbage(rng, stretch(rng, b, sector))
		return b
	}},
	{"zeroed page", func(rng *rand.Rand, b []byte) []byte {
		clear(stretch(rng, b, page))
		return b
	}},
	{"zeroed block", func(rng *rand.Rand, b []byte) []byte {
		clear(stretch(rng, b, blockSize))
		return b
	}},
	{"garbage in a block", func(rng *rand.Rand, b []byte) []byte {
		garbage(rng, stretch(rng, b, blockSize))
		return b
	}},
	{"sector of another place", func(rng *rand.Rand, b []byte) []byte {
		copy(stretch(rng, b, sector), bytes.Clone(stretch(rng, b, sector)))
		return b
	}},
	{"cut", func(rng *rand.Rand, b []byte) []byte { return b[:spot(rng, b)] }},
}

// headers is where a file has what all else hangs on: a damage of three strikes there.
const headers = 3 * page

// spot is a place in a file.
func spot(rng *rand.Rand, b []byte) int {
	if rng.IntN(3) == 0 {
		return rng.IntN(min(headers, len(b)))
	}
	return rng.IntN(len(b))
}

// stretch is a piece of a file, at a multiple of its length.
func stretch(rng *rand.Rand, b []byte, length int) []byte {
	from := spot(rng, b) / length * length
	return b[from:min(from+length, len(b))]
}

func garbage(rng *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
}

// strike damages one of the files: mostly the file itself or its log, else any. It says what it did.
func (m image) strike(rng *rand.Rand, kind damage) (damaged image, what string) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(name string) bool { return len(m[name]) == 0 || strings.HasPrefix(name, copyName) })
	name := names[rng.IntN(len(names))]
	if _, log := m[logName]; rng.IntN(4) > 0 {
		name = fileName
		if log && len(m[logName]) > 0 && rng.IntN(2) == 0 {
			name = logName
		}
	}
	damaged = maps.Clone(m)
	damaged[name] = kind.do(rng, bytes.Clone(m[name]))
	return damaged, fmt.Sprintf("%s of %s", kind.name, name)
}

// logName is the log of the file.
const logName = fileName + ".wal"
