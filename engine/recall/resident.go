package recall

import (
	"context"
	"errors"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/resident"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/setup"
)

// byResident reports whether the resident index may answer, where there is one. The extension has an index of its own.
func (r *recall) byResident() bool { return r.recaller.opts.Lexical == setup.PostingsBackend }

// filter says who may answer.
func (r *recall) filter() *resident.Filter {
	q := r.query
	f := &resident.Filter{Kinds: q.Kinds, Scopes: r.scopes, Conversations: r.conversations, Categories: texts(q.Categories), Tiers: texts(q.Tiers),
		Roles: q.Roles, Speakers: lowered(q.Speakers), SourceKinds: q.SourceKinds, NotSourceKinds: q.NotSourceKinds, Since: resident.Never, Until: resident.Always, Marked: r.marked(), Hidden: q.apart(), AskedAt: r.at.UnixMicro(), SaidBy: resident.Always}
	for _, bound := range []struct {
		at *int64
		by time.Time
	}{{&f.Since, q.Since}, {&f.Until, q.Until}, {&f.SaidBy, q.AsOf}} {
		if !bound.by.IsZero() {
			*bound.at = duck.UTC(bound.by).UnixMicro()
		}
	}
	return f
}

// texts gives a list as texts; nil stays nil.
func texts[T ~string](all []T) []string {
	if all == nil {
		return nil
	}
	list := make([]string, len(all))
	for i, v := range all {
		list[i] = string(v)
	}
	return list
}

// countResident counts in the resident index, as countFile does in the file; ok is false where it can't.
func (r *recall) countResident() (documents map[string]float64, population float64, ok bool) {
	if !r.byResident() {
		return nil, 0, false
	}
	asked := r.question.counted
	hashes := make([]uint64, len(asked))
	for i, t := range asked {
		hashes[i] = index.WordHash(t.term)
	}
	var among *resident.Filter
	if r.weights.Counted == "asked" {
		among = r.filter()
	}
	ok, _ = r.recaller.index.Resident(func() error { return nil }, func(x *resident.Index) error {
		r.rarity = x.Count(hashes, among)
		return nil
	})
	if !ok {
		return nil, 0, false
	}
	documents = map[string]float64{}
	for i, of := range r.rarity.Documents {
		documents[asked[i].term] = float64(of.Sum())
	}
	r.population = map[kinds.Kind]int64{}
	for i, kind := range kinds.All() {
		r.population[kind] = r.rarity.Population[i]
		population += float64(r.rarity.Population[i])
	}
	return documents, population, true
}

// errNoVectors is that the resident index has no vectors of the file's model, or none at all.
var errNoVectors = errors.New("no vectors")

// gatherResident has the resident index find the candidates; ok is false where it can't.
func (r *recall) gatherResident(ctx context.Context, c *duck.Conn) (ok bool, err error) {
	q, w := &r.question, r.weights
	if r.rarity == nil {
		return false, nil
	}
	asked := &resident.Question{Filter: *r.filter(), Rarity: r.rarity, Vector: q.vector, Pool: max(w.Pool, 2*r.query.Limit), Whole: w.Whole,
		K1: w.K1, B: w.B, Near: w.Near, Far: w.Far, LongTurn: w.LongTurn, Passage: w.Passage, Wishes: w.Wish > 0, Besides: r.besides}
	if q.byWords {
		for _, t := range q.asked {
			asked.Terms = append(asked.Terms, resident.Term{Word: int(t.word), Hash: index.WordHash(t.term), Share: t.share})
		}
	}
	var found []resident.Found
	ok, err = r.recaller.index.Resident(func() error { return c.See(ctx) }, func(x *resident.Index) error {
		if q.vector == nil || r.recaller.index.ResidentModel() == r.model {
			found = x.Gather(asked)
			return nil
		}
		return errNoVectors
	})
	if errors.Is(err, errNoVectors) {
		return false, nil
	}
	if !ok || err != nil {
		return ok, err
	}
	r.found = found
	return true, nil
}
