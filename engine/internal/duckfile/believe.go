package duckfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Copy is a copy of a damaged file, or of its log, that may be written to until it can be read.
type Copy interface {
	io.ReaderAt
	io.WriterAt
}

// Believe gives blocks the checksum that what they hold has, so that DuckDB reads them. What is wrong in them stays so: a reader may
// get other values than were written, or abort its process.
func Believe(c Copy, blocks []int64) error {
	for _, number := range blocks {
		if err := seal(c, blockAt(number), blockBytes); err != nil {
			return err
		}
	}
	return nil
}

// Metadata gives those of these blocks that hold metadata; where that can't be told, all of them.
func (f *File) Metadata(blocks []int64) (metadata []int64) {
	s, _ := f.spaceAsFar()
	if len(s.Metadata) == 0 {
		return blocks
	}
	holds := map[int64]bool{}
	for _, m := range s.Metadata {
		holds[m.Block] = true
	}
	for _, number := range blocks {
		if holds[number] {
			metadata = append(metadata, number)
		}
	}
	return metadata
}

// MendHeaders makes the headers of a copy such that DuckDB takes them. A damaged header that may be the newest is believed, else the other one stands
// in for it. It says what it did; behind: what the file says may be what it said before its last checkpoint. Errors: ErrDamaged for what can't have been
// a DuckDB file.
func MendHeaders(c Copy, size int64) (done []string, behind bool, err error) {
	if _, err := sealed(c, 0, headerBytes); errors.Is(err, ErrDamaged) {
		if err := mendMain(c); err != nil {
			return nil, false, err
		}
		done = append(done, "the main header was damaged and is believed")
	} else if err != nil {
		return nil, false, err
	}
	first, firstErr := readHeader(c, headerBytes)
	second, secondErr := readHeader(c, 2*headerBytes)
	switch {
	case firstErr == nil && secondErr == nil:
		if behind = first.twin(second); behind {
			done = append(done, "one of two headers was overwritten with the other")
		}
		return done, behind, nil
	case firstErr == nil:
		behind, err = mendHeader(c, 2*headerBytes, second, headerBytes, first, size, &done)
	case secondErr == nil:
		behind, err = mendHeader(c, headerBytes, first, 2*headerBytes, second, size, &done)
	case !first.fits(size) && !second.fits(size):
		return done, false, fmt.Errorf("headers: %w: neither is whole", ErrDamaged)
	case !second.fits(size):
		behind, err = !second.precedes(first), replaceHeader(c, 2*headerBytes, headerBytes)
		done = append(done, "both headers were damaged; one is believed")
	case !first.fits(size):
		behind, err = !first.precedes(second), replaceHeader(c, headerBytes, 2*headerBytes)
		done = append(done, "both headers were damaged; one is believed")
	default:
		err = errors.Join(seal(c, headerBytes, headerBytes), seal(c, 2*headerBytes, headerBytes))
		done = append(done, "both headers were damaged and are believed")
	}
	return done, behind, err
}

// Older makes the header before the newest one count: the file is then as its last checkpoint but one left it, as far as nothing of that was
// overwritten since.
func Older(c Copy) error {
	first, err := readHeader(c, headerBytes)
	if err != nil {
		return err
	}
	second, err := readHeader(c, 2*headerBytes)
	if err != nil {
		return err
	}
	if first.iteration > second.iteration {
		return replaceHeader(c, headerBytes, 2*headerBytes)
	}
	return replaceHeader(c, 2*headerBytes, headerBytes)
}

// Claim makes the log one of the state that a file is in, by the header that it would have.
func Claim(log io.WriterAt, f *File) error {
	_, err := log.WriteAt(logHeader(f.ID, f.Iteration), 0)
	return err
}

// mendMain believes the main header. It names the format; that much must be there, or the checksum right with it.
func mendMain(c Copy) error {
	const magic = "DUCK"
	b := make([]byte, headerBytes)
	if _, err := c.ReadAt(b, 0); err != nil {
		return fmt.Errorf("main header: %w: %w", ErrDamaged, err)
	}
	if string(b[sumBytes:][:len(magic)]) != magic {
		copy(b[sumBytes:], magic)
		if binary.LittleEndian.Uint64(b) != checksum(b[sumBytes:]) {
			return fmt.Errorf("main header: %w: no DuckDB file", ErrDamaged)
		}
	}
	binary.LittleEndian.PutUint64(b, checksum(b[sumBytes:]))
	_, err := c.WriteAt(b, 0)
	return err
}

// mendHeader believes a damaged header that may be the one after the whole one, or puts that in its place.
func mendHeader(c Copy, at int64, damaged *header, wholeAt int64, whole *header, size int64, done *[]string) (behind bool, err error) {
	next, err := renumber(c, at, whole.iteration+1)
	if err != nil {
		return false, err
	}
	if next || damaged.fits(size) && damaged.iteration == whole.iteration+1 {
		*done = append(*done, "the newest header was damaged and is believed")
		return false, seal(c, at, headerBytes)
	}
	*done = append(*done, "one of two headers was damaged; the other stands in for it")
	return !damaged.precedes(whole), replaceHeader(c, at, wholeAt)
}

// renumber gives a header the iteration with which its checksum is right, if that is this one.
func renumber(c Copy, at int64, iteration uint64) (ok bool, err error) {
	b := make([]byte, headerBytes)
	if _, err := c.ReadAt(b, at); errors.Is(err, io.EOF) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	binary.LittleEndian.PutUint64(b[sumBytes:], iteration)
	if binary.LittleEndian.Uint64(b) != checksum(b[sumBytes:]) {
		return false, nil
	}
	_, err = c.WriteAt(b, at)
	return err == nil, err
}

// precedes reports whether a damaged header says that it is the one before another. A blank one says nothing.
func (h *header) precedes(newer *header) bool {
	return h != nil && *h != header{} && h.iteration+1 == newer.iteration
}

// fits reports whether a header may be one of a file of that size.
func (h *header) fits(size int64) bool {
	const most = 1 << 40
	return h != nil && h.iteration < most && h.blocks < most && int64(h.blocks) <= (size-blocksFrom)/blockBytes+1 &&
		h.root.block() < int64(h.blocks) && (h.free == nowhere || h.free.block() < int64(h.blocks))
}

// readHeader gives what a header says, also where it is damaged; nil where it is not there.
func readHeader(r io.ReaderAt, at int64) (*header, error) {
	b, err := sealed(r, at, headerBytes)
	if b == nil {
		return nil, err
	}
	return parseHeader(b), err
}

// twin reports whether two headers tell of one state, which no checkpoint leaves: it writes them in turns.
func (h *header) twin(other *header) bool { return h.iteration == other.iteration && h.iteration > 0 }

// replaceHeader puts one header in the place of another, as the one before it, and seals both anew.
func replaceHeader(c Copy, at, by int64) error {
	b := make([]byte, headerBytes)
	if _, err := c.ReadAt(b, by); err != nil {
		return err
	}
	if iteration := binary.LittleEndian.Uint64(b[sumBytes:]); iteration > 0 {
		binary.LittleEndian.PutUint64(b[sumBytes:], iteration-1)
	}
	if _, err := c.WriteAt(b, at); err != nil {
		return err
	}
	return errors.Join(seal(c, at, headerBytes), seal(c, by, headerBytes))
}

// seal puts the checksum of n bytes before them.
func seal(c Copy, at, n int64) error {
	b := make([]byte, n)
	if _, err := c.ReadAt(b, at); errors.Is(err, io.EOF) {
		return nil // nothing there to be believed
	} else if err != nil {
		return err
	}
	_, err := c.WriteAt(binary.LittleEndian.AppendUint64(nil, checksum(b[sumBytes:])), at)
	return err
}
