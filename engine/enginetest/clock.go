package enginetest

import (
	"fmt"
	"time"
)

// Noon is what the clock of an engine shows that Open has opened.
var Noon = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

// Clock is a time that the test moves.
type Clock struct{ At time.Time }

// Now is what the clock shows.
func (c *Clock) Now() time.Time { return c.At }

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) { c.At = c.At.Add(d) }

// CountedIDs gives the ids mem_000001, conv_000002 and so on, so that a test can write them down.
func CountedIDs() func(prefix string, at time.Time) string {
	n := 0
	return func(prefix string, _ time.Time) string {
		n++
		return fmt.Sprintf("%s%06d", prefix, n)
	}
}
