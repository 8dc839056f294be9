package recall

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/text"
)

// Mode says which channels a recall asks.
type Mode string

// The three modes.
const (
	Hybrid      Mode = "hybrid"
	VectorMode  Mode = "vector"
	LexicalMode Mode = "lexical"
)

// Modes lists them all.
func Modes() []Mode { return []Mode{Hybrid, VectorMode, LexicalMode} }

// MaxQuery is the longest query in bytes.
const MaxQuery = 100_000

// MaxLimit is how many hits there may be.
const MaxLimit = 1000

// Query is a question to the memory. Only Text is required; a nil slice is no restriction, an empty one matches nothing.
type Query struct {
	Text  string
	Kinds []kinds.Kind // default memories
	// Agent on whose behalf; empty: an internal caller, who sees every scope.
	Agent         string
	Scopes        []string
	Conversations []string // names or ids
	Categories    []memory.Category
	Tiers         []memory.Tier
	// States and Layers of the memories asked; what is no memory has none. Default: what is confirmed, in any layer but the archive. States alone are
	// asked in any layer; layers alone mean what is confirmed, and with the archive what was archived.
	States []memory.State
	Layers []memory.Layer
	// Roles and Speakers are who said a message, the speakers in any case of letters; what is no message said by one of them takes no part.
	Roles, Speakers []string
	// SourceKinds and NotSourceKinds are what brought a message about, such as web or cron, or talk where nothing is said of that: one of the former, and none
	// of the latter. What is no message takes no part where the former are asked.
	SourceKinds, NotSourceKinds []string
	// Where names metadata that a memory has, keys of its Extra with their values, all of them. A value is compared as text, exactly: of a text what
	// it says, of anything else how JSON writes it, and null is none. What is no memory has none.
	Where map[string]string
	// Sources and Trust are where a memory comes from (memory.Sources), and how far it is trusted; what is no memory takes no part.
	Sources      []string
	Trust        []memory.Trust
	Since, Until time.Time // of the document's own time: from Since, before Until
	// AsOf recalls what was true then: memories superseded or forgotten since, those that were edited with the text they had, and what was recorded later
	// about that time; messages said by then. Default KnownAt, or now.
	AsOf time.Time
	// KnownAt recalls what was known then: none that was recorded later, and each memory as its row was. Default now.
	KnownAt time.Time
	// Limit of the hits, 1 to 1000. Default 10.
	Limit int
	// MinScore is the least score of a hit, 0 to 1; where that of the weights is higher, it counts. Default 0.
	MinScore float64
	// MinConfidence is the least confidence of a hit, 0 to 1. Where none is known, hits stay and a notice says so. Default 0.
	MinConfidence float64
	// Mode; default hybrid where there is a model, else lexical. Hybrid or vector by name is ErrNoEmbedder without one.
	Mode Mode
	// Rerank is who looks at the best candidates once more: a model, their features, their plain cosine or nobody. Default the model of Options.Reranker where
	// there is one, else as the weights say. ModelRerank by name is ErrNoReranker without one.
	Rerank Rerank
	// WeightSet names stored weights; default "memory", or without memories "transcript", or "note" when only notes are asked for.
	WeightSet string
	// Weights take the place of any set.
	Weights *Weights
	// Level of the hits' text. Default Abstract.
	Level memory.Level
	// TagPrefixes make words such as proj:x of the query tags, which every hit must have in its text; such a recall is
	// lexical. Default proj, env, team, scope; empty: no tags.
	TagPrefixes []string
	// Expand adds synonyms to the lexical query.
	Expand bool
	// Adaptive skips the recall when the text asks for nothing, such as a greeting; MinLength as in text.SkipRecall.
	Adaptive  bool
	MinLength int
	// RelatedTo is the id of a memory, or its unique ending: with the weight relation, what is related to it counts, in place of what is related to the
	// candidates. ErrNotFound, ErrAmbiguous.
	RelatedTo string
	// Lift shows message hits as what is above them. Not with Explain or WhyNot, which tell of single documents.
	Lift Lift
	// Explain keeps all candidates in the result, with what became of them, and says of every hit why it is one.
	Explain bool
	// WhyNot is the id of a memory or message, or its unique ending: the result says what kept it out of the hits. ErrNotFound,
	// ErrAmbiguous.
	WhyNot string
}

func (q Query) withDefaults() Query {
	if q.Kinds == nil {
		q.Kinds = []kinds.Kind{kinds.Memory}
	}
	if q.Limit == 0 {
		q.Limit = 10
	}
	if q.AsOf.IsZero() {
		q.AsOf = q.KnownAt
	}
	if q.Level == "" {
		q.Level = memory.Abstract
	}
	if q.TagPrefixes == nil {
		q.TagPrefixes = []string{"proj", "env", "team", "scope"}
	}
	if q.WeightSet == "" {
		q.WeightSet = weightsFor(q.Kinds)
	}
	return q
}

func (q Query) validate() error {
	if q.Limit < 1 || q.Limit > MaxLimit {
		return fault.Invalid("limit", q.Limit, "1 to 1000")
	}
	if !(q.MinScore >= 0 && q.MinScore <= 1) { // NaN too
		return fault.Invalid("min_score", q.MinScore, "0 to 1")
	}
	if !(q.MinConfidence >= 0 && q.MinConfidence <= 1) {
		return fault.Invalid("min_confidence", q.MinConfidence, "0 to 1")
	}
	if q.Lift != NoLift {
		if err := fault.Member("lift", q.Lift, Lifts()); err != nil {
			return err
		}
		if q.Explain || q.WhyNot != "" {
			return fault.Invalid("lift", string(q.Lift), "nothing with explain or why-not")
		}
		if !slices.Contains(q.Kinds, kinds.Message) {
			return fault.Invalid("lift", string(q.Lift), "nothing unless messages are asked for")
		}
	}
	if strings.TrimSpace(q.Text) == "" && !q.Adaptive {
		return fault.Invalid("text", q.Text, "a question")
	}
	if len(q.Text) > MaxQuery {
		return fault.Invalid("text", fmt.Sprintf("%d bytes long", len(q.Text)), fmt.Sprintf("at most %d", MaxQuery))
	}
	if err := q.validateMarks(); err != nil {
		return err
	}
	if q.Mode != "" {
		if err := fault.Member("mode", q.Mode, Modes()); err != nil {
			return err
		}
	}
	if q.Rerank != AnyRerank {
		if err := fault.Member("rerank", q.Rerank, Reranks()); err != nil {
			return err
		}
	}
	if q.Weights != nil {
		if err := q.Weights.validate(); err != nil {
			return err
		}
	}
	return cmp.Or(fault.CheckText("text", q.Text), fault.Members("kinds", q.Kinds, kinds.All()), fault.CheckTexts("scopes", q.Scopes),
		fault.CheckTexts("conversations", q.Conversations), fault.Members("categories", q.Categories, memory.Categories()),
		fault.Members("tiers", q.Tiers, memory.Tiers()), fault.Members("states", q.States, memory.States()), fault.Members("layers", q.Layers, memory.Layers()), fault.Member("level", q.Level, memory.Levels()), fault.CheckText("weight_set", q.WeightSet),
		fault.CheckText("why_not", q.WhyNot), fault.CheckTime("since", q.Since), fault.CheckTime("until", q.Until), fault.CheckTime("as_of", q.AsOf), fault.CheckTime("known_at", q.KnownAt))
}

// validateMarks checks who said it, and the metadata. What only some kinds have must not be asked of others alone.
func (q Query) validateMarks() error {
	err := cmp.Or(fault.Members("roles", q.Roles, kinds.Roles()), fault.CheckTexts("speakers", q.Speakers), fault.Members("sources", q.Sources, memory.Sources()),
		fault.Members("trust", q.Trust, memory.Trusts()), fault.CheckWords("source_kinds", q.SourceKinds), fault.CheckWords("not_source_kinds", q.NotSourceKinds),
		fault.CheckText("related_to", q.RelatedTo))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(q.Speakers, func(name string) bool { return strings.TrimSpace(name) == "" }) {
		return fault.Invalid("speakers", "", "names of speakers")
	}
	const messages, memories = "nothing unless messages are asked for", "nothing unless memories are asked for"
	switch {
	case len(q.Roles) > 0 && !slices.Contains(q.Kinds, kinds.Message):
		return fault.Invalid("roles", strings.Join(q.Roles, ", "), messages)
	case len(q.Speakers) > 0 && !slices.Contains(q.Kinds, kinds.Message):
		return fault.Invalid("speakers", strings.Join(q.Speakers, ", "), messages)
	case len(q.SourceKinds) > 0 && !slices.Contains(q.Kinds, kinds.Message):
		return fault.Invalid("source_kinds", strings.Join(q.SourceKinds, ", "), messages)
	case q.RelatedTo != "" && !slices.Contains(q.Kinds, kinds.Memory):
		return fault.Invalid("related_to", q.RelatedTo, memories)
	case len(q.Sources) > 0 && !slices.Contains(q.Kinds, kinds.Memory):
		return fault.Invalid("sources", strings.Join(q.Sources, ", "), memories)
	case len(q.Trust) > 0 && !slices.Contains(q.Kinds, kinds.Memory):
		return fault.Invalid("trust", fault.OneOf(q.Trust), memories)
	case q.apart() && !slices.Contains(q.Kinds, kinds.Memory):
		return fault.Invalid("states and layers", fmt.Sprint(q.States, q.Layers), memories)
	case len(q.Where) > 0 && !slices.Contains(q.Kinds, kinds.Memory):
		return fault.Invalid("where", strings.Join(slices.Sorted(maps.Keys(q.Where)), ", "), memories)
	}
	return memory.CheckWhere(q.Where)
}

// mode settles the mode: tags are lexical, and where no model is able to embed the question so is everything that names no mode.
func (q Query) mode(tags []string, able bool) (Mode, error) {
	switch {
	case len(tags) > 0:
		return LexicalMode, nil
	case q.Mode == "" && able:
		return Hybrid, nil
	case q.Mode == "" || q.Mode == LexicalMode:
		return LexicalMode, nil
	case !able:
		return "", fmt.Errorf("%w: mode %s needs one; open with Options.Embedder, or ask for mode lexical", fault.ErrNoEmbedder, q.Mode)
	}
	return q.Mode, nil
}

// lexicalText is the text that the lexical channel is asked.
func (q Query) lexicalText() string {
	if q.Expand {
		return text.Expand(q.Text)
	}
	return q.Text
}
