package faulttest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/memory"
)

// question is put to a judge: is a file what it should be after a crash?
type question struct {
	Reference string // recording of a life that nothing disturbed
	Recording string `json:",omitempty"` // of the same life, disturbed; default the reference
	// The folder as it is, of a life that came so far; or else one that is remade.
	Folder       string `json:",omitempty"`
	Acknowledged int    `json:",omitempty"`
	Begun        bool   `json:",omitempty"`
	// The folder as it was left after so many operations of the recording.
	From  string `json:",omitempty"` // what was in it before the first; default nothing
	After int    `json:",omitempty"`
	Way   int    // number in ways; -1: a kill; -2: a kill halfway through the last operation
	Seed  uint64 `json:",omitempty"` // of what is random
	Keep  string `json:",omitempty"` // where to leave what was remade
}

// Ways to end beside those of a loss of power.
const (
	killed   = -1
	killedIn = -2
)

func (q question) way() string {
	switch q.Way {
	case killed:
		return "kill"
	case killedIn:
		return "kill in a write"
	}
	return ways[q.Way].name
}

// verdict is the answer.
type verdict struct {
	Fault string // empty: everything is there, and nothing else
	Same  bool   // as the question before: not looked at again
	At    string // what the life was doing
}

// court is what a judge keeps from one question to the next.
type court struct {
	reference string
	chronicle chronicle
	log       string // of the recording
	recording recording
	from      string
	disk      *disk
	done      int // operations
	at        moment
	last      image
	lastAt    moment
}

// judge is the child that answers questions, each a line.
func judge([]string) error {
	var c court
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var q question
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			return err
		}
		v, err := c.answer(q)
		if err != nil {
			return err
		}
		tell(v)
	}
	return nil
}

func (c *court) answer(q question) (v verdict, err error) {
	if err := c.read(q); err != nil {
		return v, err
	}
	m, folder := moment{q.Acknowledged, q.Begun}, q.Folder
	if folder == "" {
		left := c.remake(q)
		m = c.at
		if q.Keep == "" && c.last != nil && m == c.lastAt && left.same(c.last) {
			return verdict{Same: true}, nil
		}
		c.last, c.lastAt = left, m
		if folder = q.Keep; folder == "" {
			if folder, err = os.MkdirTemp(filepath.Dir(q.Reference), "judged-"); err != nil {
				return v, err
			}
			defer os.RemoveAll(folder)
		}
		if err := left.make(folder); err != nil || q.Keep != "" {
			return v, err
		}
	}
	return verdict{Fault: c.look(folder, m), At: c.chronicle.at(m)}, nil
}

// read makes sure that the court knows the reference, and is not past the operation.
func (c *court) read(q question) (err error) {
	if c.reference != q.Reference {
		*c = court{reference: q.Reference}
		r, err := readRecording(q.Reference)
		if err != nil {
			return err
		}
		if c.chronicle, err = newChronicle(r); err != nil {
			return err
		}
	}
	if log := cmp.Or(q.Recording, q.Reference); c.log != log {
		c.log, c.disk = log, nil
		if c.recording, err = readRecording(log); err != nil {
			return err
		}
	}
	if q.Folder == "" && (c.disk == nil || c.done > q.After || c.from != q.From) {
		c.done, c.at, c.from, c.last = 0, moment{}, q.From, nil
		if q.From == "" {
			c.disk = emptyDisk()
			return nil
		}
		c.disk, err = newDisk(q.From)
	}
	return err
}

// remake goes on to the operation and makes of the folder what is left of it.
func (c *court) remake(q question) (left image) {
	for ; c.done < q.After; c.done++ {
		o := c.recording[c.done]
		if q.Way == killedIn && c.done == q.After-1 {
			half := o
			half.data = o.data[:len(o.data)/2]
			left = c.disk.after(half)
		}
		c.disk.do(o)
		c.at.hear(o)
	}
	if left != nil {
		return left
	}
	if q.Way < 0 {
		return c.disk.found()
	}
	return c.disk.left(ways[q.Way], rand.New(rand.NewPCG(q.Seed, uint64(q.After))))
}

// look opens the file and says what is wrong with it.
func (c *court) look(folder string, m moment) string {
	ctx := context.Background()
	l := newLife(folder)
	l.begin(999)
	if err := l.open(ctx); err != nil {
		return "does not open: " + err.Error()
	}
	defer l.close()
	if fault := holds(ctx, l.engine, c.chronicle.expected(m)); fault != "" {
		return fault
	}
	if x, may, ok := c.chronicle.copied(m); ok {
		if fault := lookAtCopy(ctx, filepath.Join(folder, copyName), x, may); fault != "" {
			return "snapshot " + fault
		}
	}
	if err := remember("after all").do(ctx, l); err != nil {
		return "does not go on: " + err.Error()
	}
	if err := l.close(); err != nil {
		return "does not close: " + err.Error()
	}
	if err := l.open(ctx); err != nil {
		return "does not open again: " + err.Error()
	}
	if _, err := l.engine.Get(ctx, memory.GetRequest{ID: memoryID("after all")}); err != nil {
		return "lost what was written afterwards: " + err.Error()
	}
	return ""
}

// holds says what is wrong with an open file.
func holds(ctx context.Context, e *engine.Engine, x expected) string {
	got, err := contentOf(ctx, e)
	if err != nil {
		return "can't be read: " + err.Error()
	}
	if fault := x.fault(got); fault != "" {
		return fault
	}
	faults, err := e.Check(ctx)
	if err != nil {
		return "can't be checked: " + err.Error()
	}
	if len(faults) > 0 {
		return fmt.Sprintf("check finds %d faults: %s", len(faults), faults[0])
	}
	return ""
}

// lookAtCopy opens a snapshot.
func lookAtCopy(ctx context.Context, path string, x expected, may bool) string {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if may {
			return ""
		}
		return "lost"
	}
	o := newLife(filepath.Dir(path)).options()
	o.ReadOnly = true
	e, err := engine.Open(ctx, path, o)
	if err != nil {
		return "does not open: " + err.Error()
	}
	defer e.Close()
	return holds(ctx, e, x)
}

var (
	numbers = regexp.MustCompile(`\d+`)
	tmpName = regexp.MustCompile(`/\S+/`)
	idName  = regexp.MustCompile(`(lost|extra): (\w+) .*`)
)

// sort makes faults of one kind alike: without numbers and names.
func (v verdict) sort() string {
	if v.Fault == "" {
		return "whole"
	}
	line, _, _ := strings.Cut(v.Fault, "\n")
	line = idName.ReplaceAllString(tmpName.ReplaceAllString(line, ""), "$1: $2")
	line = numbers.ReplaceAllString(line, "#")
	return line[:min(len(line), 160)]
}
