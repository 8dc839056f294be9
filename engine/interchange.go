package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
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
// metadata with further keys (as an object or as text), times as RFC 3339 or as Unix milliseconds or seconds. Keys without a
// field go to Extra. A memory without numbers of its own has the defaults.
func (m *Memory) UnmarshalJSON(b []byte) error {
	raw, err := object(b)
	if err != nil {
		return err
	}
	*m = Memory{Importance: defaultImportance, Confidence: defaultConfidence}
	if metadata, ok := raw["metadata"]; ok {
		delete(raw, "metadata")
		for key, value := range metadataOf(metadata) {
			if _, taken := raw[key]; !taken {
				raw[key] = value
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		read, ok := memoryKeys[key]
		if !ok {
			if m.Extra == nil {
				m.Extra = map[string]any{}
			}
			m.Extra[key] = raw[key]
			continue
		}
		if err := read(m, raw[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return m.adoptForeign(raw)
}

// adoptForeign settles what other stores say in two places: a storage word beside a category, and the source by type.
func (m *Memory) adoptForeign(raw map[string]any) error {
	if word, ok := raw["memory_category"].(string); ok {
		category, known := ParseCategory(word)
		if !known {
			return invalid("memory_category", word, oneOf(Categories()))
		}
		if _, ours := ParseCategory(string(m.Category)); !ours {
			m.SourceCategory = or(m.SourceCategory, string(m.Category))
		}
		m.Category = category
	}
	kind, ok := raw[foreignType].(string)
	if !ok {
		return nil
	}
	if m.Extra == nil {
		m.Extra = map[string]any{}
	}
	m.Extra[foreignType] = kind
	switch {
	case m.Source != "":
	case kind == "session-summary":
		m.Source = kind
	case strings.HasPrefix(kind, "memory-reflection"):
		m.Source = "reflection"
	default:
		m.Source = "legacy"
	}
	return nil
}

// foreignType is the key by which another store says where a memory is from; it is kept in Extra.
const foreignType = "type"

// memoryKeys says how each key of an interchange file is read; null is as if the key were not there.
var memoryKeys = map[string]func(*Memory, any) error{
	"id":                    textKey(func(m *Memory) *string { return &m.ID }),
	"key":                   textKey(func(m *Memory) *string { return &m.Key }),
	"text":                  textKey(func(m *Memory) *string { return &m.Text }),
	"l0_abstract":           textKey(func(m *Memory) *string { return &m.L0 }),
	"l1_overview":           textKey(func(m *Memory) *string { return &m.L1 }),
	"l2_content":            textKey(func(m *Memory) *string { return &m.L2 }),
	"category":              textKey(func(m *Memory) *Category { return &m.Category }),
	"source_category":       textKey(func(m *Memory) *string { return &m.SourceCategory }),
	"memory_category":       func(*Memory, any) error { return nil }, // adoptForeign
	foreignType:             func(*Memory, any) error { return nil }, // adoptForeign
	"vector":                func(*Memory, any) error { return nil }, // made anew by this file's model
	"metadata":              func(*Memory, any) error { return nil }, // UnmarshalJSON
	"scope":                 textKey(func(m *Memory) *string { return &m.Scope }),
	"tier":                  textKey(func(m *Memory) *Tier { return &m.Tier }),
	"state":                 textKey(func(m *Memory) *State { return &m.State }),
	"memory_layer":          textKey(func(m *Memory) *Layer { return &m.Layer }),
	"memory_temporal_type":  textKey(func(m *Memory) *string { return &m.TemporalType }),
	"importance":            numberKey(func(m *Memory, x float64) { m.Importance = x }),
	"confidence":            numberKey(func(m *Memory, x float64) { m.Confidence = x }),
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
	"source":                textKey(func(m *Memory) *string { return &m.Source }),
	"source_session":        textKey(func(m *Memory) *string { return &m.SourceSession }),
	"access_count":          numberKey(func(m *Memory, x float64) { m.AccessCount = whole(x) }),
	"last_accessed_at":      timeKey(func(m *Memory) *time.Time { return &m.LastAccessedAt }),
	"injected_count":        numberKey(func(m *Memory, x float64) { m.InjectedCount = whole(x) }),
	"last_injected_at":      timeKey(func(m *Memory) *time.Time { return &m.LastInjectedAt }),
	"bad_recall_count":      numberKey(func(m *Memory, x float64) { m.BadRecallCount = whole(x) }),
	"last_confirmed_use_at": timeKey(func(m *Memory) *time.Time { return &m.LastConfirmedUseAt }),
	"suppressed_until_turn": numberKey(func(m *Memory, x float64) { m.SuppressedUntilTurn = whole(x) }),
	"suppressed_until":      timeKey(func(m *Memory) *time.Time { return &m.SuppressedUntil }),
	"suppressed_until_ms":   timeKey(func(m *Memory) *time.Time { return &m.SuppressedUntil }),
	"support_info":          func(m *Memory, v any) error { m.SupportInfo = v; return nil },
	"contexts":              contextsKey,
	"sources":               listKey(func(m *Memory) *[]any { return &m.Sources }),
	"history":               listKey(func(m *Memory) *[]any { return &m.History }),
}

func textKey[T ~string](field func(*Memory) *T) func(*Memory, any) error {
	return func(m *Memory, v any) error {
		switch v := v.(type) {
		case nil:
		case string:
			*field(m) = T(v)
		default:
			return fmt.Errorf("%w: %v is no text", ErrInvalid, v)
		}
		return nil
	}
}

func numberKey(set func(*Memory, float64)) func(*Memory, any) error {
	return func(m *Memory, v any) error {
		if v == nil {
			return nil
		}
		x, err := number(v)
		if err == nil {
			set(m, x)
		}
		return err
	}
}

func timeKey(field func(*Memory) *time.Time) func(*Memory, any) error {
	return func(m *Memory, v any) error {
		t, err := momentOf(v)
		if err == nil && !t.IsZero() {
			*field(m) = t
		}
		return err
	}
}

func listKey(field func(*Memory) *[]any) func(*Memory, any) error {
	return func(m *Memory, v any) error {
		list, ok := v.([]any)
		if !ok && v != nil {
			return fmt.Errorf("%w: %v is no list", ErrInvalid, v)
		}
		*field(m) = list
		return nil
	}
}

func contextsKey(m *Memory, v any) error {
	var list []any
	if err := listKey(func(*Memory) *[]any { return &list })(m, v); err != nil {
		return err
	}
	for _, c := range list {
		label, ok := c.(string)
		if !ok {
			return fmt.Errorf("%w: %v is no text", ErrInvalid, c)
		}
		m.Contexts = append(m.Contexts, label)
	}
	return nil
}

func relationsKey(m *Memory, v any) error {
	var list []any
	if err := listKey(func(*Memory) *[]any { return &list })(m, v); err != nil {
		return err
	}
	for _, item := range list {
		r, _ := item.(map[string]any)
		kind, _ := r["type"].(string)
		target, _ := r["target_id"].(string)
		if target == "" {
			target, _ = r["targetId"].(string)
		}
		m.Relations = append(m.Relations, Relation{kind, target})
	}
	return nil
}

// object reads one JSON object, its numbers as they are written.
func object(b []byte) (map[string]any, error) {
	var raw map[string]any
	if err := decode(b, &raw); err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, errors.New("null where an object was expected")
	}
	return raw, nil
}

// decode is json.Unmarshal with numbers kept as they are written.
func decode(b []byte, dest any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(dest); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}

// metadataOf reads the metadata of another store; what is malformed is as if it were empty.
func metadataOf(v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		return v
	case string:
		raw, err := object([]byte(v))
		if err == nil {
			return raw
		}
	}
	return nil
}

func number(v any) (float64, error) {
	switch v := v.(type) {
	case json.Number:
		x, err := v.Float64()
		if err == nil {
			return x, nil
		}
	case string:
		if x, err := strconv.ParseFloat(v, 64); err == nil {
			return x, nil
		}
	}
	return 0, fmt.Errorf("%w: %v is no number", ErrInvalid, v)
}

// whole is a count; nonsense is 0.
func whole(x float64) int {
	if math.IsNaN(x) {
		return 0
	}
	return int(min(max(x, 0), 1e9))
}

// momentOf reads a time: RFC 3339, Unix milliseconds, or, below 1e12, Unix seconds. Null, zero and less are absent.
func momentOf(v any) (time.Time, error) {
	if v == nil {
		return time.Time{}, nil
	}
	if s, ok := v.(string); ok {
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil || checkTime("time", t) != nil {
			return time.Time{}, fmt.Errorf("%w: %s is no time; allowed: RFC 3339, or Unix milliseconds", ErrInvalid, quote(s))
		}
		return t, nil
	}
	x, err := number(v)
	switch {
	case err != nil:
		return time.Time{}, err
	case x <= 0 || math.IsInf(x, 0) || math.IsNaN(x):
		return time.Time{}, nil
	case x < 1e12:
		x *= 1000
	}
	if x > 253402300799999 { // the end of the year 9999
		return time.Time{}, fmt.Errorf("%w: %v is no time; allowed: Unix milliseconds", ErrInvalid, v)
	}
	return time.UnixMilli(int64(x)).UTC(), nil
}
