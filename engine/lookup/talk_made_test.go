package lookup_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// longTalk appends n messages that a seed makes up to the conversation "long", a minute apart, with every third from a tool; needle, when
// it is not empty, stands in one in a thousand. Words are as frequent as in language: the k-th about 1/k.
func longTalk(t testing.TB, e *engine.Engine, n int, needle string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 8))
	const words = 20_000
	zipf := func() string {
		return fmt.Sprintf("w%s", strings.Repeat("o", 1)+letters(int(math.Exp(rng.Float64()*math.Log(words)))))
	}
	at := enginetest.Noon.AddDate(-1, 0, 0)
	for done := 0; done < n; {
		var batch []conversation.Message
		for ; len(batch) < 10_000 && done < n; done++ {
			at = at.Add(time.Minute)
			said := make([]string, 8+rng.IntN(25))
			for i := range said {
				said[i] = zipf()
			}
			if needle != "" && done%1000 == 500 {
				said[len(said)/2] = needle
			}
			m := conversation.Message{Role: []string{"user", "assistant", "tool"}[done%3], SaidAt: at, Text: strings.Join(said, " ")}
			batch = append(batch, m)
		}
		if _, err := e.Append(context.Background(), conversation.AppendRequest{Conversation: "long", Messages: batch}); err != nil {
			t.Fatal(err)
		}
	}
}

// letters writes a number as a word.
func letters(n int) string {
	var b []byte
	for ; n > 0; n /= 20 {
		b = append(b, "bcdfghklmnprstvzaeiu"[n%20])
	}
	return string(b)
}

// compacted makes summaries over the conversation "long": a leaf for every 100 messages but the newest 64, a condensed one for every 8 of
// these, and so on. It gives the ids of the leaves and of the topmost.
func compacted(t testing.TB, e *engine.Engine, n int) (leaves []string, top string) {
	t.Helper()
	var ids []string
	for from := 1; ; from += 50_000 {
		all, err := e.Messages(context.Background(), conversation.MessagesRequest{Conversation: "long", From: from, Limit: min(50_000, n)})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			ids = append(ids, m.ID)
		}
		if len(all) < 50_000 {
			break
		}
	}
	ids = ids[:max(0, len(ids)-64)]
	var plan []func([]string) enginetest.Made
	for from := 0; from < len(ids); from += 100 {
		sources := ids[from:min(from+100, len(ids))]
		plan = append(plan, func([]string) enginetest.Made {
			return enginetest.Made{Text: fmt.Sprint("leaf from ", from), Tokens: 300, Sources: sources}
		})
	}
	level, count := 0, len(plan)
	for ; count > 1; count = (count + 7) / 8 {
		for from := 0; from < count; from += 8 {
			lo, hi := level+from, level+min(from+8, count)
			plan = append(plan, func(made []string) enginetest.Made {
				return enginetest.Made{Text: fmt.Sprint("above ", lo), Tokens: 250, Sources: made[lo:hi]}
			})
		}
		level += count
	}
	made, err := enginetest.AddSummaries(context.Background(), e, "long", plan...)
	if err != nil {
		t.Fatal(err)
	}
	return made[:(len(ids)+99)/100], made[len(made)-1]
}
