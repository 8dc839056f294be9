package faulttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mallardmem/mallard/engine"
)

// arrive says what is wrong with what the phase before left.
func (p *phase) arrive(ctx context.Context) string {
	var unmade []string
	for act := range p.Story.Pending {
		unmade = append(unmade, act)
	}
	was := p.Story.Is
	if p.Faulty {
		got, err := p.read(ctx)
		if err != nil {
			return "can't be read: " + err.Error()
		}
		if fault := p.Story.settle(got); fault != "" {
			return fault
		}
	} else if fault := p.whole(ctx); fault != "" {
		return fault
	}
	tell(step{mark: mark{Changed: was.changes(p.Story.Is)}, Act: opening.name})
	for _, act := range unmade {
		tell(step{Act: act})
	}
	for name, c := range p.Story.Copies {
		if p.Faulty {
			break
		}
		if fault := p.lookAtCopy(ctx, filepath.Join(filepath.Dir(p.path), name), c); fault != "" {
			return name + ": " + fault
		}
	}
	return ""
}

// lookAtCopy looks at a snapshot and removes it.
func (p *phase) lookAtCopy(ctx context.Context, name string, c copied) string {
	e, err := engine.Open(ctx, name, engine.Options{ReadOnly: true, Threads: 1})
	if c.May && errors.Is(err, engine.ErrNotFound) {
		return ""
	}
	if err != nil {
		return "does not open: " + err.Error()
	}
	defer os.Remove(name)
	defer e.Close()
	got, err := contentAs(ctx, e, modelled)
	if err != nil {
		return "can't be read: " + err.Error()
	}
	return (expected{before: c.Is}).fault(got)
}

// read reads the file; after a fault, when the engine has gone on.
func (p *phase) read(ctx context.Context) (got content, err error) {
	pause := 100 * time.Millisecond
	for waited := time.Duration(0); waited < patience; waited += pause {
		if got, err = contentAs(ctx, p.engine, modelled); err == nil || !p.Faulty {
			break
		}
		p.lift()
		time.Sleep(pause)
		pause += pause / 2
	}
	return got, err
}

// whole says what is wrong with the file.
func (p *phase) whole(ctx context.Context) string {
	got, err := p.read(ctx)
	if err != nil {
		return "can't be read: " + err.Error()
	}
	if fault := p.Story.settle(got); fault != "" {
		return fault
	}
	if faults, err := p.engine.Check(ctx); err != nil || len(faults) > 0 {
		return fmt.Sprintf("check: %v, %v", faults, err)
	}
	return ""
}
