//go:build linux

package faulttest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFullDisk lives on disks that are full after so many bytes, until room is made: what fails is an error and leaves nothing, and with room the
// file goes on with everything acknowledged.
func TestFullDisk(t *testing.T) {
	needTracer(t)
	const size, most = 96 << 20, 14 << 20
	reference := lived(t, "short")
	c, notes := newTrial(t), map[string]int{}
	var j juror
	defer j.leave()
	disks := asked(t, 1, 28)
	for n := range disks {
		room := int64(n+1) * most / int64(disks+1)
		place := scratch(t)
		mounted(t, filepath.Join(place, "life"), size)
		if err := fill(filepath.Join(place, "life", ballast), size-room); err != nil {
			t.Fatal(err)
		}
		p := staged(t, staging{place: place, role: "suffer", args: []string{"short", reference.log}})
		s := summaryOf(p)
		c.count(notes, s.notes)
		v := verdict{Fault: s.fault}
		if v.Fault == "" {
			v = j.ask(askedOf(reference, p, killed))
		}
		c.note(fmt.Sprintf("room for %d bytes", room), v, p.recording.said)
	}
	t.Logf("of %d disks: %v", disks, notes)
	c.report("full disks", reference)
}

// mounted makes the folder a small disk of its own.
func mounted(t *testing.T, folder string, size int) {
	t.Helper()
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, fmt.Sprint("size=", size)); err != nil {
		t.Skipf("no small disk can be made here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill makes a file of so many bytes, all of which are on the disk.
func fill(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	chunk := make([]byte, 1<<20)
	for size > 0 {
		n, err := f.Write(chunk[:min(size, int64(len(chunk)))])
		if err != nil {
			return err
		}
		size -= int64(n)
	}
	return nil
}
