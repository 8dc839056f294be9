package duck

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// CheckClock refuses what Options.Now tells where the file can't keep it.
func CheckClock(at time.Time) error {
	if at.IsZero() {
		return fault.Invalid("what Options.Now told", at, "the years 1 to 9999, in UTC, but for the zero time")
	}
	return fault.CheckTime("what Options.Now told", at)
}

// FilterArg is a filter as a parameter of a recall's statements: nil is no restriction, which is written as *. A * of the
// caller's names nothing.
func FilterArg[T ~string](list []T) []string {
	if list == nil {
		return []string{"*"}
	}
	plain := make([]string, 0, len(list))
	for _, v := range list {
		if v != "*" {
			plain = append(plain, string(v))
		}
	}
	return plain
}

// ListArg is a list as a query's parameter: nil is NULL.
func ListArg[T ~string](list []T) any {
	if list == nil {
		return nil
	}
	plain := make([]string, len(list))
	for i, v := range list {
		plain[i] = string(v)
	}
	return plain
}

// OrTime is t, or another time where it is zero.
func OrTime(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		return otherwise
	}
	return t
}

// UTC is t as the file keeps it: in UTC, to the microsecond.
func UTC(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// Newest are the last of a list, so many at most.
func Newest[T any](list []T, most int) []T {
	if len(list) > most {
		return list[len(list)-most:]
	}
	return list
}

// NullText is text as the file keeps it: NULL where it is empty.
func NullText(s string) driver.Value {
	if s == "" {
		return nil
	}
	return s
}

// NullNumber is NULL for nil.
func NullNumber(x *float64) driver.Value {
	if x == nil {
		return nil
	}
	return *x
}

// NullTime is NULL for the zero time.
func NullTime(t time.Time) driver.Value {
	if t.IsZero() {
		return nil
	}
	return t
}

type textScan[T ~string] struct{ dest *T }

// TextOf reads a text, and NULL as the empty one.
func TextOf[T ~string](dest *T) sql.Scanner { return textScan[T]{dest} }

func (s textScan[T]) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*s.dest = ""
	case string:
		*s.dest = T(v)
	case []byte:
		*s.dest = T(v)
	default:
		return fmt.Errorf("%T where text was expected", v)
	}
	return nil
}

type timeScan struct{ dest *time.Time }

// TimeOf reads a time, and NULL as the zero time.
func TimeOf(dest *time.Time) sql.Scanner { return timeScan{dest} }

func (s timeScan) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*s.dest = time.Time{}
	case time.Time:
		*s.dest = v
	default:
		return fmt.Errorf("%T where a time was expected", v)
	}
	return nil
}

// NullTextUnless is NullText, but keeps an empty text where that is one.
func NullTextUnless(s string, is bool) driver.Value {
	if is {
		return s
	}
	return NullText(s)
}

func NullBytes(b []byte) driver.Value {
	if len(b) == 0 {
		return nil
	}
	return b
}

// A time without a bound, as a parameter.
var (
	Year1     = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	Year10000 = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
)
