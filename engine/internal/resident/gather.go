package resident

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/kelindar/bitmap"

	"github.com/mallardmem/mallard/engine/kinds"
)

// Term is one of those that are looked up, by its hash: Word is the word that it comes from, Share what it adds to that one's frequency.
type Term struct {
	Word  int
	Hash  uint64
	Share float64
}

// Question is what is asked. Its numbers are those of the weights of the same names.
type Question struct {
	Filter Filter
	Terms  []Term
	Rarity *Rarity
	Vector []float32 // of unit length; nil: by words alone
	Pool   int       // how many each channel gives
	Whole  int       // everybody is a candidate where there are no more
	K1, B  float64
	Near   float64
	Far    float64
	// LongTurn is how many characters a document has that takes from each neighbour, and gives it, half as much; 0: all do alike.
	LongTurn float64
	Wishes   bool    // what states a wish is a candidate
	Besides  []int32 // numbers of documents that are candidates for another reason, as far as they take part: the newest of them
	Passage  float64 // how much the best passage counts in a cosine
}

// Found is a candidate with what was found out of it; what is not known is NaN, or Never.
type Found struct {
	No, SessionNo, Place  int32
	Conversation, Speaker string
	Role                  string
	Wishes                bool
	Asks, EndsAsking      bool
	Tells                 float32
	Kind                  kinds.Kind
	Tier                  string
	CreatedAt, ValidFrom  int64
	Characters            int32
	Noise                 bool
	Use                   Use
	Cosine                float64 // own, or of the best passage
	ByPassage             bool    // the latter
	NearCosine            float64 // with the neighbours
	Raw                   float64 // BM25, with the neighbours
	// Met is the share of the question's words that stand there, by their rarity, with the neighbours: 0 to 1. NaN: no words were asked.
	Met float64
}

// Gather finds the candidates and their signals, as the query recall_gather does.
func (x *Index) Gather(q *Question) []Found {
	x.mu.RLock()
	defer x.mu.RUnlock()
	among := x.eligible(&q.Filter)
	g := &gathering{Index: x, q: q, among: among, steps: []step{{0, 1}}, seats: map[int32][]seat{}}
	if q.Near > 0 {
		g.steps = append(g.steps, step{-1, q.Near}, step{1, q.Near})
	}
	if q.Far > 0 {
		g.steps = append(g.steps, step{-2, q.Far}, step{2, q.Far})
	}
	if q.Vector != nil && x.vectors.dims == len(q.Vector) {
		g.probe, g.passageProbe = x.vectors.probe(q.Vector), x.passages.probe(q.Vector)
	}
	g.listen()
	g.choose()
	g.hear()
	return g.describe()
}

// gathering is one question on its way.
type gathering struct {
	*Index
	q     *Question
	among bitmap.Bitmap
	probe *probe // nil: no vector is asked
	// The same for passages, which may be kept otherwise.
	passageProbe *probe
	steps        []step
	hits         []hit // of terms that some document has
	// By session, those that take part, in order of their places.
	seats      map[int32][]seat
	candidates []int32 // slots
	around     []int32 // slots of candidates and of their neighbours, ascending
	heard      [][]note
}

// step is how far a neighbour is, and what share of it counts.
type step struct {
	by    int32
	share float64
}

type seat struct{ place, slot int32 }

// hit is a term with its postings.
type hit struct {
	word     int
	share    float64
	postings []posting
}

// note is how often a word stands in a document.
type note struct {
	word int
	tf   float64
}

// listen looks the terms up.
func (g *gathering) listen() {
	for _, t := range g.q.Terms {
		if list := g.of(t.Hash); len(list) > 0 && t.Share > 0 {
			g.hits = append(g.hits, hit{t.Word, t.Share, list})
		}
	}
}

// bm25 is the macro of that name.
func bm25(idf, tf, length, average, k1, b float64) float64 {
	return idf * tf * (k1 + 1) / (tf + k1*(1-b+b*length/average))
}

// shortness is the macro of that name.
func shortness(characters int32, long float64) float64 {
	if long <= 0 {
		return 1
	}
	return long / (long + float64(characters))
}

// shareIn is the macro term_share.
func (g *gathering) shareIn(h hit, slot int32) float64 {
	if h.share < 1 {
		return h.share * shortness(g.columns[slot].characters, g.q.LongTurn)
	}
	return h.share
}

// choose finds the candidates: the pool of each channel, or everybody, with their neighbours.
func (g *gathering) choose() {
	var pool []int32
	if n := g.among.Count(); n <= g.q.Whole {
		g.among.Range(func(slot uint32) { pool = append(pool, int32(slot)) })
	} else {
		pool = append(append(g.byWords(), g.byVector(n)...), append(g.newestWishes(), g.newestBesides()...)...)
	}
	slices.Sort(pool)
	pool = slices.Compact(pool)
	chosen := map[int32]bool{}
	for _, slot := range pool {
		c := &g.columns[slot]
		for _, s := range g.steps {
			for _, n := range g.at(c.session, c.place+s.by) {
				if !chosen[n.slot] {
					chosen[n.slot] = true
					g.candidates = append(g.candidates, n.slot)
				}
			}
		}
	}
	for _, slot := range g.candidates {
		c := &g.columns[slot]
		for _, s := range g.steps {
			for _, n := range g.at(c.session, c.place+s.by) {
				g.around = append(g.around, n.slot)
			}
		}
	}
	slices.Sort(g.around)
	g.around = slices.Compact(g.around)
}

// at gives who of a session takes part and stands at a place.
func (g *gathering) at(session, place int32) []seat {
	all, ok := g.seats[session]
	if !ok {
		slots, several := g.sessions[session]
		if !several {
			if slot, known := g.slotOf(session); known {
				slots = []int32{slot}
			}
		}
		for _, slot := range slots {
			if c := &g.columns[slot]; c.session == session && g.among.Contains(uint32(slot)) {
				all = append(all, seat{c.place, slot})
			}
		}
		slices.SortFunc(all, func(a, b seat) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.slot, b.slot)) })
		g.seats[session] = all
	}
	from, _ := slices.BinarySearchFunc(all, place, func(s seat, place int32) int { return cmp.Compare(s.place, place) })
	to := from
	for to < len(all) && all[to].place == place {
		to++
	}
	return all[from:to]
}

// newestWishes gives the newest of what states a wish, where these are candidates.
func (g *gathering) newestWishes() []int32 {
	if !g.q.Wishes || len(g.wishes) == 0 || len(g.among) == 0 { // And panics on an empty one
		return nil
	}
	wishes := slices.Clone(g.wishes)
	wishes.And(g.among)
	var slots []int32
	wishes.Range(func(slot uint32) { slots = append(slots, int32(slot)) })
	return g.newest(slots)
}

// newestBesides gives the newest of those that are candidates for another reason.
func (g *gathering) newestBesides() (slots []int32) {
	for _, no := range g.q.Besides {
		if slot, known := g.slotOf(no); known && g.among.Contains(uint32(slot)) {
			slots = append(slots, slot)
		}
	}
	return g.newest(slots)
}

// newest gives those of some slots that were written last, as many as a channel gives.
func (g *gathering) newest(slots []int32) []int32 {
	return top(slots, min(g.q.Pool, len(slots)), func(a, b int32) int { return cmp.Compare(g.columns[b].no, g.columns[a].no) })
}

// scores are those of all slots, zero between two questions.
var scores = sync.Pool{New: func() any { return new([]float64) }}

// byWords gives the best by BM25.
func (g *gathering) byWords() []int32 {
	q := g.q
	kept := scores.Get().(*[]float64)
	defer scores.Put(kept)
	if len(*kept) < len(g.columns) {
		*kept = make([]float64, len(g.columns)+len(g.columns)/4)
	}
	score, touched := *kept, []int32{}
	for _, h := range g.hits {
		var idf PerKind[float64]
		for kind := range idf {
			idf[kind] = q.Rarity.IDF(h.word, uint8(kind))
		}
		for _, p := range h.postings {
			if !g.among.Contains(uint32(p.slot)) {
				continue
			}
			c := &g.columns[p.slot]
			if score[p.slot] == 0 {
				touched = append(touched, p.slot)
			}
			score[p.slot] += bm25(idf[c.kind], g.shareIn(h, p.slot)*float64(p.tf), float64(c.length), q.Rarity.average[c.kind], q.K1, q.B)
		}
	}
	all := make([]scored, len(touched))
	for i, slot := range touched {
		all[i] = scored{slot, math.Round(score[slot] * 1e9)}
		score[slot] = 0
	}
	return g.best(all)
}

// scored is a slot with what it is chosen by.
type scored struct {
	slot  int32
	score float64
}

// best gives the slots with the highest scores, of equal ones the first by number.
func (g *gathering) best(all []scored) []int32 {
	n := min(g.q.Pool, len(all))
	order := func(a, b scored) int {
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		return cmp.Compare(g.columns[a.slot].no, g.columns[b.slot].no)
	}
	if len(all) > 4*n {
		all = top(all, n, order)
	}
	slices.SortFunc(all, order)
	slots := make([]int32, n)
	for i := range slots {
		slots[i] = all[i].slot
	}
	return slots
}

// top gives the n first in an order, in none: a heap whose root is the last of them.
func top[T any](all []T, n int, order func(a, b T) int) []T {
	if n == 0 {
		return nil
	}
	heap := slices.Clone(all[:n])
	down := func(i int) {
		for {
			last := i
			for child := 2*i + 1; child <= 2*i+2 && child < n; child++ {
				if order(heap[child], heap[last]) > 0 {
					last = child
				}
			}
			if last == i {
				return
			}
			heap[i], heap[last] = heap[last], heap[i]
			i = last
		}
	}
	for i := n/2 - 1; i >= 0; i-- {
		down(i)
	}
	for _, s := range all[n:] {
		if order(s, heap[0]) < 0 {
			heap[0] = s
			down(0)
		}
	}
	return heap
}

// hear notes which words stand in the documents around.
func (g *gathering) hear() {
	g.heard = make([][]note, len(g.around))
	for _, h := range g.hits {
		each(g.around, h.postings, func(i int, tf float32) {
			g.heard[i] = append(g.heard[i], note{h.word, g.shareIn(h, g.around[i]) * float64(tf)})
		})
	}
}

// each meets those of some slots, ascending, that a term stands in.
func each(slots []int32, postings []posting, do func(i int, tf float32)) {
	at := 0
	for i, slot := range slots {
		for step := 1; at < len(postings) && postings[at].slot < slot; { // in strides that double, then by halves
			if next := at + step; next < len(postings) && postings[next].slot < slot {
				at, step = next, 2*step
				continue
			}
			rest := postings[at:min(at+step+1, len(postings))]
			found, _ := slices.BinarySearchFunc(rest, slot, func(p posting, slot int32) int { return cmp.Compare(p.slot, slot) })
			at += found
			break
		}
		if at < len(postings) && postings[at].slot == slot {
			do(i, postings[at].tf)
		}
	}
}

// describe gives the candidates with their signals.
func (g *gathering) describe() []Found {
	q := g.q
	cosines, byPassage := make([]float64, len(g.around)), make([]bool, len(g.around))
	for i, slot := range g.around {
		if cosines[i] = math.NaN(); g.probe != nil && g.vectors.has(slot) {
			whole := g.vectors.cosine(slot, g.probe)
			cosines[i] = g.withPassages(slot, whole)
			byPassage[i] = cosines[i] > whole
		}
	}
	type sum struct {
		word int
		kind uint8
		tf   float64
	}
	found := make([]Found, 0, len(g.candidates))
	var words []sum
	asked := q.rarities()
	for _, slot := range g.candidates {
		c := &g.columns[slot]
		f := Found{No: c.no, SessionNo: c.session, Place: c.place, Conversation: g.names.texts[c.conversation], Speaker: g.names.texts[c.speaker], Role: roles[c.role],
			Wishes: c.wishes, Asks: c.asks, EndsAsking: c.endsAsking, Tells: c.tells, Cosine: math.NaN(), NearCosine: math.NaN(), Raw: math.NaN(), Met: math.NaN(),
			Kind: allKinds[c.kind], Tier: g.names.texts[c.tier], CreatedAt: c.created, ValidFrom: c.validFrom, Characters: c.characters, Noise: c.noise,
			Use: g.uses[c.use]}
		words = words[:0]
		var length, near, shares float64
		short := shortness(c.characters, q.LongTurn)
		wide := 1 + short*(2*q.Near+2*q.Far)
		for _, s := range g.steps {
			for _, n := range g.at(c.session, c.place+s.by) {
				i, _ := slices.BinarySearch(g.around, n.slot)
				of, share := &g.columns[n.slot], s.share
				if s.by != 0 {
					share *= short * shortness(of.characters, q.LongTurn)
				}
				length += share * float64(of.length)
				if cosine := cosines[i]; !math.IsNaN(cosine) {
					near += share * cosine
					shares += share
					if n.slot == slot {
						f.Cosine, f.ByPassage = cosine, byPassage[i]
					}
				}
				for _, note := range g.heard[i] {
					at := slices.IndexFunc(words, func(w sum) bool { return w.word == note.word && w.kind == of.kind })
					if at < 0 {
						at = len(words)
						words = append(words, sum{note.word, of.kind, 0})
					}
					words[at].tf += share * note.tf
				}
			}
		}
		if shares > 0 {
			f.NearCosine = near / shares
		}
		met := 0.
		for i, w := range words {
			if i == 0 {
				f.Raw = 0
			}
			idf := q.Rarity.IDF(w.word, w.kind)
			f.Raw += bm25(idf, w.tf, length, q.Rarity.average[w.kind]*wide, q.K1, q.B)
			met += idf * min(w.tf, 1)
		}
		if all := asked[c.kind]; all > 0 {
			f.Met = met / all
		}
		found = append(found, f)
	}
	return found
}
