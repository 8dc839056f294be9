package duckfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// A journal is: what it is, its file's ID and iteration, and how many pieces follow; of each piece where it lies, how long it is, and its
// bytes; and a checksum of everything before it.
const journalMagic = "mallard journal 1"

var table = crc64.MakeTable(crc64.ECMA)

// WriteJournal keeps what the next checkpoint of file may overwrite in place, in a new file of that name, and returns when it is on disk. It gives
// the length. The file must be as its last checkpoint left it.
func WriteJournal(name string, file io.ReaderAt) (size int64, err error) {
	f, err := ReadFile(file)
	if err != nil {
		return 0, err
	}
	space, err := f.Space()
	if err != nil {
		return 0, err
	}
	out, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err = errors.Join(err, out.Close()); err != nil {
			os.Remove(name)
		}
	}()
	sum := crc64.New(table)
	w := &counted{w: io.MultiWriter(out, sum)}
	w.text(journalMagic)
	w.bytes(f.ID[:])
	w.number(f.Iteration)
	blocks := slices.DeleteFunc(space.Metadata, func(m Metadata) bool { return m.Free == 0 })
	w.number(uint64(1 + len(blocks)))
	w.piece(file, 0, blocksFrom)
	for _, m := range blocks {
		w.piece(file, blockAt(m.Block), blockBytes)
	}
	w.number(sum.Sum64())
	if w.err != nil {
		return w.n, w.err
	}
	if err := out.Sync(); err != nil {
		return w.n, err
	}
	return w.n, SyncFolder(filepath.Dir(name))
}

// Restored says what Restore did.
type Restored int

const (
	NothingKept  Restored = iota // there is no journal, or it was not finished: the checkpoint had not begun
	AfterSwitch                  // the checkpoint is on disk, whole
	BeforeSwitch                 // the checkpoint was not finished: the file is as it was before it
	OtherState                   // the journal is of another file, or another state of it
)

// Restore undoes a checkpoint of file that was broken off, with the journal of that name; or makes sure that one which was not is on disk. It
// may be broken off itself, and repeated. The journal stays.
func Restore(name string, file *os.File) (Restored, error) {
	j, err := readJournal(name)
	if j == nil || err != nil {
		return NothingKept, err
	}
	f, err := ReadFile(file)
	switch {
	case errors.Is(err, ErrDamaged): // a checkpoint writes one header of three
		return OtherState, nil
	case err != nil:
		return OtherState, err
	case f.ID != j.id || f.Iteration != j.iteration && f.Iteration != j.iteration+1:
		return OtherState, nil
	case f.Iteration == j.iteration+1:
		return AfterSwitch, f.SyncHeader(file)
	}
	for _, p := range j.pieces {
		if _, err := file.WriteAt(p.bytes, p.at); err != nil {
			return BeforeSwitch, err
		}
	}
	return BeforeSwitch, file.Sync()
}

type journal struct {
	id        ID
	iteration uint64
	pieces    []piece
}

type piece struct {
	at    int64
	bytes []byte
}

// readJournal gives nil where there is none that is whole.
func readJournal(name string) (*journal, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	head := len(journalMagic) + len(ID{}) + 8 + 8
	if len(b) < head+8 || string(b[:len(journalMagic)]) != journalMagic {
		return nil, nil
	}
	body, sum := b[:len(b)-8], binary.LittleEndian.Uint64(b[len(b)-8:])
	if crc64.Checksum(body, table) != sum {
		return nil, nil
	}
	j := &journal{}
	body = body[len(journalMagic):]
	body = body[copy(j.id[:], body):]
	number := func() uint64 {
		n := binary.LittleEndian.Uint64(body)
		body = body[8:]
		return n
	}
	j.iteration = number()
	for range number() {
		at, n := int64(number()), number()
		j.pieces = append(j.pieces, piece{at, body[:n]})
		body = body[n:]
	}
	return j, nil
}

// counted writes until something fails.
type counted struct {
	w   io.Writer
	n   int64
	err error
}

func (c *counted) bytes(b []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(b)
		c.n += int64(len(b))
	}
}

func (c *counted) text(s string)   { c.bytes([]byte(s)) }
func (c *counted) number(n uint64) { c.bytes(binary.LittleEndian.AppendUint64(nil, n)) }

func (c *counted) piece(r io.ReaderAt, at, n int64) {
	if c.err != nil {
		return
	}
	b := make([]byte, n)
	if _, err := r.ReadAt(b, at); err != nil {
		c.err = fmt.Errorf("%d bytes at %d: %w", n, at, err)
		return
	}
	c.number(uint64(at))
	c.number(uint64(n))
	c.bytes(b)
}

// SyncFolder makes names that were made, changed or removed in a folder outlast a loss of power.
func SyncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(syncFolder(folder), folder.Close())
}
