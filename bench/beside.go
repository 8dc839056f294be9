package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

// BesideConfig says which two models of a file to compare, and by what.
type BesideConfig struct {
	// Copy is a copy of the file (Engine.Snapshot) that has vectors of both. It is opened with the one and then with the other, and the last that was asked is its
	// model in the end.
	Copy string
	// Models are the two, and Names what they are called in the file: a name, number or fingerprint.
	Models [2]setup.Embedder
	Names  [2]string
	// Questions are asked of both, in their order.
	Questions []BesideQuestion
	Kinds     []kinds.Kind // of what may answer; default memories
	Agent     string       // on whose behalf; default an internal caller, who sees every scope
	// Limit is k: how many hits are compared. 1 to 100, default 10.
	Limit    int
	Related  setup.Related                      // as in setup.Options
	Progress func(step string, done, total int) // default none
}

// BesideQuestion is a question, and what answers it.
type BesideQuestion struct {
	Text string   `json:"question"`
	IDs  []string `json:"ids"` // of what answers it, or their endings of six characters or more; none: nobody says
	From string   `json:"-"`   // the id of the message that asks it, which is no answer
}

// BesideReport is how two models of a file answer the same questions.
type BesideReport struct {
	Questions int            `json:"questions"`
	Labelled  int            `json:"labelled"` // of these, those of which is known what answers them
	Limit     int            `json:"limit"`    // k
	Models    [2]BesideModel `json:"models"`
	// Agreement is the mean over all questions: Overlap of the share of the first k hits that both have (of the longer list, where one is shorter), RBO of the
	// rank-biased overlap with p = 0.9 (Webber, Moffat and Zobel 2010, the extrapolated one), which counts the first places most, and First how often the first
	// hit is the same. Each 0 to 1.
	Agreement struct {
		Overlap float64 `json:"overlap"`
		RBO     float64 `json:"rbo"`
		First   float64 `json:"first"`
	} `json:"agreement"`
	// Gain is what the second model's recall@k is above the first one's, with the bounds that hold 95 % of it by paired bootstrap; nil without labelled questions.
	Gain *Gain `json:"gain,omitempty"`
	// Apart are the questions that the two answer most differently, at most five.
	Apart []string `json:"apart"`
}

// Gain is a difference with its interval.
type Gain struct {
	Recall float64 `json:"recall"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// BesideModel is how one of them does. Recall and MRR are of the labelled questions: the share of what answers that is among the first k, and one over the place of the first
// of it, or 0. Times are in milliseconds, with the question's embedding, of which EmbedP50 is; the resident index answers, and
// may take as much memory as it needs.
type BesideModel struct {
	index.ModelState
	Recall   *float64 `json:"recall,omitempty"`
	MRR      *float64 `json:"mrr,omitempty"`
	P50      float64  `json:"ms_p50"`
	P99      float64  `json:"ms_p99"`
	EmbedP50 float64  `json:"embed_ms_p50"`
}

// RunBeside asks both models of a copy the same questions, and compares what they find. Errors: ErrInvalid for bad fields, ErrNotFound for a model that the file does not have.
func RunBeside(ctx context.Context, c BesideConfig) (*BesideReport, error) {
	if c.Limit == 0 {
		c.Limit = 10
	}
	if c.Limit < 1 || c.Limit > 100 {
		return nil, fmt.Errorf("%w: limit is %d; allowed: 1 to 100", engine.ErrInvalid, c.Limit)
	}
	if len(c.Questions) == 0 {
		return nil, fmt.Errorf("%w: no question; allowed: at least one", engine.ErrInvalid)
	}
	if c.Progress == nil {
		c.Progress = func(string, int, int) {}
	}
	report := &BesideReport{Questions: len(c.Questions), Limit: c.Limit, Apart: []string{}}
	var found [2][][]string
	for i := range c.Models {
		var err error
		if found[i], err = c.ask(ctx, i, &report.Models[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Names[i], err)
		}
	}
	c.agree(report, found)
	c.judge(report, found)
	return report, nil
}

// ask asks one of the models everything, and gives the ids that it finds.
func (c BesideConfig) ask(ctx context.Context, which int, m *BesideModel) (found [][]string, err error) {
	e, err := engine.Open(ctx, c.Copy, engine.Options{Embedder: c.Models[which], ReplaceModel: true, Related: c.Related, ResidentMB: residentWhole})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	s, err := e.UseModel(ctx, index.UseModelRequest{Model: c.Names[which], AllowMissing: true})
	if err != nil {
		return nil, err
	}
	m.ModelState = *s
	query := func(q BesideQuestion) recall.Query {
		return recall.Query{Text: q.Text, Kinds: c.Kinds, Agent: c.Agent, Limit: c.Limit + 1, Mode: recall.Hybrid, TagPrefixes: []string{}}
	}
	if err := untilResident(ctx, e); err != nil {
		return nil, err
	}
	var times, embeds []time.Duration
	for n, q := range c.Questions {
		r, err := e.Recall(ctx, query(q))
		if err != nil {
			return nil, fmt.Errorf("question %q: %w", q.Text, err)
		}
		times = append(times, r.Trace.Duration)
		for _, stage := range r.Trace.Stages {
			if stage.Name == "embed" {
				embeds = append(embeds, stage.Duration)
			}
		}
		var ids []string
		for _, h := range r.Hits {
			if h.ID != q.From && len(ids) < c.Limit {
				ids = append(ids, h.ID)
			}
		}
		found = append(found, ids)
		c.Progress(s.Model, n+1, len(c.Questions))
	}
	m.P50, m.P99, m.EmbedP50 = milliseconds(percentile(times, 50)), milliseconds(percentile(times, 99)), milliseconds(percentile(embeds, 50))
	return found, nil
}

// agree says how alike two lists of answers are.
func (c BesideConfig) agree(report *BesideReport, found [2][][]string) {
	type apart struct {
		question string
		rbo      float64
	}
	var all []apart
	a := &report.Agreement
	n := float64(len(c.Questions))
	for i, q := range c.Questions {
		one, other := found[0][i], found[1][i]
		rbo := rankBiasedOverlap(one, other)
		a.Overlap += overlap(one, other) / n
		a.RBO += rbo / n
		a.First += whether(len(one) == 0 && len(other) == 0 || len(one) > 0 && len(other) > 0 && one[0] == other[0]) / n
		if rbo < 1 {
			all = append(all, apart{q.Text, rbo})
		}
	}
	slices.SortStableFunc(all, func(x, y apart) int {
		switch {
		case x.rbo < y.rbo-1e-12:
			return -1
		case x.rbo > y.rbo+1e-12:
			return 1
		}
		return 0
	})
	for _, x := range all[:min(5, len(all))] {
		report.Apart = append(report.Apart, x.question)
	}
}

// judge says how right the answers are.
func (c BesideConfig) judge(report *BesideReport, found [2][][]string) {
	var rows [][]float64
	var recalls, ranks [2]float64
	for i, q := range c.Questions {
		if len(q.IDs) == 0 {
			continue
		}
		var got [2]float64
		for which := range found {
			places := make([]int, len(q.IDs))
			for j, id := range q.IDs {
				places[j] = slices.IndexFunc(found[which][i], func(hit string) bool { return names(id, hit) }) + 1
			}
			got[which] = share(places, c.Limit)
			ranks[which] += reciprocal(places, c.Limit)
			recalls[which] += got[which]
		}
		rows = append(rows, []float64{got[1] - got[0]})
	}
	report.Labelled = len(rows)
	if len(rows) == 0 {
		return
	}
	for which := range found {
		recall, mrr := recalls[which]/float64(len(rows)), ranks[which]/float64(len(rows))
		report.Models[which].Recall, report.Models[which].MRR = &recall, &mrr
	}
	mean, low, high := bootstrap(rows)
	report.Gain = &Gain{mean[0], low[0], high[0]}
}

// names reports whether an id, or its ending, is that of a hit.
func names(id, hit string) bool { return id == hit || len(id) >= 6 && strings.HasSuffix(hit, id) }

// overlap is the share of the longer list that both have; 1 of two empty ones.
func overlap(a, b []string) float64 {
	longer := max(len(a), len(b))
	if longer == 0 {
		return 1
	}
	both := 0
	for _, id := range a {
		if slices.Contains(b, id) {
			both++
		}
	}
	return float64(both) / float64(longer)
}

// persistence is p of the rank-biased overlap: after each place, how likely one reads on.
const persistence = 0.9

// rankBiasedOverlap is RBO_ext of Webber, Moffat and Zobel, "A similarity measure for indefinite rankings" (2010), formula 32, for lists without ties; 1 of two empty
// lists, 0 where only one is.
func rankBiasedOverlap(a, b []string) float64 {
	if len(a) > len(b) {
		a, b = b, a
	}
	s, l := len(a), len(b)
	switch {
	case l == 0:
		return 1
	case s == 0:
		return 0
	}
	const p = persistence
	var sum, common, commonAtS float64
	seenA, seenB := map[string]bool{}, map[string]bool{}
	for d := 1; d <= l; d++ {
		seenB[b[d-1]] = true
		if d <= s {
			seenA[a[d-1]] = true
			if seenB[a[d-1]] {
				common++
			}
		}
		if seenA[b[d-1]] && (d > s || a[d-1] != b[d-1]) {
			common++
		}
		if d == s {
			commonAtS = common
		}
		weight := math.Pow(p, float64(d))
		sum += common / float64(d) * weight
		if d > s {
			sum += commonAtS * float64(d-s) / float64(s*d) * weight
		}
	}
	return (1-p)/p*sum + ((common-commonAtS)/float64(l)+commonAtS/float64(s))*math.Pow(p, float64(l))
}

// ReadBesideQuestions reads questions, one JSON object to a line: {"question": "…", "ids": ["…"]}. The ids of what answers may be missing.
func ReadBesideQuestions(in io.Reader) (all []BesideQuestion, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var q BesideQuestion
		d := json.NewDecoder(strings.NewReader(lines.Text()))
		d.DisallowUnknownFields()
		if err := d.Decode(&q); err != nil {
			return nil, fmt.Errorf("%w: line %d: %v", engine.ErrInvalid, n, err)
		}
		if strings.TrimSpace(q.Text) == "" {
			return nil, fmt.Errorf("%w: line %d: question is empty; allowed: a question", engine.ErrInvalid, n)
		}
		for _, id := range q.IDs {
			if len(id) < 6 {
				return nil, fmt.Errorf("%w: line %d: ids has %q; allowed: ids, or their endings of six characters or more", engine.ErrInvalid, n, id)
			}
		}
		all = append(all, q)
	}
	return all, lines.Err()
}
