package recall_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// TestClockThatRanAhead: a memory that was written while the clock was ahead is found, counts as new, and its date is noticed. One that is
// said to begin later than it was made still is not, and neither is what was not yet known as of an earlier day.
func TestClockThatRanAhead(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon.AddDate(3, 0, 0)}
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}, Now: clock.Now})
	ahead := enginetest.Remember(t, e, memory.RememberRequest{Text: "The crane is blue"})
	turn := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "quay", Messages: []conversation.Message{{Text: "The crane again"}}}).IDs[0]
	clock.At = enginetest.Noon
	now := enginetest.Remember(t, e, memory.RememberRequest{Text: "The crane is green"})
	later := enginetest.Remember(t, e, memory.RememberRequest{Text: "The crane is red", ValidFrom: enginetest.Noon.AddDate(0, 1, 0)})
	for _, mode := range []recall.Mode{recall.Hybrid, recall.LexicalMode} {
		r, err := e.Recall(t.Context(), recall.Query{Text: "crane", Mode: mode, Kinds: kinds.All()})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]float64{}
		for _, h := range r.Hits {
			found[h.ID] = math.Round(1e9*h.Signals.Decayed/h.Signals.LengthNorm) / 1e9 // scores are rounded
		}
		if _, ok := found[later.ID]; ok || len(found) != 3 || found[ahead.ID] != found[now.ID] || found[ahead.ID] == 0 {
			t.Errorf("%s: hits with their decay are %v; want %s, %s alike and %s", mode, found, ahead.ID, now.ID, turn)
		}
		for _, id := range []string{ahead.ID, turn} {
			if notices := strings.Join(r.Notices, "\n"); len(r.Notices) != 2 || !strings.Contains(notices, id+" is dated 2029-06-15T12:00:00Z, which is still to come") {
				t.Errorf("%s: notices %q; want one of %s", mode, r.Notices, id)
			}
		}
	}
	for _, asOf := range []time.Time{enginetest.Noon, enginetest.Noon.AddDate(0, 0, 1)} {
		enginetest.Equal(t, "as of a day before it", []string{now.ID}, enginetest.RecallIDs(t, e, recall.Query{Text: "crane", AsOf: asOf}))
	}
	why, err := e.Recall(t.Context(), recall.Query{Text: "crane", WhyNot: ahead.ID})
	if err != nil || why.WhyNot.Stage != "" {
		t.Errorf("why not %s: %+v, %v; want a hit", ahead.ID, why.WhyNot, err)
	}
	for _, pattern := range []lookup.GrepRequest{{Pattern: "crane"}, {Pattern: "cr[a]ne", Mode: lookup.GrepRegex}} {
		pattern.Kinds, pattern.AllConversations = []kinds.Kind{kinds.Memory}, true
		r, err := e.Grep(t.Context(), pattern)
		if err != nil {
			t.Fatal(err)
		}
		ids := map[string]bool{}
		for _, h := range r.Hits {
			ids[h.ID] = true
		}
		enginetest.Equal(t, "grep "+pattern.Pattern, map[string]bool{ahead.ID: true, now.ID: true}, ids)
	}
}
