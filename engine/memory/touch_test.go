package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// got reads a memory.
func got(t *testing.T, e *engine.Engine, id string) *memory.Memory {
	t.Helper()
	m, err := e.Get(t.Context(), memory.GetRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestTouch: uses are counted, as often as they are named, with the time of the last; a write that fails keeps them for the next, and closing writes them.
func TestTouch(t *testing.T) {
	enginetest.Alone(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{Now: clock.Now})
	lamp := enginetest.Remember(t, e, memory.RememberRequest{Text: "The lamp is green", Tier: memory.Peripheral}).ID
	door := enginetest.Remember(t, e, memory.RememberRequest{Text: "The door is blue"}).ID
	q := recall.Query{Text: "lamp"}
	if ready, err := enginetest.Index(e).AwaitResident(t.Context()); err != nil || !ready {
		t.Fatalf("no resident index: %v", err)
	}
	clock.Advance(time.Hour)
	e.Touch(lamp, lamp, door, "mem_nobody")
	if m := got(t, e, lamp); m.AccessCount != 0 {
		t.Errorf("%d uses before they are written", m.AccessCount)
	}
	stop, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.FlushTouches(stop); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	clock.Advance(time.Hour)
	e.Touch(lamp)
	changes, err := e.FlushTouches(t.Context())
	want := []memory.TierChange{{ID: lamp, From: memory.Peripheral, To: memory.Working, Reason: "used three times or more, and alive"}}
	if diff := cmp.Diff(want, changes); err != nil || diff != "" {
		t.Errorf("%v: (-want +got):\n%s", err, diff)
	}
	if m := got(t, e, lamp); m.AccessCount != 3 || m.LastAccessedAt != enginetest.Noon.Add(2*time.Hour) || m.LastConfirmedUseAt != m.LastAccessedAt || m.Tier != memory.Working {
		t.Errorf("the lamp: %+v", m)
	}
	if m := got(t, e, door); m.AccessCount != 1 || m.LastAccessedAt != enginetest.Noon.Add(time.Hour) {
		t.Errorf("the door: %+v", m)
	}
	if difference, err := enginetest.Index(e).CheckResident(t.Context()); err != nil || difference != "" {
		t.Errorf("the resident index: %s%v", difference, err)
	}
	if result, err := e.Recall(t.Context(), q); err != nil || len(result.Hits) != 1 || result.Hits[0].Tier != memory.Working {
		t.Errorf("recalled: %+v, %v", result.Hits, err)
	}
	e.Touch(door)
	enginetest.CloseFile(t, e)
	e.Touch(door) // nobody has it
	e = enginetest.OpenFile(t, path, engine.Options{Now: clock.Now})
	if m := got(t, e, door); m.AccessCount != 2 {
		t.Errorf("the door was used %d times after closing, want 2", m.AccessCount)
	}
	enginetest.CloseFile(t, e)
}

// TestTouchHeals: what was held back for not being of use is no longer, and a memory that was forgotten meanwhile stays so.
func TestTouchHeals(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	id := enginetest.Remember(t, e, memory.RememberRequest{Text: "The lamp is green"}).ID
	gone := enginetest.Remember(t, e, memory.RememberRequest{Text: "The door is blue"}).ID
	if err := enginetest.TamperOpen(t.Context(), e, "UPDATE memories SET bad_recall_count = 3, suppressed_until = TIMESTAMP '2030-01-01', access_count = 9999 WHERE id = ?", id); err != nil {
		t.Fatal(err)
	}
	e.Touch(id, id, gone)
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: gone}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.FlushTouches(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m := got(t, e, id); m.AccessCount != 10_000 || m.BadRecallCount != 0 || !m.SuppressedUntil.IsZero() {
		t.Errorf("%+v", m)
	}
}

// TestTiers has every rule once where it holds and once where it hardly does not.
func TestTiers(t *testing.T) {
	enginetest.Alone(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now})
	day := 24 * time.Hour
	cases := []struct {
		name       string
		tier, want memory.Tier
		uses       int
		ago, used  time.Duration // made, and used last, before now
		importance float64
		state      memory.State
	}{
		{name: "used three times", tier: memory.Peripheral, uses: 3, importance: 0.7, want: memory.Working},
		{name: "used twice", tier: memory.Peripheral, uses: 2, importance: 0.7},
		{name: "used, long ago", tier: memory.Peripheral, uses: 3, ago: 400 * day, used: 390 * day, importance: 0.2},
		{name: "used ten times and important", tier: memory.Working, uses: 12, importance: 0.95, want: memory.Core},
		{name: "used ten times and not so important", tier: memory.Working, uses: 12, importance: 0.79},
		{name: "used nine times", tier: memory.Working, uses: 9, importance: 0.95},
		{name: "old and hardly used", tier: memory.Working, uses: 2, ago: 61 * day, importance: 0.9, want: memory.Peripheral},
		{name: "not so old", tier: memory.Working, uses: 2, ago: 59 * day, importance: 0.9},
		{name: "old and used", tier: memory.Working, uses: 3, ago: 61 * day, importance: 0.9},
		{name: "faded", tier: memory.Working, ago: 50 * day, importance: 0.01, want: memory.Peripheral},
		{name: "core and faded", tier: memory.Core, ago: 900 * day, importance: 0.1, want: memory.Working},
		{name: "core and used", tier: memory.Core, uses: 3, ago: 900 * day, used: 890 * day, importance: 0.1},
		{name: "pending", tier: memory.Peripheral, uses: 3, importance: 0.7, state: memory.Pending},
	}
	named := map[string]string{}
	for _, test := range cases {
		r := memory.RememberRequest{Text: "The lamp is " + test.name, Tier: test.tier, State: test.state, CreatedAt: enginetest.Noon.Add(-test.ago), Importance: enginetest.Pointer(test.importance)}
		id := enginetest.Remember(t, e, r).ID
		named[id] = test.name
		if test.uses > 0 {
			at := enginetest.Noon.Add(-test.used)
			if err := enginetest.TamperOpen(t.Context(), e, "UPDATE memories SET access_count = ?, last_accessed_at = ? WHERE id = ?", int32(test.uses), at, id); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, dry := range []bool{true, false} {
		done, err := e.Maintain(t.Context(), memory.MaintainRequest{DryRun: dry})
		if err != nil || done.DryRun != dry {
			t.Fatal(done, err)
		}
		changed := map[string]memory.Tier{}
		for _, c := range done.Tiers {
			changed[named[c.ID]] = c.To
		}
		for _, test := range cases {
			if changed[test.name] != test.want {
				t.Errorf("dry %v, %s: %q, want %q", dry, test.name, changed[test.name], test.want)
			}
		}
	}
	for _, want := range []string{"core and faded to peripheral", ""} { // the second step of what has two to go
		done, err := e.Maintain(t.Context(), memory.MaintainRequest{})
		if err != nil {
			t.Fatal(err)
		}
		var changed []string
		for _, c := range done.Tiers {
			changed = append(changed, fmt.Sprint(named[c.ID], " to ", c.To))
		}
		if got := strings.Join(changed, ", "); got != want {
			t.Errorf("once more: %q, want %q", got, want)
		}
	}
}
