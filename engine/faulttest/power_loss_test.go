package faulttest

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// way is how a loss of power treats what was not synced.
type way struct {
	name  string
	names int     // which of the journal holds: noNames, anyNames or allNames
	unit  int64   // of the pieces in which a write reaches the disk; 0: whole
	over  float64 // share of the pieces over old content that do
	added float64 // and of those that make a file longer
	holes bool    // what was added and did not is zeros; else the file is not longer for it
	order bool    // writes reach the disk in their order, up to one that is torn
	spoil func(rng *rand.Rand, b []byte)
}

// What holds of the journal.
const (
	allNames = iota
	anyNames // a beginning: every other time all of it
	noNames
)

// sector is what a disk writes whole or not at all, page what a file system does.
const (
	sector = 512
	page   = 4096
)

// ways are all of them.
var ways = []way{
	{name: "sectors", names: anyNames, unit: sector, over: 0.5, added: 0.5, holes: true},
	{name: "zeros at the end", names: anyNames, over: 1, added: 1, spoil: func(_ *rand.Rand, b []byte) { clear(b) }},
	{name: "nothing", names: noNames},
	{name: "in order", names: anyNames, unit: sector, over: 1, added: 1, order: true},
	{name: "pages", names: anyNames, unit: page, over: 0.5, added: 0.5},
	{name: "garbage at the end", names: anyNames, over: 1, added: 1, spoil: garbage},
	{name: "writes", names: anyNames, over: 0.5, added: 0.5},
	{name: "length only", names: anyNames, unit: page, over: 1, added: 0.2, holes: true},
	{name: "everything", over: 1, added: 1},
	{name: "old content only", names: anyNames, unit: page, over: 1},
}

// image is a folder as it may be found: files by name; nil is a folder.
type image map[string][]byte

// loss is one loss of power.
type loss struct {
	way
	rng     *rand.Rand
	held    int     // entries of the journal
	torn    int     // the write that is the last, in order
	damaged *change // what the disk was doing
}

// left is what a loss of power in such a way leaves. What is random follows from rng.
func (d *disk) left(w way, rng *rand.Rand) image {
	l := loss{way: w, rng: rng, held: d.gone + len(d.journal)}
	switch w.names {
	case anyNames:
		if rng.IntN(2) == 0 {
			l.held = d.gone + rng.IntN(len(d.journal)+1)
		}
	case noNames:
		l.held = d.gone
	}
	names := maps.Clone(d.durable)
	for _, e := range d.journal[:l.held-d.gone] {
		e.hold(names)
	}
	if pending := d.pending(); len(pending) > 0 {
		l.torn = pending[rng.IntN(len(pending))].write
		l.damaged = pending[len(pending)-1-rng.IntN(min(4, len(pending)))]
	}
	made := map[*node][]byte{} // two names may be of one file
	all := image{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n := names[name]
		if n.folder {
			if name != "" {
				all[name] = nil
			}
			continue
		}
		if _, ok := made[n]; !ok {
			made[n] = l.content(n)
		}
		all[name] = made[n]
	}
	return all
}

// pending gives all writes that are not synced, in their order.
func (d *disk) pending() (all []*change) {
	seen := map[*node]bool{}
	for _, n := range d.names {
		for i := range n.pending {
			if !seen[n] && n.pending[i].data != nil {
				all = append(all, &n.pending[i])
			}
		}
		seen[n] = true
	}
	slices.SortFunc(all, func(a, b *change) int { return a.write - b.write })
	return all
}

// content is what is left of a file.
func (l *loss) content(n *node) []byte {
	content := append([]byte{}, n.stable...)
	reach := int64(1) << 62 // a truncation that does not hold hides what was written behind it
	for i := range n.pending {
		c := &n.pending[i]
		switch {
		case c.data != nil && c.entry > l.held: // nor does its adding to the file, which comes later
			content = l.write(content, c, min(reach, int64(len(content))))
		case c.data != nil:
			content = l.write(content, c, reach)
		case c.entry < l.held:
			content = c.onto(content)
		default:
			reach = min(reach, c.at)
		}
	}
	return content
}

// write brings of a write to the file what gets through, up to reach.
func (l *loss) write(content []byte, c *change, reach int64) []byte {
	end := min(c.at+int64(len(c.data)), reach)
	was := int64(len(content))
	for at := c.at; at < end; {
		next := end
		if l.unit > 0 {
			next = min((at/l.unit+1)*l.unit, end)
		}
		piece := change{data: c.data[at-c.at : next-c.at], at: at}
		added := at >= was
		if l.survives(c, added) {
			content = piece.onto(content)
		} else if added && l.holes {
			content = change{data: make([]byte, len(piece.data)), at: at}.onto(content)
		}
		at = next
	}
	if c == l.damaged && l.spoil != nil && end > c.at {
		length := min(end-c.at, sector<<l.rng.IntN(4))
		l.spoil(l.rng, content[end-length:end])
	}
	return content
}

func (l *loss) survives(c *change, added bool) bool {
	switch {
	case l.order && c.write == l.torn:
		return l.rng.IntN(2) == 0
	case l.order && c.write > l.torn:
		return false
	case added:
		return l.rng.Float64() < l.added
	}
	return l.rng.Float64() < l.over
}

// found is the folder as it is: what a kill leaves.
func (d *disk) found() image {
	everything := way{over: 1, added: 1}
	return d.left(everything, rand.New(rand.NewPCG(0, 0)))
}

// after is what a kill leaves when one more operation was done, of which the disk does not know yet.
func (d *disk) after(o operation) image {
	all := d.found()
	if n := d.names[o.path]; o.kind == 'w' && o.changes() && n != nil {
		for name := range all {
			if d.names[name] == n {
				all[name] = change{data: o.data, at: o.at}.onto(all[name])
			}
		}
	}
	return all
}

// same reports whether two images are.
func (m image) same(other image) bool {
	return maps.EqualFunc(m, other, func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) })
}

// make writes the image into a folder.
func (m image) make(folder string) error {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		full := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			return err
		}
		if m[name] == nil {
			if err := os.MkdirAll(full, 0o700); err != nil {
				return err
			}
		} else if err := os.WriteFile(full, m[name], 0o600); err != nil {
			return err
		}
	}
	return nil
}
