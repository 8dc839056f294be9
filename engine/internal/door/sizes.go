package door

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// sizedArguments are functions whose argument of that place, from 0, says how large a value they make.
var sizedArguments = map[string]int{
	"repeat": 1, "lpad": 1, "rpad": 1, "list_resize": 1, "array_resize": 1, "bitstring": 1, "equi_width_bins": 2, "approx_top_k": 1,
	"min": 1, "max": 1, "arg_min": 2, "arg_max": 2, "argmin": 2, "argmax": 2, "min_by": 2, "max_by": 2,
	"arg_min_null": 2, "arg_max_null": 2, "arg_min_nulls_last": 2, "arg_max_nulls_last": 2,
}

// optionalSize are those that make one value where the argument is left out.
func optionalSize(name string) bool {
	return strings.HasPrefix(name, "arg") || strings.HasPrefix(name, "min") || strings.HasPrefix(name, "max") || name == "bitstring"
}

// made is how much a call makes: rows for a table function, else elements or characters of a value. Sized is false for a function that makes no more
// than it is given. Errors: fault.ErrInvalid where the size can't be told before.
func made(name string, args []any, rows bool) (size float64, sized bool, err error) {
	switch {
	case name == "range" || name == "generate_series":
		size, ok := seriesLength(args, name == "generate_series")
		if !ok {
			return 0, false, fmt.Errorf("%w: sql: %s has bounds that are not constant; allowed: whole numbers, or dates and an interval, as in "+
				"range(100) or generate_series(DATE '2026-01-01', DATE '2026-12-31', INTERVAL 1 DAY)", fault.ErrInvalid, name)
		}
		return size, true, nil
	case name == "format" || name == "printf":
		if len(args) == 0 {
			return 0, false, nil
		}
		format, ok := constantText(args[0])
		if ok {
			size, ok = widths(format)
		}
		if !ok || name == "format" && nestedBraces(format) {
			return 0, false, fmt.Errorf("%w: sql: %s has a pattern or a width that is not constant; allowed: a text with all widths in it", fault.ErrInvalid, name)
		}
		return size, true, nil
	}
	at, ok := sizedArguments[name]
	if !ok || len(args) <= at && optionalSize(name) {
		return 0, false, nil
	}
	if len(args) > at {
		size, ok = constantNumber(args[at])
	}
	if !ok || len(args) <= at {
		return 0, false, fmt.Errorf("%w: sql: %s has a size that is not constant; allowed: a whole number", fault.ErrInvalid, name)
	}
	return max(1, size), true, nil
}

// nestedBraces reports whether a width of a format is an argument.
func nestedBraces(format string) bool {
	depth := 0
	for _, r := range format {
		switch r {
		case '{':
			depth++
		case '}':
			depth = max(0, depth-1)
		}
		if depth > 1 {
			return true
		}
	}
	return false
}

// seriesLength is how many values a range has, of numbers or of times.
func seriesLength(args []any, inclusive bool) (float64, bool) {
	from, to, step := 0.0, 0.0, 1.0
	ok := true
	value := constantNumber
	if len(args) == 3 && !numeric(args[0]) {
		value = constantTime
	}
	switch len(args) {
	case 1:
		to, ok = value(args[0])
	case 2, 3:
		var second bool
		from, ok = value(args[0])
		to, second = value(args[1])
		ok = ok && second
	default:
		return 0, false
	}
	if len(args) == 3 {
		var third bool
		if step, third = constantNumber(args[2]); !numeric(args[0]) {
			step, third = constantInterval(args[2])
		}
		ok = ok && third
	}
	if !ok || step == 0 {
		return 0, ok
	}
	length := math.Ceil((to - from) / step)
	if inclusive {
		length = math.Floor((to-from)/step) + 1
	}
	return max(1, length), true
}

func numeric(tree any) bool {
	_, ok := constantNumber(tree)
	return ok
}

// constantTime is a date or timestamp in seconds since 1970.
func constantTime(tree any) (float64, bool) {
	n, _ := tree.(node)
	if word(n, "class") == "CAST" {
		return constantTime(n["child"])
	}
	s, ok := constantText(tree)
	for _, layout := range []string{time.DateOnly, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04"} {
		if at, err := time.Parse(layout, strings.TrimSpace(s)); ok && err == nil {
			return float64(at.Unix()), true
		}
	}
	return 0, false
}

// seconds of the units of an interval; the shortest that a month or a year can be.
var seconds = map[string]float64{"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400, "weeks": 7 * 86400, "months": 28 * 86400, "quarters": 89 * 86400, "years": 365 * 86400}

// constantInterval is an interval in seconds: INTERVAL 3 DAY, which is a call, or INTERVAL '3 days', which is a cast.
func constantInterval(tree any) (float64, bool) {
	n, _ := tree.(node)
	switch word(n, "class") {
	case "FUNCTION":
		unit, ok := seconds[strings.TrimPrefix(word(n, "function_name"), "to_")]
		args := list(n, "children")
		if !ok || len(args) != 1 {
			return 0, false
		}
		number, ok := constantNumber(args[0])
		return number * unit, ok
	case "CAST":
		s, _ := constantText(n["child"])
		fields := strings.Fields(s)
		if len(fields) != 2 {
			return 0, false
		}
		number, err := json.Number(fields[0]).Float64()
		unit, ok := seconds[strings.TrimSuffix(strings.ToLower(fields[1]), "s")+"s"]
		return number * unit, ok && err == nil
	}
	return 0, false
}

// constantValue is a number as it stands in the tree.
func constantValue(v any) (float64, bool) {
	number, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := number.Float64()
	return f, err == nil && !slices.Contains([]string{"", "-"}, number.String())
}
