package faulttest

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// disk is what a folder holds, and what of it is sure to survive a loss of power.
//
// The model is that of a journaling file system (ext4, XFS). What happens to names and lengths is written to a journal in its order, so after a
// loss of power a beginning of the journal holds. A sync of a file makes its content durable, and the journal as far as the last thing that
// concerns the file, its making, name and length included; a sync of a folder as far as the last thing that happened in it. What was written to
// files since is on the disk wholly, partly or not at all, in any order, in sectors of 512 bytes: what overwrote old content is old or
// new; what was added may also be zeros, or, where the disk was writing, garbage. What was never written to is never damaged.
type disk struct {
	names   map[string]*node // as processes see them
	durable map[string]*node // before the journal
	journal []entry          // that may or may not hold
	gone    int              // entries that hold for sure
	writes  int              // so far
}

// node is a file or folder.
type node struct {
	folder  bool
	stable  []byte   // what survives
	size    int64    // as processes see it
	pending []change // since, in their order
}

// change is a write to a node, or if data is nil a truncation.
type change struct {
	data  []byte
	at    int64
	entry int // of a truncation, its number in the journal; of a write, how many entries were before it
	write int // its number among all writes
	grows bool
}

// entry is something that happened to names, or a truncation.
type entry struct {
	kind        byte
	path, other string
	node        *node
}

func emptyDisk() *disk {
	root := &node{folder: true}
	return &disk{names: map[string]*node{"": root}, durable: map[string]*node{"": root}}
}

// newDisk holds the files of a folder.
func newDisk(folder string) (*disk, error) {
	d := emptyDisk()
	err := filepath.WalkDir(folder, func(name string, info fs.DirEntry, err error) error {
		if err != nil || name == folder {
			return err
		}
		n := &node{folder: info.IsDir()}
		if !n.folder {
			if n.stable, err = os.ReadFile(name); err != nil {
				return err
			}
			n.size = int64(len(n.stable))
		}
		in, err := filepath.Rel(folder, name)
		d.names[in] = n
		return err
	})
	d.durable = maps.Clone(d.names)
	return d, err
}

// do does to the disk what a process did.
func (d *disk) do(o operation) {
	if !o.changes() {
		return
	}
	n := d.names[o.path]
	switch o.kind {
	case 'o':
		if o.made && n == nil {
			n = &node{}
			d.enter(entry{kind: 'o', path: o.path, node: n})
		}
		if o.emptied && n != nil && n.size > 0 {
			d.truncate(n, 0, o.path)
		}
	case 'd':
		d.enter(entry{kind: 'd', path: o.path, node: &node{folder: true}})
	case 'w':
		d.writes++
		n.pending = append(n.pending, change{data: o.data, at: o.at, entry: d.gone + len(d.journal), write: d.writes, grows: o.at+int64(len(o.data)) > n.size})
		n.size = max(n.size, o.at+int64(len(o.data)))
	case 't':
		d.truncate(n, o.at, o.path)
	case 'r', 'l', 'u':
		d.enter(entry{kind: o.kind, path: o.path, other: o.other, node: n})
	case 's':
		d.sync(n, o.path)
	}
}

func (d *disk) enter(e entry) {
	d.journal = append(d.journal, e)
	e.hold(d.names)
}

func (d *disk) truncate(n *node, size int64, path string) {
	n.pending = append(n.pending, change{at: size, entry: d.gone + len(d.journal)})
	n.size = size
	d.journal = append(d.journal, entry{kind: 't', path: path, node: n})
}

// hold does to names what the entry says.
func (e entry) hold(names map[string]*node) {
	switch e.kind {
	case 'o', 'd':
		names[e.path] = e.node
	case 'l':
		names[e.other] = e.node
	case 'u':
		delete(names, e.path)
	case 'r':
		for name, n := range maps.Clone(names) { // a folder takes what is in it along
			if rest, ok := strings.CutPrefix(name, e.path+"/"); ok {
				delete(names, name)
				names[e.other+"/"+rest] = n
			}
		}
		delete(names, e.path)
		names[e.other] = e.node
	}
}

// sync makes a file or folder durable.
func (d *disk) sync(n *node, name string) {
	last := -1
	for i, e := range d.journal {
		if e.node == n || n.folder && (inFolder(e.path, name) || e.other != "" && inFolder(e.other, name)) {
			last = i
		}
	}
	for _, c := range n.pending {
		if c.grows { // its new length comes after them
			last = max(last, c.entry-d.gone-1)
		}
	}
	for _, e := range d.journal[:last+1] {
		e.hold(d.durable)
	}
	d.journal = slices.Clone(d.journal[last+1:])
	d.gone += last + 1
	for _, c := range n.pending {
		n.stable = c.onto(n.stable)
	}
	n.pending = nil
}

func inFolder(name, folder string) bool {
	return name != "" && strings.TrimSuffix(path.Dir("/"+name), "/") == strings.TrimSuffix("/"+folder, "/")
}

// onto gives content as the change leaves it.
func (c change) onto(content []byte) []byte {
	end := c.at + int64(len(c.data))
	if more := end - int64(len(content)); more > 0 {
		content = append(content, make([]byte, more)...)
	}
	if c.data == nil {
		return content[:c.at]
	}
	copy(content[c.at:], c.data)
	return content
}

// unsynced reports whether a loss of power could leave something else than a kill would.
func (d *disk) unsynced() bool {
	if len(d.journal) > 0 {
		return true
	}
	for _, n := range d.names {
		if len(n.pending) > 0 {
			return true
		}
	}
	return false
}
