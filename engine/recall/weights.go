package recall

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/text"
)

// Weights is every tunable number of ranking. The SQL type weights says what each is for, and so does docs/recall.md.
type Weights struct {
	Pool             int     `json:"pool"`
	Whole            int     `json:"whole"`
	K1               float64 `json:"k1"`
	B                float64 `json:"b"`
	Counted          string  `json:"counted"`
	Normalise        string  `json:"normalise"`
	Vector           float64 `json:"vector"`
	Passage          float64 `json:"passage"`
	Lexical          float64 `json:"lexical"`
	Near             float64 `json:"near"`
	Far              float64 `json:"far"`
	LongTurn         float64 `json:"long_turn"`
	Date             float64 `json:"date"`
	DateDays         float64 `json:"date_days"`
	Speaker          float64 `json:"speaker"`
	Reply            float64 `json:"reply"`
	Answered         float64 `json:"answered"`
	Tells            float64 `json:"tells"`
	Wish             float64 `json:"wish"`
	Question         float64 `json:"question"`
	Verbatim         float64 `json:"verbatim"`
	Relation         float64 `json:"relation"`
	Fresh            float64 `json:"fresh"`
	Related          float64 `json:"related"`
	Chance           float64 `json:"chance"`
	MinScore         float64 `json:"min_score"`
	Rerank           string  `json:"rerank"`
	ModelShare       float64 `json:"model_share"`
	FeatureCosine    float64 `json:"feature_cosine"`
	FeatureLexical   float64 `json:"feature_lexical"`
	FeatureCoverage  float64 `json:"feature_coverage"`
	FeatureProximity float64 `json:"feature_proximity"`
	FeaturePhrase    float64 `json:"feature_phrase"`
	FeatureName      float64 `json:"feature_name"`
	FeatureDate      float64 `json:"feature_date"`
	FeatureNeighbour float64 `json:"feature_neighbour"`
	FeatureSession   float64 `json:"feature_session"`
	Decay            string  `json:"decay"`
	FreshnessFloor   bool    `json:"freshness_floor"`
	Recency          float64 `json:"recency"`
	RecencyDays      float64 `json:"recency_days"`
	Importance       bool    `json:"importance"`
	Trust            float64 `json:"trust"`
	LengthAnchor     float64 `json:"length_anchor"`
	LifeDays         float64 `json:"life_days"`
	Reinforcement    float64 `json:"reinforcement"`
	MaxLife          float64 `json:"max_life"`
	HardMinScore     float64 `json:"hard_min_score"`
	Noise            bool    `json:"noise"`
	Diversity        float64 `json:"diversity"`
	Rarity           bool    `json:"rarity"`

	// Where a hit by words stands out, and how the decay engine fades a memory.
	ExactFrom       float64 `json:"exact_from"`
	ExactShare      float64 `json:"exact_share"`
	HalfLife        float64 `json:"half_life"`
	DynamicHalfLife float64 `json:"dynamic_half_life"`
	Modulation      float64 `json:"modulation"`
	CoreBeta        float64 `json:"core_beta"`
	WorkingBeta     float64 `json:"working_beta"`
	PeripheralBeta  float64 `json:"peripheral_beta"`
	RecencyPart     float64 `json:"recency_part"`
	FrequencyPart   float64 `json:"frequency_part"`
	IntrinsicPart   float64 `json:"intrinsic_part"`
	DecayFloor      float64 `json:"decay_floor"`
	CoreFloor       float64 `json:"core_floor"`
	WorkingFloor    float64 `json:"working_floor"`
	PeripheralFloor float64 `json:"peripheral_floor"`
}

// MemoryWeights are for short statements: absolute scores, floors, decay, diversity. The floor after decay is lower than the 0.35
// these scores were made for: with the built-in model that one drops one right answer in seven (docs/recall.md).
func MemoryWeights() Weights {
	return fading(Weights{
		Pool: 20, K1: 1.2, B: 0.75, Counted: "kind", Normalise: "absolute", Vector: 0.7, Passage: 0.8, Lexical: 0.3, Date: 0.1, DateDays: 14, Chance: 1, MinScore: 0.3, Rerank: "light",
		Decay: "engine", Recency: 0.1, RecencyDays: 14, Importance: true, LengthAnchor: 500,
		LifeDays: 60, Reinforcement: 0.5, MaxLife: 3, HardMinScore: 0.25, Noise: true, Diversity: 0.85,
	})
}

// TranscriptWeights are for turns of talk: scores relative to the best of the query, and nothing held back but what is there by chance.
func TranscriptWeights() Weights {
	return fading(Weights{
		Pool: 200, Whole: 2000, K1: 1.2, B: 0.75, Counted: "asked", Normalise: "maximum", Vector: 0.8, Passage: 0.5, Lexical: 1, Near: 0.5, Far: 0.3, LongTurn: 500,
		Date: 1, DateDays: 14, Speaker: 0.3, Reply: 0.25, Answered: 0.5, Tells: 0.3, Wish: 0.2, Question: 0.2, Related: 0.2, Chance: 1, Rerank: "none", Decay: "none",
		MaxLife: 1, Diversity: 1, Rarity: true,
	})
}

// NoteWeights are for notes, stretches of files: the cosine and BM25 as they are, seven parts to three, and nothing held back but what is there by chance.
func NoteWeights() Weights {
	return fading(Weights{
		Pool: 24, K1: 1.2, B: 0.75, Counted: "kind", Normalise: "plain", Vector: 0.7, Passage: 1, Lexical: 0.3, DateDays: 14, Chance: 1, Rerank: "none",
		Decay: "none", MaxLife: 1, Diversity: 1,
	})
}

// fading is a set with the numbers by which memories fade, near-exact hits stand out, and models and features rerank, as they are built in.
func fading(w Weights) Weights {
	w.ExactFrom, w.ExactShare = 0.75, 0.92
	w.HalfLife, w.DynamicHalfLife, w.Modulation = 30, 10, 1.5
	w.CoreBeta, w.WorkingBeta, w.PeripheralBeta = 0.8, 1, 1.3
	w.RecencyPart, w.FrequencyPart, w.IntrinsicPart = 0.4, 0.3, 0.3
	w.DecayFloor, w.CoreFloor, w.WorkingFloor, w.PeripheralFloor = 0.3, 0.9, 0.7, 0.5
	w.ModelShare = 0.6
	w.FeatureProximity, w.FeaturePhrase, w.FeatureName, w.FeatureDate = 0.1, 0.06, 0.03, 0.1 // the others add nothing to these
	return w
}

// builtinWeights are the sets that every file has, by name; a stored set of the same name takes their place.
func builtinWeights() map[string]Weights {
	return map[string]Weights{"memory": MemoryWeights(), "transcript": TranscriptWeights(), "note": NoteWeights()}
}

// baseWeights is what a stored set leaves out, because it was stored before there was such a weight: as in the built-in set of its
// name, else as in memory.
func baseWeights(name string) Weights {
	if w, ok := builtinWeights()[name]; ok {
		return w
	}
	return MemoryWeights()
}

// weightsFor names the set for kinds when the caller names none.
func weightsFor(among []kinds.Kind) string {
	if slices.Contains(among, kinds.Memory) {
		return "memory"
	}
	if len(among) > 0 && !slices.ContainsFunc(among, func(k kinds.Kind) bool { return k != kinds.Note }) {
		return "note"
	}
	return "transcript"
}

// settle takes out what a question has no use for.
func (w *Weights) settle(question string) {
	if !text.AsksForHelp(question) {
		w.Wish = 0
	}
}

// validate names what is out of range.
func (w Weights) validate() error {
	for _, f := range []struct {
		name       string
		value      float64
		least, max float64
	}{
		{"pool", float64(w.Pool), 10, 2000}, {"whole", float64(w.Whole), 0, 5000}, {"near", w.Near, 0, 1}, {"far", w.Far, 0, 1}, {"long_turn", w.LongTurn, 0, 100_000},
		{"date", w.Date, 0, 1}, {"date_days", w.DateDays, 0.1, 3650}, {"speaker", w.Speaker, 0, 1},
		{"reply", w.Reply, 0, 1}, {"answered", w.Answered, 0, 1}, {"tells", w.Tells, 0, 1}, {"wish", w.Wish, 0, 1}, {"question", w.Question, 0, 1}, {"verbatim", w.Verbatim, 0, 1}, {"relation", w.Relation, 0, 1}, {"fresh", w.Fresh, 0, 1}, {"related", w.Related, 0, 1}, {"k1", w.K1, 0, 10}, {"b", w.B, 0, 1}, {"vector", w.Vector, 0, 1}, {"passage", w.Passage, 0, 1}, {"lexical", w.Lexical, 0, 1},
		{"chance", w.Chance, 0, 2}, {"min_score", w.MinScore, 0, 1}, {"recency", w.Recency, 0, 0.5}, {"recency_days", w.RecencyDays, 0, 365},
		{"trust", w.Trust, 0, 1}, {"length_anchor", w.LengthAnchor, 0, 5000}, {"life_days", w.LifeDays, 0, 365}, {"reinforcement", w.Reinforcement, 0, 2},
		{"max_life", w.MaxLife, 1, 10}, {"hard_min_score", w.HardMinScore, 0, 1}, {"diversity", w.Diversity, 0, 1},
		{"exact_from", w.ExactFrom, 0, 1}, {"exact_share", w.ExactShare, 0, 1}, {"modulation", w.Modulation, 0, 10},
		{"recency_part", w.RecencyPart, 0, 1}, {"frequency_part", w.FrequencyPart, 0, 1}, {"intrinsic_part", w.IntrinsicPart, 0, 1},
		{"decay_floor", w.DecayFloor, 0, 1}, {"core_floor", w.CoreFloor, 0, 1}, {"working_floor", w.WorkingFloor, 0, 1}, {"peripheral_floor", w.PeripheralFloor, 0, 1},
		{"model_share", w.ModelShare, 0, 1}, {"feature_cosine", w.FeatureCosine, 0, 1}, {"feature_lexical", w.FeatureLexical, 0, 1}, {"feature_coverage", w.FeatureCoverage, 0, 1},
		{"feature_proximity", w.FeatureProximity, 0, 1}, {"feature_phrase", w.FeaturePhrase, 0, 1}, {"feature_name", w.FeatureName, 0, 1},
		{"feature_date", w.FeatureDate, 0, 1}, {"feature_neighbour", w.FeatureNeighbour, 0, 1}, {"feature_session", w.FeatureSession, 0, 1},
		{"half_life", w.HalfLife, w.leastFading(1), 365}, {"dynamic_half_life", w.DynamicHalfLife, w.leastFading(1), 365},
		{"core_beta", w.CoreBeta, w.leastFading(0.1), 5}, {"working_beta", w.WorkingBeta, w.leastFading(0.1), 5}, {"peripheral_beta", w.PeripheralBeta, w.leastFading(0.1), 5},
	} {
		if math.IsNaN(f.value) || f.value < f.least || f.value > f.max {
			return fault.Invalid(f.name, f.value, fmt.Sprintf("%g to %g", f.least, f.max))
		}
	}
	return cmp.Or(
		fault.Member("counted", w.Counted, []string{"kind", "asked"}),
		fault.Member("normalise", w.Normalise, []string{"absolute", "maximum", "plain", "rank"}),
		fault.Member("rerank", w.Rerank, []string{"light", "features", "none"}),
		fault.Member("decay", w.Decay, []string{"engine", "simple", "none"}))
}

// leastFading is the least that a number by which memories fade may be: where none does, it may be missing.
func (w Weights) leastFading(least float64) float64 {
	if w.Decay == "engine" || w.FreshnessFloor {
		return least
	}
	return 0
}

// arg is the weights as the query parameter $weights, which SQL casts to the type weights.
func (w Weights) arg() string {
	b, _ := json.Marshal(w) // numbers, words and switches only: it can't fail
	return string(b)
}

const weightsPrefix = "weights:"

// WeightSets gives all sets by name: the built-in ones and those stored in the file.
func (rc *Recaller) WeightSets(ctx context.Context) (map[string]Weights, error) {
	sets := builtinWeights()
	err := rc.file.Read(ctx, "weights", func(c *duck.Conn) error {
		return c.Each(ctx, "setting_list", func(rows *sql.Rows) error {
			var name, value string
			if err := rows.Scan(&name, &value); err != nil {
				return err
			}
			set := strings.TrimPrefix(name, weightsPrefix)
			w := baseWeights(set)
			if err := json.Unmarshal([]byte(value), &w); err != nil {
				return fmt.Errorf("%w: setting %s: %v", fault.ErrCorrupt, name, err)
			}
			sets[set] = w
			return nil
		}, sql.Named("prefix", weightsPrefix))
	})
	return sets, err
}

// setName is what a set of weights may be called.
var setName = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,100}$`)

// SetWeights stores a set under a name.
func (rc *Recaller) SetWeights(ctx context.Context, name string, w Weights) error {
	if !setName.MatchString(name) {
		return fmt.Errorf("set weights: %w", fault.Invalid("name", name, "letters, digits, '.', '_', ':' and '-', at most 100"))
	}
	if err := w.validate(); err != nil {
		return fmt.Errorf("set weights: %w", err)
	}
	defer rc.sets.forget()
	return rc.file.Write(ctx, "set weights", func(tx *duck.Write) error {
		return rc.file.PutSetting(ctx, tx, weightsPrefix+name, w)
	})
}

// ResetWeights removes a stored set; a built-in one of that name is back as it was. Errors: ErrNotFound for a name that is neither.
func (rc *Recaller) ResetWeights(ctx context.Context, name string) error {
	defer rc.sets.forget()
	return rc.file.Write(ctx, "reset weights", func(tx *duck.Write) error {
		found, err := rc.file.DeleteSetting(ctx, tx, weightsPrefix+name)
		if _, builtin := builtinWeights()[name]; err == nil && !found && !builtin {
			err = noWeights(name)
		}
		return err
	})
}

// knownSets are the sets that were read since one was written: whoever writes the file is this process.
type knownSets struct {
	mu     sync.Mutex
	writes int
	sets   map[string]Weights
}

// forget has all sets be read again. It is called after each write.
func (k *knownSets) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.writes++
	k.sets = nil
}

// get gives a set that is known, and how often sets were written until now.
func (k *knownSets) get(name string) (w Weights, known bool, writes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w, known = k.sets[name]
	return w, known, k.writes
}

// keep notes a set, unless one was written since it was read.
func (k *knownSets) keep(name string, w Weights, writes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.writes != writes {
		return
	}
	if k.sets == nil {
		k.sets = map[string]Weights{}
	}
	k.sets[name] = w
}

// weights gives one set, as it is in the file or built in.
func (rc *Recaller) weights(ctx context.Context, c *duck.Conn, name string) (Weights, error) {
	w, known, writes := rc.sets.get(name)
	if known {
		return w, nil
	}
	w = baseWeights(name)
	found, err := rc.file.Setting(ctx, c, weightsPrefix+name, &w)
	if err != nil {
		return w, err
	}
	if !found {
		if w, found = builtinWeights()[name]; !found {
			return w, noWeights(name)
		}
	}
	rc.sets.keep(name, w, writes)
	return w, nil
}

func noWeights(name string) error {
	return fmt.Errorf("%w: weights %s; there are %s and those stored with SetWeights", fault.ErrNotFound, fault.Quote(name),
		strings.Join(slices.Sorted(maps.Keys(builtinWeights())), ", "))
}
