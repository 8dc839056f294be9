package recall

import (
	"math"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/resident"
)

// ranking is where every recall of this process is ranked. It has nothing of any file, and ends with the last one that recalled.
var ranking = duck.Private{Macros: "rank_macros", Tables: duck.Tables{&offered, &asked, &alike, &relating}}

// offer is a candidate for ranking: what was found out of it, and what is the same for all.
type offer struct {
	*resident.Found
	all      *offers
	verbatim bool
}

// offers is what all candidates of a recall share.
type offers struct {
	at                  time.Time // of the question
	hits                int32     // that are wanted
	byWords             bool
	chance              float64
	bestCosine, bestRaw float64 // greatest near cosine and raw score; NaN: nobody has any
	modelScores         map[int32]float64
	read                map[int32]said
}

// offered are the candidates, as recall_rank reads them.
var offered = duck.Table[offer]{Name: "offered", About: 100, Columns: []duck.TableColumn[offer]{
	duck.Value("doc_no", func(o *offer) int32 { return o.No }),
	duck.Value("session_no", func(o *offer) int32 { return o.SessionNo }),
	duck.Value("place", func(o *offer) int32 { return o.Place }),
	duck.Value("conversation_id", func(o *offer) string { return o.Conversation }),
	duck.Value("speaker", func(o *offer) string { return o.Speaker }),
	duck.Value("role", func(o *offer) string { return o.Role }),
	duck.Value("asks", func(o *offer) bool { return o.Asks }),
	duck.Value("ends_asking", func(o *offer) bool { return o.EndsAsking }),
	duck.Value("wishes", func(o *offer) bool { return o.Wishes }),
	duck.Value("tells", func(o *offer) float64 { return float64(o.Tells) }),
	duck.Value("kind", func(o *offer) string { return string(o.Kind) }),
	duck.Value("tier", func(o *offer) string { return o.Tier }),
	duck.Value("created_at", func(o *offer) time.Time { return dated(o.CreatedAt) }),
	duck.Value("valid_from", func(o *offer) time.Time { return dated(o.ValidFrom) }),
	duck.Value("characters", func(o *offer) int32 { return o.Characters }),
	duck.Value("noise", func(o *offer) bool { return o.Noise }),
	duck.Value("importance", func(o *offer) float64 { return o.Use.Importance }),
	duck.Value("confidence", func(o *offer) float64 { return o.Use.Confidence }),
	duck.Value("access_count", func(o *offer) int32 { return o.Use.AccessCount }),
	duck.Value("last_accessed_at", func(o *offer) time.Time { return dated(o.Use.LastAccessedAt) }),
	duck.Value("temporal_type", func(o *offer) string { return o.Use.TemporalType }),
	duck.Value("trust", func(o *offer) string { return o.Use.Trust }),
	duck.Value("cosine", func(o *offer) float64 { return o.Cosine }),
	duck.Value("near_cosine", func(o *offer) float64 { return o.NearCosine }),
	duck.Value("by_passage", func(o *offer) bool { return o.ByPassage }),
	duck.Value("raw", func(o *offer) float64 { return o.Raw }),
	duck.Value("verbatim", func(o *offer) bool { return o.verbatim }),
	duck.Value("expired", func(o *offer) bool {
		return o.Use.ValidUntil != resident.Never && o.Use.ValidUntil <= o.all.at.UnixMicro()
	}),
	duck.Value("asked_at", func(o *offer) time.Time { return o.all.at }),
	duck.Value("hits", func(o *offer) int32 { return o.all.hits }),
	duck.Value("by_words", func(o *offer) bool { return o.all.byWords }),
	duck.Value("chance", func(o *offer) float64 { return o.all.chance }),
	duck.Value("best_cosine", func(o *offer) float64 { return o.all.bestCosine }),
	duck.Value("best_raw", func(o *offer) float64 { return o.all.bestRaw }),
	duck.Value("model_score", func(o *offer) float64 {
		if s, ok := o.all.modelScores[o.No]; ok {
			return s
		}
		return math.NaN()
	}),
	ofText("coverage", func(s said) float64 { return s.coverage }),
	ofText("proximity", func(s said) float64 { return s.proximity }),
	ofText("phrase", func(s said) float64 { return s.phrase }),
	ofText("named", func(s said) float64 { return s.name }),
}}

// ofText is a column of what a text says of the question, where it was read.
func ofText(name string, value func(said) float64) duck.TableColumn[offer] {
	return duck.Value(name, func(o *offer) float64 {
		if s, read := o.all.read[o.No]; read {
			return value(s)
		}
		return math.NaN()
	})
}

// asking is what is asked, as far as that is a list.
type asking struct {
	words         []string
	froms, untils []time.Time // of the periods that are meant
}

var asked = duck.Table[asking]{Name: "asking", About: 1, Columns: []duck.TableColumn[asking]{
	duck.Values("words", func(a *asking) []string { return a.words }),
	duck.Values("froms", func(a *asking) []time.Time { return a.froms }),
	duck.Values("untils", func(a *asking) []time.Time { return a.untils }),
}}

// alike are pairs of hits that are too much alike.
var alike = duck.Table[resident.Alike]{Name: "alike", About: 10, Columns: []duck.TableColumn[resident.Alike]{
	duck.Value("place", func(a *resident.Alike) int32 { return a.Place }),
	duck.Value("before", func(a *resident.Alike) int32 { return a.Before }),
}}

// dated is a time as the resident index has it; that of what has none is zero.
func dated(micros int64) time.Time {
	if micros == resident.Never {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// offers gives the candidates that were found for ranking.
func (r *recall) offers() []offer {
	most := func(best *float64, f float64) {
		if !math.IsNaN(f) && !(f <= *best) {
			*best = f
		}
	}
	all := &offers{at: r.at, hits: int32(r.query.Limit), byWords: r.question.byWords, chance: r.chance(),
		bestCosine: math.NaN(), bestRaw: math.NaN(), modelScores: r.modelScores, read: r.read}
	list := make([]offer, len(r.found))
	for i := range r.found {
		f := &r.found[i]
		list[i] = offer{f, all, r.saysIt(f.No)}
		most(&all.bestCosine, max(f.NearCosine, 0))
		most(&all.bestRaw, f.Raw)
	}
	return list
}
