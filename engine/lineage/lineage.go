package lineage

import (
	"context"
	"fmt"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/memory"
)

// Request names what is asked about.
type Request struct {
	ID    string // of a memory, message, summary, import or call, whole or its unique ending of six characters or more
	Agent string // empty: an internal caller; what an agent may not read is left out, with all beyond it
	Depth int    // how many steps, 1 to 100; default 100
}

// Lineage is what something came from, and what came from it.
type Lineage struct {
	Node
	Ancestors   []*Branch `json:"ancestors"`
	Descendants []*Branch `json:"descendants"`
}

// Branch is one step, and what is beyond it.
type Branch struct {
	// How the lower of the two came from the upper: drawn, asked, merged, imported, named, supported, contradicted, superseded (the older is the upper), or
	// summarised.
	How memory.How `json:"how"`
	// Derivation numbers those of the memory: what has one number belongs together. 0 is how it was made.
	Derivation int    `json:"derivation"`
	Part       string `json:"part,omitempty"`  // of an import
	Label      string `json:"label,omitempty"` // the context of a confirmation or contradiction
	Node
	// Again: it was shown before, nearer, and what is beyond it stands there.
	Again    bool      `json:"again,omitempty"`
	Branches []*Branch `json:"branches,omitempty"`
}

const (
	mostDepth = 100
	mostNodes = 10_000
)

// Lineage tells what something came from, and what came from it: what memories were drawn, merged, imported or named from, what summaries stand for, and what
// was superseded, supported and contradicted. What is found twice is taken further once, so it ends where sources go round in a circle; nothing is shown beyond
// ten thousand steps. Errors: ErrNotFound, ErrAmbiguous, ErrInvalid.
func (k *Keeper) Lineage(ctx context.Context, r Request) (*Lineage, error) {
	if r.Depth == 0 {
		r.Depth = mostDepth
	}
	if r.Depth < 1 || r.Depth > mostDepth {
		return nil, fmt.Errorf("lineage: %w", fault.Invalid("depth", r.Depth, "1 to 100"))
	}
	result := &Lineage{}
	err := k.file.Read(ctx, "lineage", func(c *duck.Conn) error {
		n, err := k.find(ctx, c, r.ID, r.Agent)
		if err != nil {
			return err
		}
		result.Node = *n
		if result.Ancestors, err = k.grow(ctx, c, n.ID, r, above, func(e edge) (string, string) { return e.to, e.from }); err != nil {
			return err
		}
		result.Descendants, err = k.grow(ctx, c, n.ID, r, below, func(e edge) (string, string) { return e.from, e.to })
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// grow follows edges one way, level by level. ends gives the near end of an edge and the far one.
func (k *Keeper) grow(ctx context.Context, c *duck.Conn, root string, r Request, follow func(context.Context, *duck.Conn, []string) ([]edge, error),
	ends func(edge) (near, far string)) ([]*Branch, error) {
	all := []*Branch{}
	onto := map[string]*[]*Branch{root: &all}
	level, steps := []string{root}, 0
	for range r.Depth {
		found, err := follow(ctx, c, level)
		if err != nil {
			return nil, err
		}
		var far []string
		for _, e := range found {
			_, id := ends(e)
			far = append(far, id)
		}
		known, err := nodes(ctx, c, far)
		if err != nil {
			return nil, err
		}
		level = nil
		for _, e := range found {
			near, id := ends(e)
			n := known[id]
			if n == nil || !k.sees(r.Agent, n) {
				continue
			}
			if steps++; steps > mostNodes {
				return all, nil
			}
			b := &Branch{How: e.how, Derivation: e.derivation, Part: e.part, Label: e.label, Node: *n}
			if b.Again = onto[id] != nil; !b.Again {
				onto[id] = &b.Branches
				level = append(level, id)
			}
			*onto[near] = append(*onto[near], b)
		}
		if len(level) == 0 {
			break
		}
	}
	return all, nil
}
