package engine

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

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
	if !ok || s != "" && !validID.MatchString(s) {
		return allowedID
	}
	m.ID = s
	return ""
}

// shareKey takes a number from 0 to 1.
func shareKey(field func(*Memory) *float64) func(*Memory, any) string {
	return func(m *Memory, v any) (allowed string) {
		x, ok := number(v)
		if !ok || !(x >= 0 && x <= 1) {
			return "0 to 1"
		}
		*field(m) = x
		return ""
	}
}

func countKey(field func(*Memory) *int) func(*Memory, any) string {
	return func(m *Memory, v any) (allowed string) {
		x, ok := number(v)
		if !ok || !(x >= 0) {
			return "0 or more"
		}
		*field(m) = int(min(x, 1e9))
		return ""
	}
}

// allowedTime is what momentOf can read.
const allowedTime = "RFC 3339, or Unix milliseconds or seconds, until the year 9999"

func timeKey(field func(*Memory) *time.Time) func(*Memory, any) string {
	return func(m *Memory, v any) (allowed string) {
		t, ok := momentOf(v)
		if !ok {
			return allowedTime
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
		if kind == "" || target == "" {
			ok = false
			continue
		}
		m.Relations = append(m.Relations, Relation{kind, target})
	}
	if !ok {
		return "a list of objects with a type and a target_id"
	}
	return ""
}

func number(v any) (x float64, ok bool) {
	var err error
	switch v := v.(type) {
	case json.Number:
		x, err = v.Float64()
	case string:
		x, err = strconv.ParseFloat(v, 64)
	default:
		return 0, false
	}
	return x, err == nil
}

// momentOf reads a time: RFC 3339, Unix milliseconds, or, below 1e12, Unix seconds. Null, zero and less are absent.
func momentOf(v any) (t time.Time, ok bool) {
	if v == nil {
		return time.Time{}, true
	}
	if s, ok := v.(string); ok {
		t, err := time.Parse(time.RFC3339Nano, s)
		return t, err == nil && fault.CheckTime("", t) == nil
	}
	x, ok := number(v)
	switch {
	case !ok:
		return time.Time{}, false
	case x <= 0 || math.IsInf(x, 0) || math.IsNaN(x):
		return time.Time{}, true
	case x < 1e12:
		x *= 1000
	}
	if x > 253402300799999 { // the end of the year 9999
		return time.Time{}, false
	}
	return time.UnixMilli(int64(x)).UTC(), true
}

// verbatim is what a message shows without quotes.
type verbatim string

// shown is a JSON value for a message, shortened.
func shown(v any) any {
	if s, ok := v.(string); ok {
		return s // which invalid quotes and shortens
	}
	b, err := json.Marshal(v)
	if err != nil {
		return v
	}
	const most = 60
	if runes := []rune(string(b)); len(runes) > most {
		return verbatim(string(runes[:most]) + "…")
	}
	return verbatim(b)
}
