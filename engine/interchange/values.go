package interchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// errCutOff says of JSON that ends too early what json.Unmarshal says of it; a decoder says that the file ends.
var errCutOff = errors.New("unexpected end of JSON input")

// Decode is json.Unmarshal with numbers kept as they are written.
func Decode(b []byte, dest any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(dest); errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		return errCutOff
	} else if err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}

// AllowedTime is what MomentOf can read.
const AllowedTime = "RFC 3339, or Unix milliseconds or seconds, in the years 2 to 9999"

// Number reads a number, or text that is one.
func Number(v any) (x float64, ok bool) {
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

// MomentOf reads a time: RFC 3339, Unix milliseconds, or, below 1e12, Unix seconds. Null, zero and less are absent.
func MomentOf(v any) (t time.Time, ok bool) {
	if v == nil {
		return time.Time{}, true
	}
	if s, ok := v.(string); ok {
		t, err := time.Parse(time.RFC3339Nano, s)
		return t, err == nil && fault.CheckTime("", t) == nil
	}
	x, ok := Number(v)
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

// Shown is a JSON value for a message, shortened.
func Shown(v any) any {
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
