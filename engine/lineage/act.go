package lineage

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
)

// act is a retraction, or the undoing of one, on its way: what it changes of memories is gathered first, and written at the end, each once.
type act struct {
	*Keeper
	tx        *duck.Write
	result    *Retraction
	at        time.Time
	undoing   bool
	changing  map[string]*changing
	order     []string
	documents map[string]*index.Document // of memories that may come back
}

// changing is a memory that may change.
type changing struct {
	*memory.Memory
	was memory.Standing
}

func (k *Keeper) newAct(tx *duck.Write, result *Retraction) *act {
	return &act{Keeper: k, tx: tx, result: result, at: k.file.Now(), changing: map[string]*changing{}}
}

// load gives a memory as it is to be; nil: there is none.
func (x *act) load(ctx context.Context, id string) (*changing, error) {
	if m, known := x.changing[id]; known {
		return m, nil
	}
	m, _, err := memory.MemoryByID(ctx, x.tx.Conn, id)
	if err != nil {
		return nil, err
	}
	var c *changing
	if m != nil {
		c = &changing{m, m.Standing()}
		x.order = append(x.order, id)
	}
	x.changing[id] = c
	return c, nil
}

func (x *act) note(kind kinds.Kind, id string, what What, because, note string) {
	x.result.Effects = append(x.result.Effects, Effect{Kind: kind, ID: id, What: what, Because: because, Note: note})
}

// observe takes back confirmations and contradictions that do not hold any more, or gives back those that hold again.
func (x *act) observe(ctx context.Context, d *descent, before, after *state) error {
	type observation struct {
		derivation
		how memory.How
	}
	groups := map[observation][]edge{}
	var order []observation
	for _, e := range d.edges {
		if e.how != memory.Supported && e.how != memory.Contradicted {
			continue
		}
		of := observation{e.derivationOf(), e.how}
		if groups[of] == nil {
			order = append(order, of)
		}
		groups[of] = append(groups[of], e)
	}
	for _, of := range order {
		group := groups[of]
		held, holds := before.holds(group), after.holds(group)
		if held == holds {
			continue
		}
		m, err := x.load(ctx, of.memory)
		if err != nil || m == nil {
			return err
		}
		confirms, what := of.how == memory.Supported, Unsupported
		if holds {
			m.SupportInfo, what = m.SupportOf().Observe(group[0].label, confirms, group[0].said), Supported
		} else {
			m.SupportInfo = m.SupportOf().TakeBack(group[0].label, confirms)
		}
		note := "a contradiction"
		if confirms {
			note = "a confirmation"
		}
		x.note(kinds.Memory, of.memory, what, group[0].from, note)
	}
	return nil
}

// write gives the memories that change their new standing. The first effect of each keeps what it was and what it became.
func (x *act) write(ctx context.Context) error {
	scopes := x.scopes.Now()
	for _, id := range x.order {
		m := x.changing[id]
		if m.Standing().Same(m.was) {
			continue
		}
		if x.result.Agent != "" {
			if _, err := scopes.ForWriting(x.result.Agent, m.Scope); err != nil {
				return err
			}
		}
		if x.undoing {
			if err := x.exactly(ctx, m); err != nil {
				return err
			}
		}
		if err := x.restand(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// restand writes one.
func (x *act) restand(ctx context.Context, m *changing) error {
	if err := x.memories.Restand(ctx, x.tx, m.ID, m.Standing(), x.documents[m.ID]); err != nil || x.undoing {
		return err
	}
	was, err := json.Marshal(m.was)
	if err != nil {
		return err
	}
	became, err := json.Marshal(m.Standing())
	if err != nil {
		return err
	}
	for i := range x.result.Effects {
		if e := &x.result.Effects[i]; e.ID == m.ID && e.Kind == kinds.Memory {
			e.was, e.became = was, became
			return nil
		}
	}
	x.result.Effects = append(x.result.Effects, Effect{Kind: kinds.Memory, ID: m.ID, What: Relinked, was: was, became: became})
	return nil
}

// exactly gives a memory back to the letter what it was before, where that is what undoing comes to.
func (x *act) exactly(ctx context.Context, m *changing) error {
	images, err := x.images(ctx, m.ID)
	for _, i := range images {
		if alike(m.Standing(), i.was) {
			m.Stand(i.was)
			break
		}
	}
	return err
}

// image is what a memory was before a retraction changed it.
type image struct {
	was       memory.Standing
	withdrawn bool // that retraction took it out of recall
}

func (x *act) images(ctx context.Context, id string) ([]image, error) {
	return duck.List(ctx, x.tx.Conn, "retraction_images", func(rows *sql.Rows, i *image) error {
		var was string
		if err := rows.Scan(&was, &i.withdrawn); err != nil {
			return err
		}
		return json.Unmarshal([]byte(was), &i.was)
	}, sql.Named("id", id))
}

// alike reports whether two standings mean the same: the order of relations, and when something was last observed, are left out.
func alike(a, b memory.Standing) bool {
	if len(a.Relations) != len(b.Relations) {
		return false
	}
	has := map[memory.Relation]bool{}
	for _, r := range a.Relations {
		has[r] = true
	}
	for _, r := range b.Relations {
		if !has[r] {
			return false
		}
	}
	sa, sb := (&memory.Memory{SupportInfo: a.SupportInfo}).SupportOf(), (&memory.Memory{SupportInfo: b.SupportInfo}).SupportOf()
	if sa.GlobalStrength != sb.GlobalStrength || sa.TotalObservations != sb.TotalObservations {
		return false
	}
	a.Relations, b.Relations, a.SupportInfo, b.SupportInfo = nil, nil, nil, nil
	return a.Same(b)
}
