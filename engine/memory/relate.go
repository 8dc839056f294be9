package memory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
)

// RelationTypes lists the relations that Relate makes. The first two hold both ways, the others from the memory that says so to its target. Superseding, merging
// and the like have relations of their own, which their verbs make.
func RelationTypes() []string {
	return []string{"related_to", "contradicts", "updates", "caused_by", "result_of", "part_of", "triggers", "reinforces", "weakens", "violated", "predicts",
		"confirmed", "overrides"}
}

// bothWays reports whether a relation of a type holds in either direction.
func bothWays(what string) bool { return slices.Contains(RelationTypes()[:2], what) }

// RelateRequest links a memory to another.
type RelateRequest struct {
	ID, TargetID string  // whole, or their unique endings
	Agent        string  // empty: an internal caller
	Type         string  // one of RelationTypes; default related_to
	Weight       float64 // how strong the relation is, above 0 and up to 1; default 1
}

// Relate notes how a memory stands to another; a relation that there is gets the weight. It gives the memory that says so, which for a relation both ways may be
// the target. Errors: ErrNotFound, ErrAmbiguous, ErrInvalid, also where a memory has sixteen relations already.
func (ms *Store) Relate(ctx context.Context, r RelateRequest) (*Memory, error) {
	const op = "relate"
	setup.Preset(&r.Type, "related_to")
	setup.Preset(&r.Weight, 1)
	if err := fault.Member("type", r.Type, RelationTypes()); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	if !(r.Weight > 0 && r.Weight <= 1) {
		return nil, fmt.Errorf("%s: %w", op, fault.Invalid("weight", r.Weight, "above 0 and up to 1"))
	}
	of, target, err := ms.ends(ctx, op, r.ID, r.TargetID, r.Agent)
	if err != nil {
		return nil, err
	}
	if bothWays(r.Type) && target.relation(r.Type, of.ID) >= 0 {
		of, target = target, of
	}
	done, err := ms.edit(ctx, op, of.ID, r.Agent, func(m *Memory) error {
		m.Relations = slices.Clone(m.Relations)
		at := m.relation(r.Type, target.ID)
		if at < 0 && len(m.Relations) >= maxRelations {
			return fault.Invalid("relations", fmt.Sprint(len(m.Relations)), fmt.Sprintf("at most %d of a memory; unrelate one", maxRelations))
		}
		if at < 0 {
			at = len(m.Relations)
			m.Relations = append(m.Relations, Relation{Type: r.Type, TargetID: target.ID})
		}
		m.Relations[at].Weight = r.Weight
		return nil
	})
	return done.Memory, err
}

// relation is where a memory says that it stands so to another; -1: nowhere.
func (m *Memory) relation(what, target string) int {
	return slices.IndexFunc(m.Relations, func(r Relation) bool { return r.Type == what && r.TargetID == target })
}

// ends gives two memories that are not the same.
func (ms *Store) ends(ctx context.Context, op, id, targetID, agent string) (of, target *Memory, err error) {
	err = ms.file.Read(ctx, op, func(c *duck.Conn) error {
		if of, _, err = ms.find(ctx, c, id, agent); err != nil {
			return err
		}
		target, _, err = ms.find(ctx, c, targetID, agent)
		return err
	})
	if err == nil && of.ID == target.ID {
		err = fmt.Errorf("%s: %w", op, fault.Invalid("target_id", targetID, "another memory"))
	}
	return of, target, err
}

// UnrelateRequest names two memories that are no longer linked.
type UnrelateRequest struct {
	ID, TargetID string // whole, or their unique endings
	Agent        string // empty: an internal caller
	Type         string // one of RelationTypes; default all of them
}

// Unrelate takes back what Relate noted from a memory to another, and what holds both ways whoever of them says it. Errors: ErrNotFound where there is no such
// relation, ErrAmbiguous, ErrInvalid.
func (ms *Store) Unrelate(ctx context.Context, r UnrelateRequest) error {
	const op = "unrelate"
	types := RelationTypes()
	if r.Type != "" {
		if err := fault.Member("type", r.Type, types); err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
		types = []string{r.Type}
	}
	of, target, err := ms.ends(ctx, op, r.ID, r.TargetID, r.Agent)
	if err != nil {
		return err
	}
	drop := func(id, to string, types []string) error {
		_, err := ms.edit(ctx, op, id, r.Agent, func(m *Memory) error {
			kept := slices.DeleteFunc(slices.Clone(m.Relations), func(x Relation) bool { return x.TargetID == to && slices.Contains(types, x.Type) })
			if len(kept) == len(m.Relations) {
				return fmt.Errorf("%w: a relation of %s to %s", fault.ErrNotFound, id, to)
			}
			m.Relations = kept
			return nil
		})
		return err
	}
	one := drop(of.ID, target.ID, types)
	if one != nil && !errors.Is(one, fault.ErrNotFound) {
		return one
	}
	other := drop(target.ID, of.ID, slices.DeleteFunc(slices.Clone(types), func(what string) bool { return !bothWays(what) }))
	if other != nil && (one != nil || !errors.Is(other, fault.ErrNotFound)) {
		return cmp.Or(one, other)
	}
	return nil
}

// MaxRelatedDepth is how many steps Related goes at most.
const MaxRelatedDepth = 3

// RelatedRequest asks what a memory is related to.
type RelatedRequest struct {
	ID    string   // whole, or its unique ending
	Agent string   // empty: an internal caller; relations lead through nothing that it may not read
	Depth int      // steps, 1 to 3; default 1
	Types []string // only relations of these types; nil: of any
	Limit int      // 1 to 1000, default 50
}

// Related is a memory that relations lead to.
type Related struct {
	Memory *Memory `json:"memory"`
	Depth  int     `json:"depth"` // steps to it, by the shortest way
	// The last step: from which memory, by which relation, and whether that memory says so or this one does.
	From   string  `json:"from"`
	Type   string  `json:"type"`
	Says   bool    `json:"says"`
	Weight float64 `json:"weight"` // of all steps, multiplied
}

// Related gives the memories that relations lead to in so many steps, whoever of both says so, nearest first and then by weight. Forgotten ones are not among them, nor
// on the way. Errors: ErrNotFound, ErrAmbiguous, ErrInvalid.
func (ms *Store) Related(ctx context.Context, r RelatedRequest) (all []Related, err error) {
	const op = "related"
	setup.Preset(&r.Depth, 1)
	setup.Preset(&r.Limit, 50)
	switch {
	case r.Depth < 1 || r.Depth > MaxRelatedDepth:
		err = fault.Invalid("depth", r.Depth, fmt.Sprintf("1 to %d", MaxRelatedDepth))
	case r.Limit < 1 || r.Limit > 1000:
		err = fault.Invalid("limit", r.Limit, "1 to 1000")
	default:
		err = fault.CheckTexts("types", r.Types)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	scopes, _ := ms.scopes.Now().ForReading(r.Agent, nil)
	err = ms.file.Read(ctx, op, func(c *duck.Conn) error {
		m, _, err := ms.find(ctx, c, r.ID, r.Agent)
		if err != nil {
			return err
		}
		weights, ends := map[string]float64{m.ID: 1}, []string{m.ID}
		for depth := 1; depth <= r.Depth && len(ends) > 0 && len(all) < r.Limit; depth++ {
			best := map[string]Related{}
			err := c.Each(ctx, "relations_of", func(rows *sql.Rows) error {
				var to string
				s := Related{Depth: depth}
				err := rows.Scan(&s.From, &to, &s.Type, &s.Weight, &s.Says)
				s.Weight *= weights[s.From]
				if _, nearer := weights[to]; !nearer && s.Weight > best[to].Weight {
					best[to] = s
				}
				return err
			}, sql.Named("ids", ends), sql.Named("scopes", duck.ListArg(scopes)), sql.Named("types", duck.ListArg(r.Types)))
			if err != nil {
				return err
			}
			ends = ends[:0:0]
			for id := range best {
				ends = append(ends, id)
			}
			slices.SortFunc(ends, func(a, b string) int { return cmp.Or(cmp.Compare(best[b].Weight, best[a].Weight), cmp.Compare(a, b)) })
			if ends = ends[:min(len(ends), r.Limit-len(all))]; len(ends) == 0 {
				break
			}
			memories, err := MemoriesByID(ctx, c, ends)
			if err != nil {
				return err
			}
			byID := map[string]*Memory{}
			for _, m := range memories {
				byID[m.ID] = m
			}
			for _, id := range ends {
				s := best[id]
				s.Memory, weights[id] = byID[id], s.Weight
				all = append(all, s)
			}
		}
		return nil
	})
	return all, err
}
