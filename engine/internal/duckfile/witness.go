package duckfile

import (
	"encoding/binary"
	"errors"
	"hash/crc64"
	"io"
	"os"
	"path/filepath"
)

const witnessMagic = "mallard synced 1"

// Acknowledged is how much of a log was on disk when a call said so.
type Acknowledged struct {
	ID        ID     // of the file
	Iteration uint64 // of the file, when the log was begun
	Length    int64  // of the log
}

// Witness keeps the newest Acknowledged in a file of its own, which it overwrites in two places by turns: one of them is always whole. What it says may
// be older than what the log has, and never newer.
type Witness struct {
	file *os.File
	turn uint64 // of the newest
}

// OpenWitness opens the witness of that name, or makes it. Last is what it says; ok is whether it says anything.
func OpenWitness(name string) (w *Witness, last Acknowledged, ok bool, err error) {
	_, err = os.Stat(name)
	made := errors.Is(err, os.ErrNotExist)
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, last, false, err
	}
	w = &Witness{file: file}
	w.turn, last, ok, err = readWitness(file)
	if err == nil && made {
		err = SyncFolder(filepath.Dir(name))
	}
	if err != nil {
		file.Close()
		return nil, last, false, err
	}
	return w, last, ok, nil
}

// ReadWitness reads the witness of that name. ok is false where there is none.
func ReadWitness(name string) (last Acknowledged, ok bool, err error) {
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return last, false, nil
	}
	if err != nil {
		return last, false, err
	}
	defer file.Close()
	_, last, ok, err = readWitness(file)
	return last, ok, err
}

// Note keeps what is acknowledged now. It does not wait for the disk, so that a loss of power may leave what was noted before.
func (w *Witness) Note(a Acknowledged) error {
	b := make([]byte, 0, sector)
	b = append(b, witnessMagic...)
	b = append(b, a.ID[:]...)
	for _, n := range []uint64{w.turn + 1, a.Iteration, uint64(a.Length)} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	b = binary.LittleEndian.AppendUint64(b, crc64.Checksum(b, table))
	if _, err := w.file.WriteAt(b[:sector], int64((w.turn+1)%2)*sector); err != nil {
		return err
	}
	w.turn++
	return nil
}

// Sync waits until what was noted is on disk.
func (w *Witness) Sync() error { return w.file.Sync() }

// Close gives the file up.
func (w *Witness) Close() error { return w.file.Close() }

func readWitness(file io.ReaderAt) (turn uint64, last Acknowledged, ok bool, err error) {
	const length = len(witnessMagic) + len(ID{}) + 3*8
	for at := range int64(2) {
		b := make([]byte, length+8)
		if _, err := file.ReadAt(b, at*sector); errors.Is(err, io.EOF) {
			continue
		} else if err != nil {
			return 0, last, false, err
		}
		number := func(i int) uint64 { return binary.LittleEndian.Uint64(b[length-(3-i)*8:]) }
		if string(b[:len(witnessMagic)]) != witnessMagic || number(3) != crc64.Checksum(b[:length], table) || ok && number(0) < turn {
			continue
		}
		turn, ok = number(0), true
		last = Acknowledged{ID: ID(b[len(witnessMagic):]), Iteration: number(1), Length: int64(number(2))}
	}
	return turn, last, ok, nil
}
