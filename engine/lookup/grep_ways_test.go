package lookup_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/memory"
)

// TestGrepFindsTheSameBothWays asks random things of random talk, summaries, memories and what is set aside, with words that are dates among them:
// enginetest.Grep compares the file with the resident index.
func TestGrepFindsTheSameBothWays(t *testing.T) {
	e := enginetest.Open(t, engine.Options{})
	longTalk(t, e, 700, "migration")
	compacted(t, e, 700)
	rng := rand.New(rand.NewPCG(3, 1))
	words := []string{"wob", "woc", "wod", "wof", "wog", "wobc", "wofc", "wofe", "migration", "June", "2025", "12", "harbour", "nothing"}
	text := func(n int) string {
		said := make([]string, n)
		for i := range said {
			said[i] = words[rng.IntN(len(words))]
		}
		return strings.Join(said, " ")
	}
	for i := range 60 {
		enginetest.Remember(t, e, memory.RememberRequest{Text: text(6) + fmt.Sprint(" n", i), Scope: []string{"global", "agent:teo", "project:pier"}[i%3],
			State: []memory.State{memory.Confirmed, memory.Pending}[i%2]})
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: fmt.Sprint("short", i%4), Messages: []conversation.Message{
			{Text: text(12), SaidAt: enginetest.Noon.AddDate(0, 0, -i)}, {Text: text(3), SetAside: []conversation.SetAside{"", conversation.AsideEvent}[i/50]}}})
	}
	some := 0
	for range 80 {
		r := lookup.GrepRequest{Pattern: text(1 + rng.IntN(4)), Words: []lookup.GrepWords{lookup.AnyWord, lookup.AllWords}[rng.IntN(2)],
			Order: []lookup.GrepOrder{lookup.ByRelevance, lookup.ByNewest}[rng.IntN(2)], Limit: 1 + rng.IntN(60), Agent: []string{"", "teo"}[rng.IntN(2)],
			Kinds: kinds.All()[rng.IntN(3):], AllConversations: true, Deadline: time.Minute}
		if rng.IntN(2) == 0 {
			r.AllConversations, r.Conversation = false, []string{"long", "short1"}[rng.IntN(2)]
		}
		if rng.IntN(3) == 0 {
			r.Since = enginetest.Noon.AddDate(0, 0, -rng.IntN(400))
			r.Before = r.Since.AddDate(0, 0, 1+rng.IntN(300))
		}
		if rng.IntN(4) == 0 {
			r.Kinds, r.Roles = []kinds.Kind{kinds.Message}, []string{"user", "tool"}
		}
		if rng.IntN(4) == 0 {
			r.Pattern = fmt.Sprintf("%q %s", r.Pattern, text(1))
		}
		if len(enginetest.Grep(t, e, r).Hits) > 0 {
			some++
		}
		if t.Failed() {
			return
		}
	}
	if some < 30 {
		t.Errorf("%d of 80 searches found something", some)
	}
}
