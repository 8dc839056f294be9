package memory

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// MarshalJSON writes a memory as one object: its fields, and after them the keys of Extra in order.
func (m Memory) MarshalJSON() ([]byte, error) {
	type fields Memory
	b, err := json.Marshal(fields(m))
	if err != nil || len(m.Extra) == 0 {
		return b, err
	}
	extra, err := json.Marshal(m.Extra)
	if err != nil {
		return nil, err
	}
	return append(append(b[:len(b)-1], ','), extra[1:]...), nil
}

// UnmarshalJSON reads a memory as MarshalJSON writes it, and as other stores do: words of theirs for the category, the key
// metadata with further keys (as an object or as text), times as RFC 3339 or as Unix milliseconds or seconds, rows of mem0. Keys without
// a field go to Extra. A memory without numbers of its own has the defaults. Errors: ErrInvalid for a value that its field can't have.
func (m *Memory) UnmarshalJSON(b []byte) error {
	return m.read(b, func(_ string, err error) error { return err })
}

// amiss is told of a field whose value is none that it can have, before it takes the default. An error that it gives ends the reading.
type amiss func(field string, err error) error

func (m *Memory) read(b []byte, amiss amiss) error {
	raw, err := object(b)
	if err != nil {
		return err
	}
	return m.readObject(raw, amiss)
}

func (m *Memory) readObject(raw map[string]any, amiss amiss) error {
	fromMem0(raw)
	*m = Memory{Importance: defaultImportance, Confidence: defaultConfidence}
	if metadata, ok := raw["metadata"]; ok {
		delete(raw, "metadata")
		more, ok := metadataOf(metadata)
		if !ok {
			if err := amiss("metadata", fault.Invalid("metadata", interchange.Shown(metadata), "an object")); err != nil {
				return err
			}
		}
		heal(more)
		for key, value := range more {
			if _, taken := raw[key]; !taken {
				raw[key] = value
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		value := raw[key]
		read, ok := memoryKeys[key]
		switch {
		case !ok:
			m.extra(key, value)
		case value != nil:
			if allowed := read(m, value); allowed != "" {
				if err := amiss(key, fault.Invalid(key, interchange.Shown(value), allowed)); err != nil {
					return err
				}
			}
		}
	}
	m.adoptType(raw)
	return m.adoptCategory(raw, amiss)
}

// heal forgets the bad recalls that memory-lancedb-pro counted before it noted until when a memory is held back for them.
func heal(metadata map[string]any) {
	if _, noted := metadata["suppressed_until_ms"]; !noted {
		delete(metadata, "bad_recall_count")
		delete(metadata, "suppressed_until_turn")
	}
}

func (m *Memory) extra(key string, value any) {
	if m.Extra == nil {
		m.Extra = map[string]any{}
	}
	m.Extra[key] = value
}

// adoptCategory settles what other stores say in two places, a storage word beside a category. A word that is no category at all is kept
// as the source's.
func (m *Memory) adoptCategory(raw map[string]any, amiss amiss) error {
	if value := raw["memory_category"]; value != nil {
		word, _ := value.(string)
		if category, known := ParseCategory(word); known {
			if _, ours := ParseCategory(string(m.Category)); !ours {
				m.SourceCategory = cmp.Or(m.SourceCategory, string(m.Category))
			}
			m.Category = category
			return nil
		}
		if err := amiss("memory_category", fault.Invalid("memory_category", interchange.Shown(value), fault.OneOf(Categories()))); err != nil {
			return err
		}
	}
	field, word := "category", string(m.Category)
	if word == "" {
		field, word = "source_category", m.SourceCategory
	}
	err := categoryFault(field, word)
	if word == "" || err == nil {
		return nil
	}
	if fault.CheckText(field, word) == nil {
		m.SourceCategory = cmp.Or(m.SourceCategory, word)
	}
	m.Category = Pattern
	return amiss(field, err)
}

// adoptType takes the source from the type that other stores give.
func (m *Memory) adoptType(raw map[string]any) {
	kind, ok := raw[foreignType].(string)
	if !ok {
		return
	}
	m.extra(foreignType, kind)
	switch {
	case m.Source != "":
	case kind == "session-summary":
		m.Source = kind
	case strings.HasPrefix(kind, "memory-reflection"):
		m.Source = "reflection"
	default:
		m.Source = legacySource
	}
}

// foreignType is the key by which another store says where a memory is from; it is kept in Extra.
const foreignType = "type"

// memoryKeys says how each key of an interchange file is read: what can be used is set, and where not all can, it is said what is allowed.
// Null is as if the key were not there.
var memoryKeys = map[string]func(*Memory, any) (allowed string){
	"id":                    idKey,
	"key":                   textKey(func(m *Memory) *string { return &m.Key }),
	"text":                  textKey(func(m *Memory) *string { return &m.Text }),
	"l0_abstract":           textKey(func(m *Memory) *string { return &m.L0 }),
	"l1_overview":           textKey(func(m *Memory) *string { return &m.L1 }),
	"l2_content":            textKey(func(m *Memory) *string { return &m.L2 }),
	"category":              textKey(func(m *Memory) *Category { return &m.Category }), // and adoptCategory
	"source_category":       textKey(func(m *Memory) *string { return &m.SourceCategory }),
	"memory_category":       leftOut, // adoptCategory
	foreignType:             leftOut, // adoptType
	"vector":                leftOut, // made anew by this file's model
	"metadata":              leftOut, // read
	"scope":                 textKey(func(m *Memory) *string { return &m.Scope }),
	"tier":                  wordKey(Tiers(), func(m *Memory) *Tier { return &m.Tier }),
	"state":                 wordKey(States(), func(m *Memory) *State { return &m.State }),
	"memory_layer":          wordKey(Layers(), func(m *Memory) *Layer { return &m.Layer }),
	"memory_temporal_type":  wordKey(TemporalTypes(), func(m *Memory) *string { return &m.TemporalType }),
	"importance":            shareKey(func(m *Memory) *float64 { return &m.Importance }),
	"confidence":            shareKey(func(m *Memory) *float64 { return &m.Confidence }),
	"created_at":            timeKey(func(m *Memory) *time.Time { return &m.CreatedAt }),
	"timestamp":             timeKey(func(m *Memory) *time.Time { return &m.CreatedAt }),
	"valid_from":            timeKey(func(m *Memory) *time.Time { return &m.ValidFrom }),
	"valid_until":           timeKey(func(m *Memory) *time.Time { return &m.ValidUntil }),
	"invalidated_at":        timeKey(func(m *Memory) *time.Time { return &m.InvalidatedAt }),
	"recorded_at":           timeKey(func(m *Memory) *time.Time { return &m.RecordedAt }),
	"updated_at":            timeKey(func(m *Memory) *time.Time { return &m.UpdatedAt }),
	"retired_at":            timeKey(func(m *Memory) *time.Time { return &m.RetiredAt }),
	"retired_reason":        textKey(func(m *Memory) *string { return &m.RetiredReason }),
	"fact_key":              textKey(func(m *Memory) *string { return &m.FactKey }),
	"supersedes":            textKey(func(m *Memory) *string { return &m.Supersedes }),
	"superseded_by":         textKey(func(m *Memory) *string { return &m.SupersededBy }),
	"canonical_id":          textKey(func(m *Memory) *string { return &m.CanonicalID }),
	"relations":             relationsKey,
	"source":                wordKey(Sources(), func(m *Memory) *string { return &m.Source }),
	"trust":                 wordKey(Trusts(), func(m *Memory) *Trust { return &m.Trust }),
	"retracted_by":          leftOut, // a retraction of another file
	"source_session":        textKey(func(m *Memory) *string { return &m.SourceSession }),
	"access_count":          countKey(func(m *Memory) *int { return &m.AccessCount }),
	"last_accessed_at":      timeKey(func(m *Memory) *time.Time { return &m.LastAccessedAt }),
	"injected_count":        countKey(func(m *Memory) *int { return &m.InjectedCount }),
	"last_injected_at":      timeKey(func(m *Memory) *time.Time { return &m.LastInjectedAt }),
	"bad_recall_count":      countKey(func(m *Memory) *int { return &m.BadRecallCount }),
	"last_confirmed_use_at": timeKey(func(m *Memory) *time.Time { return &m.LastConfirmedUseAt }),
	"suppressed_until_turn": countKey(func(m *Memory) *int { return &m.SuppressedUntilTurn }),
	"suppressed_until":      timeKey(func(m *Memory) *time.Time { return &m.SuppressedUntil }),
	"suppressed_until_ms":   timeKey(func(m *Memory) *time.Time { return &m.SuppressedUntil }),
	"support_info":          func(m *Memory, v any) string { m.SupportInfo = v; return "" },
	"contexts":              contextsKey,
	"sources":               listKey(func(m *Memory) *[]any { return &m.Sources }),
	"history":               listKey(func(m *Memory) *[]any { return &m.History }),
}

// object reads one JSON object, its numbers as they are written.
func object(b []byte) (map[string]any, error) {
	var raw map[string]any
	if err := interchange.Decode(b, &raw); err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, errors.New("null where an object was expected")
	}
	return raw, nil
}

// metadataOf reads the metadata of another store; what is malformed is as if it were empty.
func metadataOf(v any) (metadata map[string]any, ok bool) {
	switch v := v.(type) {
	case nil:
		return nil, true
	case map[string]any:
		return v, true
	case string:
		if strings.TrimSpace(v) == "" {
			return nil, true
		}
		metadata, err := object([]byte(v))
		return metadata, err == nil
	}
	return nil, false
}
