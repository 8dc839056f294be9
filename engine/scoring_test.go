package engine_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// ask evaluates one SQL expression in the engine's file, with its own macros.
func ask(t *testing.T, e *engine.Engine, expression string) any {
	t.Helper()
	table, err := e.Query(context.Background(), "SELECT "+expression, 1)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return table.Rows[0][0]
}

// scores holds the acceptance vectors of every formula: an SQL expression and what it gives, to the sixth decimal.
var scores = []struct {
	name, expression string
	want             float64
}{
	{"A1", "vector_score(1 - 0.0)", 1},
	{"A2", "vector_score(1 - 0.1)", 0.909091},
	{"A3", "vector_score(1 - 0.2)", 0.833333},
	{"A4", "vector_score(1 - 0.4)", 0.714286},
	{"A5", "vector_score(1 - 0.5)", 0.666667},
	{"A6", "vector_score(1 - 1.0)", 0.5},
	{"A7", "vector_score(1 - 2.0)", 0.333333},

	{"B1 negative", "lexical_score(-1)", 0.5},
	{"B1 zero", "lexical_score(0)", 0.5},
	{"B2", "lexical_score(0.1)", 0.505},
	{"B3", "lexical_score(1)", 0.549834},
	{"B4", "lexical_score(5)", 0.731059},
	{"B5", "lexical_score(5.5)", 0.750260},
	{"B6", "lexical_score(10)", 0.880797},
	{"B7", "lexical_score(20)", 0.982014},
	{"B8", "lexical_score(2.5 * ln(10))", 0.759747},
	{"idf of one in two", "idf(2, 1)", 0.693147},

	{"D1", "fuse(0.6, 0.5, 0.7, 0.3)", 0.57},
	{"D2 floor", "fuse(0.3, 0.85, 0.7, 0.3)", 0.782},
	{"D3", "fuse(0.9, NULL, 0.7, 0.3)", 0.63},
	{"D4", "fuse(0.5, 0.5, 0.7, 0.3)", 0.5},
	{"D5", "fuse(0.7, 0.75, 0.7, 0.3)", 0.715},
	{"D6", "fuse(0.7, 0.7499, 0.7, 0.3)", 0.71497},
	{"D7", "fuse(1, 1, 0.7, 0.3)", 1},
	{"D8", "fuse(0.5438692121765099, 0.7833663291840794, 0.7, 0.3)", 0.7206970228493531},
	{"D9", "fuse(NULL, 0.5, 0.7, 0.3)", 0.5},
	{"D10", "fuse(NULL, 0.75, 0.7, 0.3)", 0.75},
	{"D11", "fuse(NULL, 0.95, 0.7, 0.3)", 0.95},
	{"D12", "fuse(0.4, NULL, 0.7, 0.3)", 0.28},
	{"D13", "fuse(0.6, 0.5, 0.9, 0.1)", 0.59},
	{"D14", "fuse(0.6, 0.5, 0.1, 0.9)", 0.51},
	{"D not finite", "fuse('nan'::DOUBLE, 0.5, 0.7, 0.3)", 0.1},

	{"E now", "recency_boost(0.5, 0, 14, 0.1)", 0.6},
	{"E 1 day", "recency_boost(0.5, 1, 14, 0.1)", 0.593106},
	{"E 7 days", "recency_boost(0.5, 7, 14, 0.1)", 0.560653},
	{"E 14 days", "recency_boost(0.5, 14, 14, 0.1)", 0.536788},
	{"E 28 days", "recency_boost(0.5, 28, 14, 0.1)", 0.513534},
	{"E 60 days", "recency_boost(0.5, 60, 14, 0.1)", 0.501376},
	{"E cap", "recency_boost(0.97, 0, 14, 0.1)", 1},
	{"E future", "recency_boost(0.5, -14, 14, 0.1)", 0.6},
	{"E off", "recency_boost(0.5, 0, 0, 0.1)", 0.5},

	{"F 0", "importance_weight(0.8, 0)", 0.56},
	{"F 0.2", "importance_weight(0.8, 0.2)", 0.608},
	{"F 0.5", "importance_weight(0.8, 0.5)", 0.68},
	{"F 0.7", "importance_weight(0.8, 0.7)", 0.728},
	{"F missing", "importance_weight(0.8, NULL)", 0.728},
	{"F 0.8", "importance_weight(0.8, 0.8)", 0.752},
	{"F 1", "importance_weight(0.8, 1)", 0.8},

	{"G 500", "length_norm(1, 500, 500)", 1},
	{"G 10", "length_norm(1, 10, 500)", 1},
	{"G 501", "length_norm(1, 501, 500)", 0.998561},
	{"G 800", "length_norm(1, 800, 500)", 0.746806},
	{"G 1000", "length_norm(1, 1000, 500)", 0.666667},
	{"G 1500", "length_norm(1, 1500, 500)", 0.557886},
	{"G 2000", "length_norm(1, 2000, 500)", 0.5},
	{"G 4000", "length_norm(1, 4000, 500)", 0.4},
	{"G 8000", "length_norm(1, 8000, 500)", 0.333333},
	{"G off", "length_norm(1, 8000, 0)", 1},

	{"H now", "time_decay(1, 0, 60)", 1},
	{"H 30", "time_decay(1, 30, 60)", 0.803265},
	{"H 60", "time_decay(1, 60, 60)", 0.683940},
	{"H 120", "time_decay(1, 120, 60)", 0.567668},
	{"H 240", "time_decay(1, 240, 60)", 0.509158},
	{"H 1000", "time_decay(1, 1000, 60)", 0.5},
	{"H dynamic 20", "time_decay(1, 20, 60 / 3)", 0.683940},
	{"H dynamic 60", "time_decay(1, 60, 60 / 3)", 0.524894},
	{"H 10 accesses now", "time_decay(1, 60, effective_half_life(60, 10, 0, 0.5, 3))", 0.817299},
	{"H 10 accesses 30 days ago", "time_decay(1, 60, effective_half_life(60, 10, 30, 0.5, 3))", 0.795051},
	{"H 10 accesses, none last", "time_decay(1, 60, effective_half_life(60, 10, NULL, 0.5, 3))", 0.683940},

	{"I1", "effective_half_life(30, 10, 0, 0.5, 5)", 65.968429},
	{"I2", "effective_half_life(30, 10, 30, 0.5, 100)", 56.876392},
	{"I3", "effective_half_life(30, 10, 60, 0.5, 100)", 48.791445},
	{"I4", "effective_half_life(60, 1, 0, 0.5, 3)", 80.794415},
	{"I5", "effective_half_life(60, 5, 0, 0.5, 3)", 113.752784},
	{"I6", "effective_half_life(60, 10, 0, 0.5, 3)", 131.936858},
	{"I7", "effective_half_life(60, 53, 0, 0.5, 3)", 179.669521},
	{"I8", "effective_half_life(60, 54, 0, 0.5, 3)", 180},
	{"I9", "effective_half_life(20, 10, 0, 0.5, 3)", 43.978953},
	{"I10", "effective_half_life(30, 10000, 0, 10, 3)", 90},
	{"I11", "effective_half_life(60, 0, 5, 0.5, 3)", 60},

	{"J exact, scored", "rerank_floor(0.6, 0.75, true)", 0.57},
	{"J exact, not scored", "rerank_floor(0.6, 0.75, false)", 0.6},
	{"J good, scored", "rerank_floor(0.6, 0.7499, true)", 0.54},
	{"J good, not scored", "rerank_floor(0.6, 0.6, false)", 0.57},
	{"J other, scored", "rerank_floor(0.6, 0.5999, true)", 0.3},
	{"J other, not scored", "rerank_floor(0.6, 0.5, false)", 0.48},
	{"J no word, scored", "rerank_floor(0.6, NULL, true)", 0.3},
	{"J no word, not scored", "rerank_floor(0.6, NULL, false)", 0.48},

	{"K a", "rerank_blend(0.72, 0.0, 0.78)", 0.684},
	{"K b", "rerank_blend(0.5, 0.9, NULL)", 0.74},
	{"K c", "rerank_blend(0.4, 0.1, 0.65)", 0.36},
	{"K d", "rerank_blend(0.6, NULL, NULL)", 0.48},
	{"K e", "rerank_blend(0.7, NULL, 0.8)", 0.7},
	{"K not a number", "rerank_blend(0.7, 'nan'::DOUBLE, 0.8)", 0.7},
	{"K above one", "rerank_blend(1.0, 2.0, 0.8)", 1},
	{"K other shares", "rerank_blend(0.5, 0.9, NULL, model_share := 0.9)", 0.86},
	{"K other share of what is not scored", "rerank_blend(0.5, NULL, NULL, unscored_share := 1.0)", 0.5},

	{"features, none", "features_blend(0.4)", 0.4},
	{"features, one", "features_blend(0.4, coverage := 1.0, coverage_weight := 0.5)", 0.6},
	{"features, one unknown", "features_blend(0.4, coverage := NULL, coverage_weight := 0.5)", 0.4},
	{"features, a weight of 0", "features_blend(0.4, coverage := 1.0)", 0.4},
	{"features, all", "features_blend(0.5, cosine := 0.1, lexical := 0.2, coverage := 0.3, proximity := 0.4, phrase := 0.5, named := 0.6, dated := 0.7, neighbour := 0.8, session_best := 0.9, cosine_weight := 0.1, lexical_weight := 0.2, coverage_weight := 0.3, proximity_weight := 0.4, phrase_weight := 0.5, named_weight := 0.6, dated_weight := 0.7, neighbour_weight := 0.8, session_weight := 0.9)", 3.35 / 5.5},

	{"L 0", "light_blend(0.5, 0.0)", 0.35},
	{"L 1", "light_blend(0.5, 1.0)", 0.65},
	{"L -1", "light_blend(0.5, -1.0)", 0.05},
	{"L 0.6", "light_blend(0.5, 0.6)", 0.53},
	{"L no vector", "light_blend(0.5, NULL)", 0.5},

	{"M1 recency", "decay_recency(0, 0.7, 'working', false)", 1},
	{"M2 recency", "decay_recency(30, 0, 'working', false)", 0.5},
	{"M2 composite", "decay_composite(0.5, 0, 0)", 0.2},
	{"M3 recency", "decay_recency(30, 0.7, 'working', false)", 0.784618},
	{"M4 recency", "decay_recency(30, 1, 'core', false)", 0.924654},
	{"M5 recency", "decay_recency(30, 0.5, 'peripheral', false)", 0.403199},
	{"M6 recency", "decay_recency(30, 0.7, 'working', true)", 0.483031},
	{"M7 recency", "decay_recency(120, 0.2, 'working', false)", 0.128223},
	{"M8 recency", "decay_recency(1, 0.95, 'working', false)", 0.994458},
	{"M8 frequency", "decay_frequency(12, 44)", 0.852531},
	{"M9 frequency", "decay_frequency(1, 5)", 0.181269},
	{"M10 frequency", "decay_frequency(5, 40)", 0.542527},
	{"M11 core", "decay_recency(60, 0.5, 'core', false)", 0.749208},
	{"M11 working", "decay_recency(60, 0.5, 'working', false)", 0.519526},
	{"M11 peripheral", "decay_recency(60, 0.5, 'peripheral', false)", 0.106826},
	{"M frequency 1", "decay_frequency(1, 0)", 0.181269},
	{"M frequency 2", "decay_frequency(2, 0) / (0.5 + 0.5 * exp(-1.0 / 1 / 30))", 0.329680},
	{"M frequency 3", "decay_frequency(3, 0) / (0.5 + 0.5 * exp(-1.0 / 2 / 30))", 0.451188},
	{"M frequency 5", "decay_frequency(5, 0) / (0.5 + 0.5 * exp(-1.0 / 4 / 30))", 0.632121},
	{"M frequency 10", "decay_frequency(10, 0) / (0.5 + 0.5 * exp(-1.0 / 9 / 30))", 0.864665},
	{"M frequency 20", "decay_frequency(20, 0) / (0.5 + 0.5 * exp(-1.0 / 19 / 30))", 0.981684},

	{"M half-life of 0", "decay_recency(30, 0, 'working', false)", 0.5},
	{"M half-life of 0.2", "decay_recency(40.495764, 0.2, 'working', false)", 0.5},
	{"M half-life of 0.5", "decay_recency(63.510000, 0.5, 'working', false)", 0.5},
	{"M half-life of 0.7", "decay_recency(85.729534, 0.7, 'working', false)", 0.5},
	{"M half-life of 0.8", "decay_recency(99.603508, 0.8, 'working', false)", 0.5},
	{"M half-life of 0.9", "decay_recency(115.722766, 0.9, 'working', false)", 0.5},
	{"M half-life of 1", "decay_recency(134.450672, 1, 'working', false)", 0.5},

	{"Z fused", "fuse(vector_score(0.9), lexical_score(5.5), 0.7, 0.3)", 0.861442},
	{"Z recency", "recency_boost(0.861442, 14, 14, 0.1)", 0.898230},
	{"Z importance", "importance_weight(0.898230, 0.8)", 0.844336},
	{"Z length", "length_norm(0.844336, 1000, 500)", 0.562891},
	{"Z time decay", "time_decay(0.562891, 14, 60)", 0.504319},
	{"Z engine length", "length_norm(0.861442, 1000, 500)", 0.574294},
	{"Z engine recency", "decay_recency(14, 0.8, 'working', false)", 0.907169},
	{"Z engine composite", "decay_composite(0.907169, 0, 0.8 * 0.7)", 0.530867},
	{"Z engine multiplier", "decay_multiplier(0.530867, 'working')", 0.79},
}

// decays holds the acceptance vectors of the decay engine for whole memories.
var decays = []struct {
	name                   string
	created, accessed      float64 // days ago
	accesses               int
	importance, confidence float64
	tier, temporal         string
	composite, multiplier  float64
}{
	{"M1", 0, 0, 0, 0.7, 0.7, "working", "static", 0.547, 0.79},
	{"M3", 30, 30, 0, 0.7, 0.7, "working", "static", 0.460847, 0.79},
	{"M4", 30, 30, 0, 1, 0.7, "core", "static", 0.579862, 0.93},
	{"M5", 30, 30, 0, 0.5, 0.7, "peripheral", "static", 0.266280, 0.65},
	{"M6", 30, 30, 0, 0.7, 0.7, "working", "dynamic", 0.340212, 0.79},
	{"M7", 120, 120, 0, 0.2, 0.4, "working", "static", 0.075289, 0.79},
	{"M8", 45, 1, 12, 0.95, 0.95, "working", "static", 0.924293, 0.947005},
	{"M9", 10, 5, 1, 0.7, 0.7, "working", "static", 0.585533, 0.79},
	{"M10", 40, 0, 5, 0.7, 0.7, "working", "static", 0.709758, 0.796831},
}

func TestFormulas(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	const tolerance = 1.01e-6
	for _, s := range scores {
		got, ok := ask(t, e, "("+s.expression+")::DOUBLE").(float64)
		if !ok || math.Abs(got-s.want) > tolerance {
			t.Errorf("%s: %s = %v, want %v", s.name, s.expression, got, s.want)
		}
	}
	for _, d := range decays {
		seconds := func(days float64) string {
			return fmt.Sprintf("TIMESTAMP '2026-06-15 12:00' - INTERVAL (%d) SECOND", int64(days*86400))
		}
		composite := fmt.Sprintf("memory_composite(%s, %s, %d, %g, %g, '%s', '%s', TIMESTAMP '2026-06-15 12:00')",
			seconds(d.created), seconds(d.accessed), d.accesses, d.importance, d.confidence, d.tier, d.temporal)
		if got := ask(t, e, composite+"::DOUBLE").(float64); math.Abs(got-d.composite) > tolerance {
			t.Errorf("%s: composite %v, want %v", d.name, got, d.composite)
		}
		if got := ask(t, e, fmt.Sprintf("decay_multiplier(%s, '%s')::DOUBLE", composite, d.tier)).(float64); math.Abs(got-d.multiplier) > tolerance {
			t.Errorf("%s: multiplier %v, want %v", d.name, got, d.multiplier)
		}
	}
}

// TestNextTier has the acceptance vectors N. The rules run after uses are written, and in Maintain; in the source nothing ran them.
func TestNextTier(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	for of, want := range map[string]string{
		"'peripheral', 3, 0.4, 0.5, 1": "working", "'peripheral', 2, 0.9, 0.5, 1": "none", "'peripheral', 3, 0.399, 0.5, 1": "none",
		"'working', 10, 0.7, 0.8, 1": "core", "'working', 10, 0.7, 0.79, 1": "none", "'working', 9, 0.7, 0.8, 1": "none",
		"'working', 2, 0.5, 0.5, 61": "peripheral", "'working', 2, 0.5, 0.5, 60": "none", "'working', 3, 0.5, 0.5, 61": "none",
		"'working', 50, 0.149, 0.5, 1": "peripheral", "'core', 2, 0.149, 0.9, 1": "working", "'core', 3, 0.1, 0.9, 1": "none", "'core', 2, 0.15, 0.9, 1": "none",
	} {
		if got := ask(t, e, "coalesce(next_tier("+of+").tier, 'none')"); got != want {
			t.Errorf("next_tier(%s) is %v, want %s", of, got, want)
		}
	}
}

func TestKeptRanks(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for near, want := range map[string]string{
		"[[], [1], [], []]":     "[1, 3, 4]", // the second is near the first
		"[[], [1], [2]]":        "[1, 3]",    // what was deferred blocks nobody
		"[[], [1], [1, 2], []]": "[1, 4]",
		"[[]]":                  "[1]",
	} {
		if got := ask(t, e, "kept_ranks("+near+"::INTEGER[][])::VARCHAR"); got != want {
			t.Errorf("kept_ranks(%s) = %v, want %s", near, got, want)
		}
	}
}
