package duckfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Types of the log's entries that matter here.
const (
	versionEntry    = 98
	checkpointEntry = 99
	flushEntry      = 100
)

// flush is an entry that ends a transaction, whole: the same bytes each time.
var flush = entry([]byte{100, 0, flushEntry, 0xff, 0xff})

// entry puts length and checksum before the content of an entry.
func entry(content []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(content)))
	return append(binary.LittleEndian.AppendUint64(b, checksum(content)), content...)
}

// Log is how far a write-ahead log is whole.
type Log struct {
	Size      int64
	ID        ID     // of its file
	Iteration uint64 // of its file, when it was begun
	Named     bool   // it begins with a header that says ID and Iteration
	Commits   int    // whole transactions
	End       int64  // where the last of them ends, or 0
	// Damaged is where the first entry lies that is not as it was written, or Size.
	Damaged int64
	// Cut is whether the log ends within that entry, as far as what there is of it can be told from anything else.
	Cut bool
	// Followed is whether something was written after the transaction that lies at End: that transaction was on disk, then.
	Followed bool
	// Blank is whether all bytes are zero from some sector on, between Damaged and Size.
	Blank bool
}

// Whole reports whether the log is just as its transactions left it.
func (l *Log) Whole() bool { return l.End == l.Size }

// shortestLog is less than a header and an entry have.
const shortestLog = 40

// longestEntry is more than an entry has: rows are logged some thousand at a time.
const longestEntry = 1 << 30

// sector is what a disk writes at once, at the least.
const sector = 512

// ScanLog reads a log of size bytes, a little at a time.
func ScanLog(r io.ReaderAt, size int64) (*Log, error) {
	l := &Log{Size: size}
	head := make([]byte, min(size, sector))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var err error
	if at := int64(l.header(head)); at > 0 {
		l.Damaged, err = l.entries(r, at)
	} else {
		l.Cut = size < shortestLog && bytes.HasPrefix(flush[16:], head[:min(size, 2)])
	}
	if err != nil || l.Whole() {
		return l, err
	}
	next, err := find(r, l.End, size, flush)
	if err != nil {
		return nil, err
	}
	l.Followed = next >= 0 && next+int64(len(flush)) < size
	from := (l.Damaged + sector - 1) / sector * sector
	if from < size {
		l.Blank, err = blank(r, from, size)
	}
	return l, err
}

// entries reads entry after entry and gives where the first one lies that is not whole.
func (l *Log) entries(r io.ReaderAt, at int64) (int64, error) {
	const head = 16
	in := bufio.NewReaderSize(io.NewSectionReader(r, at, l.Size-at), int(min(1<<20, l.Size)))
	for at < l.Size {
		if l.Cut = at+head > l.Size; l.Cut {
			return at, nil
		}
		var b [head]byte
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return at, err
		}
		length, want := binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
		if length > uint64(l.Size-at-head) {
			begin, err := in.Peek(int(min(2, l.Size-at-head)))
			l.Cut = length <= longestEntry && bytes.HasPrefix(flush[head:], begin)
			return at, err
		}
		ends := length == uint64(len(flush)-head) && want == binary.LittleEndian.Uint64(flush[8:])
		sum, err := readChecksum(in, int64(length))
		if err != nil || sum != want {
			return at, err
		}
		if at += head + int64(length); ends {
			l.Commits++
			l.End = at
		}
	}
	return at, nil
}

// find gives where b first stands in [from, to) of r, or -1.
func find(r io.ReaderAt, from, to int64, b []byte) (int64, error) {
	buffer := make([]byte, min(1<<20, max(to-from, int64(len(b)))))
	for ; from < to; from += int64(len(buffer) - len(b) + 1) {
		part := buffer[:min(int64(len(buffer)), to-from)]
		if _, err := r.ReadAt(part, from); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if at := bytes.Index(part, b); at >= 0 {
			return from + int64(at), nil
		}
	}
	return -1, nil
}

// blank reports whether all bytes of r in [from, to) are zero.
func blank(r io.ReaderAt, from, to int64) (bool, error) {
	buffer := make([]byte, min(1<<20, to-from))
	for ; from < to; from += int64(len(buffer)) {
		part := buffer[:min(int64(len(buffer)), to-from)]
		if _, err := r.ReadAt(part, from); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if len(bytes.Trim(part, "\x00")) > 0 {
			return false, nil
		}
	}
	return true, nil
}

// header reads what a log begins with, and gives its length; 0: it is damaged. Numbers are of seven bits a byte, fields named by two bytes.
func (l *Log) header(b []byte) int {
	p := &properties{b: b}
	if p.field(100); p.number() != versionEntry {
		return 0
	}
	if p.field(101); p.number() != 2 {
		return 0
	}
	if p.has(102) {
		if p.number() != uint64(len(l.ID)) {
			return 0
		}
		for i := range l.ID {
			n := p.number()
			p.bad = p.bad || n > 0xff
			l.ID[i] = byte(n)
		}
		p.field(103)
		l.Iteration, l.Named = p.number(), true
	}
	p.field(0xffff)
	if p.bad {
		l.Named = false
		return 0
	}
	return p.at
}

// logHeader is the header of a log.
func logHeader(id ID, iteration uint64) []byte {
	field := binary.LittleEndian.AppendUint16
	b := binary.AppendUvarint(field(nil, 100), versionEntry)
	b = binary.AppendUvarint(field(b, 101), 2)
	b = binary.AppendUvarint(field(b, 102), uint64(len(id)))
	for _, n := range id {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return field(binary.AppendUvarint(field(b, 103), iteration), 0xffff)
}

// Ends counts the transactions whose end a log has between two bytes, whatever lies before them.
func Ends(r io.ReaderAt, from, to int64) (n int, err error) {
	for {
		at, err := find(r, from, to, flush)
		if err != nil || at < 0 {
			return n, err
		}
		n++
		from = at + int64(len(flush))
	}
}

// properties reads DuckDB's serialization of an object.
type properties struct {
	b   []byte
	at  int
	bad bool
}

func (p *properties) has(field uint16) bool {
	return p.at+2 <= len(p.b) && binary.LittleEndian.Uint16(p.b[p.at:]) == field && p.skip(2)
}

func (p *properties) skip(n int) bool {
	p.at += n
	return true
}

func (p *properties) field(field uint16) {
	if !p.has(field) {
		p.bad = true
	}
}

func (p *properties) number() uint64 {
	v, n := binary.Uvarint(p.b[min(p.at, len(p.b)):])
	if n <= 0 || p.bad {
		p.bad = true
		return 0
	}
	p.at += n
	return v
}

func (l *Log) String() string {
	return fmt.Sprintf("%d transactions in %d of %d bytes", l.Commits, l.End, l.Size)
}
