package recall

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/resident"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// gather has the resident index find the candidates and their signals, or else the file.
func (r *recall) gather(ctx context.Context, c *duck.Conn) (err error) {
	r.step = "gather"
	start := time.Now()
	r.question.relate(r)
	if r.result.Trace.Past, err = r.query.moment().Formerly(ctx, c); err != nil {
		return err
	}
	if r.result.Trace.Past {
		err = r.gatherPast(ctx, c)
	} else if err = r.findVerbatim(ctx, c); err == nil {
		if r.result.Trace.Resident, err = r.gatherResident(ctx, c); err == nil && !r.result.Trace.Resident {
			err = r.gatherFile(ctx, c)
		}
	}
	if err == nil {
		err = r.relateFound(ctx, c)
	}
	r.result.Trace.gathered(r.found, time.Since(start))
	return err
}

// rank joins the signals of each candidate into one score, and takes that through the stages.
func (r *recall) rank(ctx context.Context, c *duck.Conn) error {
	r.step = "rank"
	start := time.Now()
	var err error
	if len(r.found) > 0 {
		r.recaller.hold.Do(func() {
			ranking.Hold()
			r.recaller.held.Store(true)
		})
		if err = r.rerank(ctx, c); err == nil {
			r.step = "rank"
			err = ranking.Lend(ctx, func(p *duck.Conn) error { return r.rankIn(ctx, p, c) })
		}
	}
	if err == nil {
		r.result.Trace.ranked(r.candidates, time.Since(start))
	}
	return err
}

// maxRankings is how many sets of weights a connection has statements for.
const maxRankings = 16

// rankings is what a connection of the ranking's instance has.
type rankings struct {
	weights string          // the variable
	known   map[string]bool // weights that it has statements for
}

// rankedColumns are the columns of the query recall_rank, but for what the candidate has from the start.
var rankedColumns = map[string]func(*Candidate) any{
	"doc_no":              func(v *Candidate) any { return &v.DocNo },
	"vector_score":        func(v *Candidate) any { return &v.VectorScore },
	"lexical_score":       func(v *Candidate) any { return &v.LexicalScore },
	"tells":               func(v *Candidate) any { return &v.Tells },
	"date_score":          func(v *Candidate) any { return &v.DateScore },
	"speaker_score":       func(v *Candidate) any { return &v.SpeakerScore },
	"reply_score":         func(v *Candidate) any { return &v.ReplyScore },
	"answered_score":      func(v *Candidate) any { return &v.AnsweredScore },
	"relation_score":      func(v *Candidate) any { return &v.RelationScore },
	"fresh_score":         func(v *Candidate) any { return &v.FreshScore },
	"fused":               func(v *Candidate) any { return &v.Fused },
	"reranked":            func(v *Candidate) any { return &v.Reranked },
	"recency":             func(v *Candidate) any { return &v.Recency },
	"importance_weighted": func(v *Candidate) any { return &v.Importance },
	"trusted":             func(v *Candidate) any { return &v.Trusted },
	"length_normed":       func(v *Candidate) any { return &v.LengthNorm },
	"composite":           func(v *Candidate) any { return &v.Composite },
	"decayed":             func(v *Candidate) any { return &v.Decayed },
	"dropped":             func(v *Candidate) any { return duck.TextOf(&v.Dropped) },
}

// rankIn ranks in the ranking's own instance p; c is the file.
func (r *recall) rankIn(ctx context.Context, p, c *duck.Conn) error {
	if err := r.order(ctx, p); err != nil {
		return err
	}
	byNo := make(map[int32]*resident.Found, len(r.found))
	for i := range r.found {
		byNo[r.found[i].No] = &r.found[i]
	}
	left := slices.IndexFunc(r.candidates, func(v Candidate) bool { return v.Dropped != "" })
	if left < 0 {
		left = len(r.candidates)
	}
	left = r.judge(left, byNo)
	if err := r.diversify(ctx, p, c, r.candidates[:left]); err != nil {
		return err
	}
	for i := r.query.Limit; i < left; i++ {
		r.candidates[i].Dropped = "limit"
	}
	return nil
}

// order takes the candidates through the stages of the query recall_rank, in the ranking's own instance p.
func (r *recall) order(ctx context.Context, p *duck.Conn) error {
	w := r.weights
	switch {
	case r.modelScores != nil:
		w.Rerank = string(ModelRerank)
	case r.result.Mode != Hybrid && w.Rerank == string(LightRerank): // one channel has nothing to blend in
		w.Rerank = string(NoRerank)
	}
	if err := weighIn(ctx, p, w.arg()); err != nil {
		return err
	}
	froms, untils := r.periods()
	offered.Put(p, r.offers())
	defer offered.Put(p, nil)
	asked.Put(p, []asking{{r.question.words, froms, untils}})
	relating.Put(p, r.relations)
	on := map[string]bool{"date": len(froms) > 0, "features": w.Rerank == string(FeaturesRerank), "speaker": w.Speaker > 0, "reply": w.Reply > 0, "answered": w.Answered > 0, "window": w.Rerank != string(NoRerank)}
	on["beside"] = on["features"] && w.FeatureNeighbour+w.FeatureSession > 0
	r.switchBesides(on)
	byNo := make(map[int32]*resident.Found, len(r.found))
	for i := range r.found {
		byNo[r.found[i].No] = &r.found[i]
	}
	r.candidates = make([]Candidate, 0, len(r.found))
	var dest []any
	var v Candidate
	var position int32 // among those that a reranker may look at, from 1
	var beside Features
	r.positions = map[int32]int32{}
	return p.EachPart(ctx, "recall_rank", on, w.arg(), func(rows *sql.Rows) error {
		if dest == nil {
			names, err := rows.Columns()
			if err != nil {
				return err
			}
			for _, name := range names {
				switch name {
				case "position":
					dest = append(dest, &position)
				case "neighbour_score":
					dest = append(dest, &beside.Neighbour)
				case "session_score":
					dest = append(dest, &beside.Session)
				default:
					dest = append(dest, rankedColumns[name](&v))
				}
			}
		}
		v, beside = Candidate{}, Features{}
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		f := byNo[v.DocNo]
		v.Cosine, v.NearCosine, v.Raw, v.Met, v.Asks, v.Wishes, v.ByPassage, v.Verbatim = known(f.Cosine), known(f.NearCosine), known(f.Raw), known(f.Met), f.EndsAsking, f.Wishes, f.ByPassage, r.saysIt(v.DocNo)
		if s, ok := r.modelScores[v.DocNo]; ok {
			v.ModelScore = &s
		}
		if on["features"] && !slices.Contains(beforeRerank, v.Dropped) {
			v.Features = r.features(v.DocNo, beside)
		}
		r.candidates, r.positions[v.DocNo] = append(r.candidates, v), position
		return nil
	})
}

// weighIn makes weights those of the statements of a connection of the ranking's instance.
func weighIn(ctx context.Context, p *duck.Conn, weights string) error {
	has := duck.Kept[rankings](p)
	if has.weights == weights {
		return nil
	}
	if len(has.known) >= maxRankings {
		p.Unprepare()
		has.known = nil
	}
	if err := p.ExecTempDDL(ctx, sqlfiles.Query("rank_weights"), "{weights}", weights); err != nil {
		return err
	}
	if has.weights = weights; has.known == nil {
		has.known = map[string]bool{}
	}
	has.known[weights] = true
	return nil
}

// diversify puts those that are too much alike a better one behind the others.
func (r *recall) diversify(ctx context.Context, p, c *duck.Conn, ranked []Candidate) error {
	if r.weights.Diversity == 1 || len(ranked) < 2 {
		return nil
	}
	pairs, err := r.alike(ctx, c, ranked)
	if err != nil || len(pairs) == 0 {
		return err
	}
	alike.Put(p, pairs)
	kept, err := duck.Column[int32](ctx, p, "recall_kept", sql.Named("documents", int32(len(ranked))))
	if err != nil {
		return err
	}
	for i := range ranked {
		ranked[i].Deferred = true
	}
	for _, place := range kept {
		ranked[place-1].Deferred = false
	}
	slices.SortStableFunc(ranked, func(a, b Candidate) int {
		switch {
		case a.Deferred == b.Deferred:
			return 0
		case a.Deferred:
			return 1
		}
		return -1
	})
	return nil
}

// alike gives which of ranked documents are too much alike.
func (r *recall) alike(ctx context.Context, c *duck.Conn, ranked []Candidate) (all []resident.Alike, err error) {
	numbers := make([]int32, len(ranked))
	for i, v := range ranked {
		numbers[i] = v.DocNo
	}
	if r.result.Trace.Resident {
		ok, err := r.recaller.index.Resident(func() error { return nil }, func(x *resident.Index) error {
			all = x.Alike(numbers, r.weights.Diversity)
			return nil
		})
		if ok || err != nil {
			return all, err
		}
	}
	c.List(numbers)
	return duck.List(ctx, c, "recall_alike", func(rows *sql.Rows, a *resident.Alike) error { return rows.Scan(&a.Place, &a.Before) },
		sql.Named("most", r.weights.Diversity))
}

// known is a number, or nil.
func known(f float64) *float64 {
	if math.IsNaN(f) {
		return nil
	}
	return &f
}
