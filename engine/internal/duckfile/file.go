package duckfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Where things lie in a file.
const (
	headerBytes = 4096
	blocksFrom  = 3 * headerBytes
	blockBytes  = 256 << 10 // a checksum, then what it is of
	sumBytes    = 8
	parts       = 64                                      // of a block of metadata
	partBytes   = (blockBytes - sumBytes) / parts / 8 * 8 // each begins with a pointer to the next of its chain
)

// ErrDamaged is wrapped by what is said of bytes that are not as they were written.
var ErrDamaged = errors.New("damaged")

// ID tells one file from all others; the log of a file carries it too.
type ID [16]byte

// File is what the headers of a DuckDB file say.
type File struct {
	ID        ID
	Iteration uint64 // how often it was checkpointed: that of the newest header that is whole
	Torn      bool   // the other header is not whole, or not the other
	Blocks    int64

	r        io.ReaderAt
	at       int64   // of the newest header
	free     pointer // to the list of free blocks
	root     pointer // to the catalog
	believed bool    // blocks are taken as they are, whatever their checksum
}

// pointer is a block's number, and in its highest byte a part of it.
type pointer uint64

const nowhere = ^pointer(0)

func (p pointer) block() int64 { return int64(p &^ (0xff << 56)) }
func (p pointer) part() int64  { return int64(p >> 56) }

// ReadFile reads the headers. Errors: ErrDamaged where no state of the file can be told.
func ReadFile(r io.ReaderAt) (*File, error) {
	head, err := sealed(r, 0, headerBytes)
	if err != nil {
		return nil, fmt.Errorf("main header: %w", err)
	}
	if !bytes.HasPrefix(head, []byte("DUCK")) {
		return nil, fmt.Errorf("main header: %w: no DuckDB file", ErrDamaged)
	}
	f := &File{r: r}
	copy(f.ID[:], head[4+8+32+32+32+8:])
	var whole []*header
	for at := int64(headerBytes); at < blocksFrom; at += headerBytes {
		b, err := sealed(r, at, headerBytes)
		switch {
		case errors.Is(err, ErrDamaged):
			f.Torn = true
		case err != nil:
			return nil, err
		default:
			h := parseHeader(b)
			h.at = at
			whole = append(whole, h)
		}
	}
	if len(whole) == 0 {
		return nil, fmt.Errorf("headers: %w: neither is whole", ErrDamaged)
	}
	f.Torn = f.Torn || len(whole) == 2 && whole[0].twin(whole[1])
	newest := slices.MaxFunc(whole, func(a, b *header) int { return int(int64(a.iteration - b.iteration)) })
	f.Iteration, f.Blocks, f.at, f.free, f.root = newest.iteration, int64(newest.blocks), newest.at, newest.free, newest.root
	return f, nil
}

type header struct {
	at                int64
	iteration, blocks uint64
	root, free        pointer
}

func parseHeader(b []byte) *header {
	number := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	return &header{iteration: number(0), root: pointer(number(1)), free: pointer(number(2)), blocks: number(3)}
}

// sealed reads n bytes that begin with the checksum of the others, which it gives, also where only that is wrong.
func sealed(r io.ReaderAt, at, n int64) ([]byte, error) {
	b := make([]byte, n)
	if _, err := r.ReadAt(b, at); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: the file ends within %d bytes at %d", ErrDamaged, n, at)
	} else if err != nil {
		return nil, err
	}
	if stored, found := binary.LittleEndian.Uint64(b), checksum(b[sumBytes:]); stored != found {
		return b[sumBytes:], fmt.Errorf("%w: the checksum at %d is %d and should be %d", ErrDamaged, at, stored, found)
	}
	return b[sumBytes:], nil
}

func blockAt(number int64) int64 { return blocksFrom + number*blockBytes }

// Space is what each block of a file is used for; blocks in neither list hold data.
type Space struct {
	Free     []int64
	Metadata []Metadata
}

// Metadata is a block of metadata.
type Metadata struct {
	Block int64
	Free  uint64 // a bit for each part that nothing needs
}

// Space reads the list of free blocks.
func (f *File) Space() (*Space, error) {
	s := &Space{}
	if f.free == nowhere {
		return s, nil
	}
	chain := &chain{file: f, next: f.free}
	count := chain.number()
	for i := uint64(0); i < count && chain.err == nil; i++ {
		s.Free = append(s.Free, int64(chain.number()))
	}
	count = chain.number() // of blocks that several columns share, with how many do
	for i := uint64(0); i < count && chain.err == nil; i++ {
		chain.read(8 + 4)
	}
	count = chain.number()
	for i := uint64(0); i < count && chain.err == nil; i++ {
		s.Metadata = append(s.Metadata, Metadata{Block: int64(chain.number()), Free: chain.number()})
	}
	if chain.err != nil {
		return nil, fmt.Errorf("list of free blocks: %w", chain.err)
	}
	return s, nil
}

// SyncHeader returns when the newest header is on disk. It is written once more: a system whose sync has failed takes what it could not write for
// written.
func (f *File) SyncHeader(file *os.File) error {
	b := make([]byte, headerBytes)
	if _, err := file.ReadAt(b, f.at); err != nil {
		return err
	}
	if _, err := file.WriteAt(b, f.at); err != nil {
		return err
	}
	return file.Sync()
}

// CheckLength is ErrDamaged where a file of size bytes is too short for the blocks that are in use.
func (f *File) CheckLength(size int64) error {
	s, err := f.Space()
	if err != nil {
		return err
	}
	used := f.Blocks
	for used > 0 {
		if _, free := slices.BinarySearch(s.Free, used-1); !free {
			break
		}
		used--
	}
	if need := blockAt(used); size < need {
		return fmt.Errorf("%w: the file has %d bytes, and its blocks %d", ErrDamaged, size, need)
	}
	return nil
}

// chain reads parts of blocks of metadata, each of which names the next.
type chain struct {
	file  *File
	next  pointer
	block int64 // the one that was read last
	whole []byte
	rest  []byte
	parts int64
	err   error
}

// number reads the next eight bytes.
func (c *chain) number() uint64 {
	b := c.read(8)
	if c.err != nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// read gives the next n bytes, which may lie in two parts.
func (c *chain) read(n int) []byte {
	for len(c.rest) < n && c.err == nil {
		before := c.rest
		c.turn()
		c.rest = append(slices.Clip(before), c.rest...)
	}
	if c.err != nil {
		return nil
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b
}

// turn goes to the next part.
func (c *chain) turn() {
	at := c.next
	c.rest = nil
	c.parts++
	if at == nowhere || at.part() >= parts || at.block() < 0 || at.block() >= c.file.Blocks || c.parts > c.file.Blocks*parts {
		c.err = fmt.Errorf("%w: part %d of block %d is none of this file", ErrDamaged, at.part(), at.block())
		return
	}
	if c.whole == nil || c.block != at.block() {
		c.whole, c.err = sealed(c.file.r, blockAt(at.block()), blockBytes)
		if c.file.believed && c.whole != nil {
			c.err = nil
		}
		if c.err != nil {
			return
		}
		c.block = at.block()
	}
	part := c.whole[at.part()*partBytes:][:partBytes]
	c.next, c.rest = pointer(binary.LittleEndian.Uint64(part)), part[8:]
}

// Verify reads every block that is in use and gives the numbers of those whose checksum is wrong, in their order. progress, when it is not nil, is
// told how many blocks of how many were read, and ends the reading with its error. Errors: ErrDamaged where a damaged block is one of the list of free
// blocks; which are in use is then told as well as can be.
func (f *File) Verify(progress func(done, total int64) error) (damaged []int64, err error) {
	s, list := f.spaceAsFar()
	if list != nil && !errors.Is(list, ErrDamaged) {
		return nil, list
	}
	for number := range f.Blocks {
		if progress != nil {
			if err := progress(number, f.Blocks); err != nil {
				return damaged, err
			}
		}
		if _, free := slices.BinarySearch(s.Free, number); free {
			continue
		}
		_, err := sealed(f.r, blockAt(number), blockBytes)
		if errors.Is(err, ErrDamaged) {
			damaged = append(damaged, number)
		} else if err != nil {
			return damaged, err
		}
	}
	return damaged, list
}

// spaceAsFar is Space, and with its error what a list says that is not as it was written.
func (f *File) spaceAsFar() (*Space, error) {
	s, err := f.Space()
	if err == nil || !errors.Is(err, ErrDamaged) {
		return s, err
	}
	believed := *f
	believed.believed = true
	if s, tried := believed.Space(); tried == nil && slices.IsSorted(s.Free) {
		return s, err
	}
	return &Space{}, err
}
