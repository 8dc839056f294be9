package memory

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Defaults of a memory.
const (
	defaultImportance = 0.7
	defaultConfidence = 0.7
	defaultCategory   = "other" // the storage word; it becomes a pattern
	maxRelations      = 16
	maxAccesses       = 10_000
)

// TemporalTypes lists what a memory may be in time: static, or dynamic, which fades three times as fast.
func TemporalTypes() []string { return []string{"static", "dynamic"} }

// Memory is one remembered statement with everything that is known about it. A zero time means absent.
type Memory struct {
	ID             string   `json:"id"`
	Key            string   `json:"key,omitempty"`                  // the caller's own, for idempotent writes
	Text           string   `json:"text"`                           // what is shown and indexed first
	L0             string   `json:"l0_abstract,omitempty"`          // one line; default Text
	L1             string   `json:"l1_overview,omitempty"`          // Markdown; default "- " and L0
	L2             string   `json:"l2_content,omitempty"`           // the full narrative; default Text
	Category       Category `json:"category"`                       // default pattern
	SourceCategory string   `json:"source_category,omitempty"`      // another store's word for it
	Scope          string   `json:"scope"`                          // default by the agent, else the configured one
	Tier           Tier     `json:"tier"`                           // default working
	State          State    `json:"state"`                          // default confirmed
	Layer          Layer    `json:"memory_layer"`                   // default by source, state and category
	TemporalType   string   `json:"memory_temporal_type,omitempty"` // static, dynamic or absent
	Importance     float64  `json:"importance"`                     // 0 to 1, default 0.7
	Confidence     float64  `json:"confidence"`                     // 0 to 1, default 0.7

	CreatedAt     time.Time `json:"created_at"`               // default now
	ValidFrom     time.Time `json:"valid_from"`               // true from; default CreatedAt
	ValidUntil    time.Time `json:"valid_until,omitzero"`     // expires
	InvalidatedAt time.Time `json:"invalidated_at,omitzero"`  // no longer true, by a newer one
	RecordedAt    time.Time `json:"recorded_at"`              // when this file learned it
	UpdatedAt     time.Time `json:"updated_at"`               // last change of this row
	RetiredAt     time.Time `json:"retired_at,omitzero"`      // forgotten
	RetiredReason string    `json:"retired_reason,omitempty"` // why
	RetractedBy   string    `json:"retracted_by,omitempty"`   // the retraction that took it out of recall; absent: it was forgotten, or stands

	FactKey      string     `json:"fact_key,omitempty"` // what a newer one would replace
	Supersedes   string     `json:"supersedes,omitempty"`
	SupersededBy string     `json:"superseded_by,omitempty"`
	CanonicalID  string     `json:"canonical_id,omitempty"` // the one this is a duplicate of
	Relations    []Relation `json:"relations,omitempty"`    // at most 16

	Source        string `json:"source"` // manual, auto-capture, reflection, dreaming-engine, session-summary, legacy
	SourceSession string `json:"source_session,omitempty"`
	Trust         Trust  `json:"trust"` // default by the source: manual is stated, legacy imported, all else extracted

	AccessCount         int       `json:"access_count"`
	LastAccessedAt      time.Time `json:"last_accessed_at,omitzero"` // absent: CreatedAt
	InjectedCount       int       `json:"injected_count"`
	LastInjectedAt      time.Time `json:"last_injected_at,omitzero"`
	BadRecallCount      int       `json:"bad_recall_count"`
	LastConfirmedUseAt  time.Time `json:"last_confirmed_use_at,omitzero"`
	SuppressedUntilTurn int       `json:"suppressed_until_turn"`
	SuppressedUntil     time.Time `json:"suppressed_until,omitzero"`

	SupportInfo any            `json:"support_info,omitempty"` // confirmations and contradictions by context
	Contexts    []string       `json:"contexts,omitempty"`
	Sources     []any          `json:"sources,omitempty"` // newest 20
	History     []any          `json:"history,omitempty"` // newest 50
	Extra       map[string]any `json:"-"`                 // keys of an import that have no field, kept as they are
}

// Relation links a memory to another.
type Relation struct {
	Type     string `json:"type"`
	TargetID string `json:"target_id"`
	// Weight is how strong it is, above 0 and up to 1. Default 1, which is kept as 0.
	Weight float64 `json:"weight,omitempty"`
}

// texts are the text and its levels.
func (m *Memory) texts() []string { return []string{m.Text, m.L0, m.L1, m.L2} }

// fits refuses texts of more bytes than the options allow.
func (m *Memory) fits(most int) error {
	for i, value := range m.texts() {
		if len(value) > most {
			return fmt.Errorf("%w: %s has %d bytes; allowed: %d", fault.ErrInvalid, []string{"text", "l0_abstract", "l1_overview", "l2_content"}[i], len(value), most)
		}
	}
	return nil
}

// normalise fills defaults, clamps numbers, and reports what can't be mended. at is the time of the write.
func (m *Memory) normalise(at time.Time) error {
	if err := duck.CheckClock(at); err != nil {
		return err
	}
	if strings.TrimSpace(m.Text) == "" {
		return fault.Invalid("text", m.Text, "something to remember")
	}
	for _, c := range columns {
		if c.text == nil {
			continue
		}
		if err := fault.CheckText(c.name, c.text(m)); err != nil {
			return err
		}
	}
	if err := fault.CheckTexts("contexts", m.Contexts); err != nil {
		return err
	}
	for key := range m.Extra {
		if _, ok := memoryKeys[key]; ok && key != foreignType {
			return fault.Invalid("extra", key, "keys that are no field of its own")
		}
	}
	if m.ID != "" && !ids.Valid.MatchString(m.ID) {
		return fault.Invalid("id", m.ID, ids.Allowed)
	}
	if err := m.normaliseCategory(); err != nil {
		return err
	}
	if err := m.normaliseWords(); err != nil {
		return err
	}
	m.L0 = unless(m.L0, m.Text)
	m.L1 = unless(m.L1, "- "+cmp.Or(m.L0, m.Text))
	m.L2 = unless(m.L2, m.Text)
	m.Importance = share(m.Importance, defaultImportance)
	m.Confidence = share(m.Confidence, defaultConfidence)
	m.AccessCount = min(max(m.AccessCount, 0), maxAccesses)
	m.InjectedCount = max(m.InjectedCount, 0)
	m.BadRecallCount = max(m.BadRecallCount, 0)
	if err := m.normaliseTimes(at); err != nil {
		return err
	}
	m.FactKey = cmp.Or(m.FactKey, factKey(m.Category, cmp.Or(m.L0, m.Text)))
	m.Sources = duck.Newest(m.Sources, 20)
	m.History = duck.Newest(m.History, 50)
	return m.normaliseRelations()
}

// normaliseCategory takes one of the six, or another store's word.
func (m *Memory) normaliseCategory() error {
	if m.Category == "" {
		m.SourceCategory = cmp.Or(m.SourceCategory, defaultCategory)
		m.Category = Category(m.SourceCategory)
	}
	if category, ok := ParseCategory(string(m.Category)); ok {
		m.Category = category
		return nil
	}
	if err := categoryFault("category", string(m.Category)); err != nil {
		return err
	}
	m.SourceCategory = storageWord(string(m.Category))
	m.Category = categoryOf(m.SourceCategory, m.Text)
	return nil
}

func (m *Memory) normaliseWords() error {
	m.Tier = Tier(cmp.Or(string(m.Tier), string(Working)))
	m.Source = cmp.Or(m.Source, "manual")
	m.Trust = cmp.Or(m.Trust, TrustOf(m.Source))
	if m.State == "" {
		m.State = Confirmed
		if m.Source == "session-summary" {
			m.State = Archived
		}
	}
	if m.Layer == "" {
		m.Layer = layerOf(m.Source, m.State, m.Category)
	}
	return cmp.Or(
		fault.Member("tier", m.Tier, Tiers()),
		fault.Member("state", m.State, States()),
		fault.Member("memory_layer", m.Layer, Layers()),
		fault.Member("source", m.Source, Sources()),
		fault.Member("trust", m.Trust, Trusts()),
		fault.Member("memory_temporal_type", cmp.Or(m.TemporalType, "static"), TemporalTypes()))
}

func (m *Memory) normaliseTimes(at time.Time) error {
	for _, f := range []struct {
		name string
		at   *time.Time
	}{
		{"created_at", &m.CreatedAt}, {"valid_from", &m.ValidFrom}, {"valid_until", &m.ValidUntil}, {"invalidated_at", &m.InvalidatedAt},
		{"recorded_at", &m.RecordedAt}, {"updated_at", &m.UpdatedAt}, {"retired_at", &m.RetiredAt}, {"last_accessed_at", &m.LastAccessedAt},
		{"last_injected_at", &m.LastInjectedAt}, {"last_confirmed_use_at", &m.LastConfirmedUseAt}, {"suppressed_until", &m.SuppressedUntil},
	} {
		*f.at = duck.UTC(*f.at)
		if err := fault.CheckTime(f.name, *f.at); err != nil {
			return err
		}
	}
	m.CreatedAt = duck.OrTime(m.CreatedAt, at)
	m.ValidFrom = duck.OrTime(m.ValidFrom, m.CreatedAt)
	m.RecordedAt = duck.OrTime(m.RecordedAt, at)
	m.UpdatedAt = duck.OrTime(m.UpdatedAt, at)
	if m.InvalidatedAt.Before(m.ValidFrom) {
		m.InvalidatedAt = time.Time{}
	}
	return nil
}

// normaliseRelations drops doubles and keeps the first sixteen.
func (m *Memory) normaliseRelations() error {
	type link struct{ what, to string }
	seen := map[link]bool{}
	var kept []Relation
	for _, r := range m.Relations {
		if err := cmp.Or(fault.CheckText("relations.type", r.Type), fault.CheckText("relations.target_id", r.TargetID)); err != nil {
			return err
		}
		if r.Type == "" || r.TargetID == "" {
			return fault.Invalid("relations", r.Type+" "+r.TargetID, "a type and a target_id")
		}
		if !(r.Weight >= 0 && r.Weight <= 1) {
			return fault.Invalid("relations.weight", r.Weight, "above 0 and up to 1")
		}
		if r.Weight == 1 {
			r.Weight = 0
		}
		if of := (link{r.Type, r.TargetID}); !seen[of] && len(kept) < maxRelations {
			seen[of] = true
			kept = append(kept, r)
		}
	}
	m.Relations = kept
	return nil
}

// Level gives the text at a level of detail: Abstract, Overview or Full.
func (m *Memory) Level(level Level) string {
	switch level {
	case Abstract:
		return cmp.Or(m.L0, m.Text)
	case Overview:
		return cmp.Or(m.L1, "- "+cmp.Or(m.L0, m.Text))
	}
	return cmp.Or(m.L2, m.Text)
}

// embedded is the text that stands for the memory in vector space: the abstract and the narrative, where it has them.
func (m *Memory) embedded() string {
	if m.L2 == "" {
		return cmp.Or(m.L0, m.Text)
	}
	return cmp.Or(m.L0, m.Text) + " " + m.L2
}

// fields is what the index holds of the memory, with the weight of each field; what equals its default isn't there twice.
func (m *Memory) fields() []index.Field {
	return []index.Field{{Text: m.Text, Weight: 1}, {Text: m.L0, Weight: 1}, {Text: m.L1, Weight: 0.5}, {Text: m.L2, Weight: 0.5}}
}

// share clamps to 0 to 1.
func share(x, otherwise float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return otherwise
	}
	return min(max(x, 0), 1)
}

// unless empties s where it only repeats its default.
func unless(s, repeated string) string {
	if s == repeated {
		return ""
	}
	return s
}
