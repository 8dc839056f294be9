package recall

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"math"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/resident"
	"github.com/mallardmem/mallard/engine/kinds"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// gather has the resident index find the candidates and their signals, or else the file.
func (r *recall) gather(ctx context.Context, c *duck.Conn) (err error) {
	r.step = "gather"
	start := time.Now()
	r.question.relate(r)
	if r.result.Trace.Resident, err = r.gatherResident(ctx, c); err == nil && !r.result.Trace.Resident {
		err = r.gatherFile(ctx, c)
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
		err = ranking.Lend(ctx, func(p *duck.Conn) error { return r.rankIn(ctx, p, c) })
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

// rankIn ranks in the ranking's own instance p; c is the file.
func (r *recall) rankIn(ctx context.Context, p, c *duck.Conn) error {
	weights, has := r.weights.arg(), duck.Kept[rankings](p)
	if has.weights != weights {
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
	}
	if err := r.offer(p); err != nil {
		return err
	}
	r.candidates = make([]Candidate, 0, len(r.found))
	err := p.EachFor(ctx, "recall_rank", weights, func(rows *sql.Rows) error {
		var v Candidate
		err := rows.Scan(&v.DocNo, &v.Cosine, &v.NearCosine, &v.Raw, &v.VectorScore, &v.LexicalScore, &v.DateScore, &v.SpeakerScore,
			&v.ReplyScore, &v.AnsweredScore, &v.Tells, &v.Asks, &v.Fused, &v.Reranked, &v.Recency, &v.Importance, &v.LengthNorm, &v.Composite, &v.Decayed, duck.TextOf(&v.Dropped))
		r.candidates = append(r.candidates, v)
		return err
	})
	if err != nil {
		return err
	}
	left := slices.IndexFunc(r.candidates, func(v Candidate) bool { return v.Dropped != "" })
	if left < 0 {
		left = len(r.candidates)
	}
	if err := r.diversify(ctx, p, c, r.candidates[:left]); err != nil {
		return err
	}
	for i := r.query.Limit; i < left; i++ {
		r.candidates[i].Dropped = "limit"
	}
	return nil
}

// offer puts what is ranked into the tables of the ranking.
func (r *recall) offer(p *duck.Conn) error {
	rows := make([][]driver.Value, len(r.found))
	for i, f := range r.found {
		rows[i] = []driver.Value{f.No, f.SessionNo, f.Place, duck.NullText(f.Conversation), duck.NullText(f.Speaker), duck.NullText(f.Role), f.Asks, f.EndsAsking, f.Tells,
			string(f.Kind), duck.NullText(f.Tier), dated(f.CreatedAt), dated(f.ValidFrom), dated(f.Use.ValidUntil), f.Characters, f.Noise, nil, nil, nil, nil, nil,
			known(f.Cosine), known(f.NearCosine), known(f.Raw)}
		if f.Kind == kinds.Memory {
			copy(rows[i][16:], []driver.Value{f.Use.Importance, f.Use.Confidence, f.Use.AccessCount, dated(f.Use.LastAccessedAt), duck.NullText(f.Use.TemporalType)})
		}
	}
	if err := p.AppendTemp("offered", rows...); err != nil {
		return err
	}
	q := &r.question
	froms, untils := r.periods()
	return p.AppendTemp("asking", []driver.Value{r.at, int32(r.query.Limit), r.result.Mode == Hybrid, append([]string{}, q.words...), froms, untils,
		q.byWords, q.vector != nil, r.chance()})
}

// diversify puts those that are too much alike a better one behind the others.
func (r *recall) diversify(ctx context.Context, p, c *duck.Conn, ranked []Candidate) error {
	if r.weights.Diversity == 1 || len(ranked) < 2 {
		return nil
	}
	alike, err := r.alike(ctx, c, ranked)
	if err != nil || len(alike) == 0 {
		return err
	}
	rows := make([][]driver.Value, len(alike))
	for i, a := range alike {
		rows[i] = []driver.Value{a.Place, a.Before}
	}
	if err := p.AppendTemp("alike", rows...); err != nil {
		return err
	}
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
	if err := putShown(c, numbers); err != nil {
		return nil, err
	}
	all, err = duck.List(ctx, c, "recall_alike", func(rows *sql.Rows, a *resident.Alike) error { return rows.Scan(&a.Place, &a.Before) },
		sql.Named("most", r.weights.Diversity))
	if err == nil {
		err = c.ExecTempDDL(ctx, sqlfiles.Query("recall_clear_shown"))
	}
	return all, err
}

// putShown puts documents into the table of those that are shown.
func putShown(c *duck.Conn, numbers []int32) error {
	rows := make([][]driver.Value, len(numbers))
	for i, no := range numbers {
		rows[i] = []driver.Value{no, int32(i + 1)}
	}
	return c.AppendTemp("shown", rows...)
}

// known is a number, or NULL.
func known(f float64) driver.Value {
	if math.IsNaN(f) {
		return nil
	}
	return f
}

// dated is a time as the resident index has it, or NULL.
func dated(micros int64) driver.Value {
	if micros == resident.Never {
		return nil
	}
	return time.UnixMicro(micros).UTC()
}
