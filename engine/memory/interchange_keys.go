package memory

import (
	"encoding/json"
	"time"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

func leftOut(*Memory, any) (allowed string) { return "" }

func textKey[T ~string](field func(*Memory) *T) func(*Memory, any) string {
	return func(m *Memory, v any) (allowed string) {
		s, ok := v.(string)
		if !ok {
			return "text"
		}
		*field(m) = T(s)
		return ""
	}
}

// wordKey takes one of some words, or none.
func wordKey[T ~string](words []T, field func(*Memory) *T) func(*Memory, any) string {
	return func(m *Memory, v any) (allowed string) {
		s, ok := v.(string)
		if !ok || s != "" && fault.Member("", T(s), words) != nil {
			return fault.OneOf(words)
		}
		*field(m) = T(s)
		return ""
	}
}

func idKey(m *Memory, v any) (allowed string) {
	s, ok := v.(string)
	if !ok || s != "" && !ids.Valid.MatchString(s) {
		return ids.Allowed
	}
	m.ID = s
	return ""
}

// shareKey takes a number from 0 to 1.
func shareKey(field func(*Memory) *float64) func(*Memory, any) string {
	return func(m *Memory, v any) (allowed string) {
		x, ok := interchange.Number(v)
		if !ok || !(x >= 0 && x <= 1) {
			return "0 to 1"
		}
		*field(m) = x
		return ""
	}
}

func countKey(field func(*Memory) *int) func(*Memory, any) string {
	return func(m *Memory, v any) (allowed string) {
		x, ok := interchange.Number(v)
		if !ok || !(x >= 0) {
			return "0 or more"
		}
		*field(m) = int(min(x, 1e9))
		return ""
	}
}

func timeKey(field func(*Memory) *time.Time) func(*Memory, any) string {
	return func(m *Memory, v any) (allowed string) {
		t, ok := interchange.MomentOf(v)
		if !ok {
			return interchange.AllowedTime
		}
		if !t.IsZero() {
			*field(m) = t
		}
		return ""
	}
}

func listKey(field func(*Memory) *[]any) func(*Memory, any) string {
	return func(m *Memory, v any) (allowed string) {
		list, ok := v.([]any)
		if !ok {
			return "a list"
		}
		*field(m) = list
		return ""
	}
}

func contextsKey(m *Memory, v any) (allowed string) {
	list, ok := v.([]any)
	for _, item := range list {
		label, text := item.(string)
		if !text {
			ok = false
			continue
		}
		m.Contexts = append(m.Contexts, label)
	}
	if !ok {
		return "a list of texts"
	}
	return ""
}

func relationsKey(m *Memory, v any) (allowed string) {
	list, ok := v.([]any)
	for _, item := range list {
		r, _ := item.(map[string]any)
		kind, _ := r["type"].(string)
		target, _ := r["target_id"].(string)
		if target == "" {
			target, _ = r["targetId"].(string)
		}
		weight, wrong := weightKey(r["weight"])
		if kind == "" || target == "" || wrong {
			ok = false
			continue
		}
		m.Relations = append(m.Relations, Relation{Type: kind, TargetID: target, Weight: weight})
	}
	if !ok {
		return "a list of objects with a type and a target_id, and a weight above 0 and up to 1 where it is not 1"
	}
	return ""
}

// weightKey reads the weight of a relation, which may be missing.
func weightKey(v any) (weight float64, wrong bool) {
	switch v := v.(type) {
	case nil:
	case float64:
		weight = v
	case json.Number:
		var err error
		weight, err = v.Float64()
		wrong = err != nil
	default:
		wrong = true
	}
	return weight, wrong || weight < 0 || weight > 1
}
