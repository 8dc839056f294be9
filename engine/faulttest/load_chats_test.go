package faulttest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
)

// TestLoadOfChats appends recorded chats while two recall from them by words: with such texts a window over all rows made DuckDB fail for good.
func TestLoadOfChats(t *testing.T) {
	path := os.Getenv("MALLARD_LOCOMO")
	if path == "" {
		t.Skip("MALLARD_LOCOMO names no file in the format of LoCoMo")
	}
	takes := 5 * time.Second
	if enginetest.Long("faults") {
		takes = 10 * time.Minute
	}
	play(t, takes, "chats", scratch(t), path, takes.String(), strconv.FormatUint(seeded(t), 10)).report(t)
}

// chat is a recorded conversation, session by session, and what is asked about it.
type chat struct {
	Conversation map[string]json.RawMessage
	QA           []struct{ Question string }
}

// inChats is the child that appends chats and recalls from them: in a folder, from a file, for so long.
func inChats(args []string) error {
	ctx := context.Background()
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	var chats []chat
	if err := json.Unmarshal(text, &chats); err != nil {
		return fmt.Errorf("%s: %w", args[1], err)
	}
	takes, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(args[3], 10, 64)
	if err != nil {
		return err
	}
	said, recalled := 0, 0
	for began, n := time.Now(), 0; n == 0 || time.Since(began) < takes; n++ {
		e, err := engine.Open(ctx, filepath.Join(args[0], fmt.Sprint(n, ".db")), engine.Options{})
		if err != nil {
			return err
		}
		s, r := chats[n%len(chats)].talk(ctx, e, rand.New(rand.NewPCG(seed, uint64(n))), began.Add(takes))
		said, recalled = said+s, recalled+r
		if stats, err := e.Stats(ctx); err != nil || stats.Reopened > 0 {
			tell(mark{Fault: fmt.Sprintf("chat %d: the database was opened anew: %+v, %v", n, stats, err)})
		}
		if faults, err := e.Check(ctx); err != nil || len(faults) > 0 {
			tell(mark{Fault: fmt.Sprintf("chat %d: check: %v, %v", n, faults, err)})
		}
		if err := e.Close(); err != nil {
			return err
		}
	}
	tell(mark{Note: fmt.Sprintf("%d messages, and %d recalls beside them", said, recalled)})
	if said == 0 || recalled == 0 {
		return fmt.Errorf("%s: %d messages, %d recalls", args[1], said, recalled)
	}
	return nil
}

// talk appends a chat, a few messages at once, until it or the time is over. Two others recall meanwhile.
func (c chat) talk(ctx context.Context, e *engine.Engine, rng *rand.Rand, until time.Time) (said, recalled int) {
	type turn struct{ Speaker, Text string }
	var turns []turn
	for _, name := range slices.Sorted(maps.Keys(c.Conversation)) {
		var session []turn
		if strings.HasPrefix(name, "session_") && json.Unmarshal(c.Conversation[name], &session) == nil {
			turns = append(turns, session...)
		}
	}
	var over atomic.Bool
	var recalls atomic.Int64
	var group sync.WaitGroup
	for range 2 {
		order := rand.New(rand.NewPCG(rng.Uint64(), 1))
		group.Go(func() {
			for !over.Load() {
				q := recall.Query{Text: turns[order.IntN(len(turns))].Text, Kinds: []kinds.Kind{kinds.Message}, Mode: recall.LexicalMode}
				if len(c.QA) > 0 && order.IntN(2) == 0 {
					q.Text = c.QA[order.IntN(len(c.QA))].Question
				}
				q.Text = strings.ToValidUTF8(q.Text[:min(len(q.Text), 1000)], "")
				if _, err := e.Recall(ctx, q); err != nil {
					tell(mark{Fault: "recall: " + err.Error()})
					return
				}
				recalls.Add(1)
			}
		})
	}
	for said < len(turns) && time.Now().Before(until) {
		r := conversation.AppendRequest{Conversation: "chat"}
		for _, turn := range turns[said:min(said+1+rng.IntN(4), len(turns))] {
			r.Messages = append(r.Messages, conversation.Message{Role: "user", Speaker: turn.Speaker, Text: turn.Text})
		}
		if _, err := e.Append(ctx, r); err != nil {
			tell(mark{Fault: "append: " + err.Error()})
			break
		}
		said += len(r.Messages)
	}
	over.Store(true)
	group.Wait()
	return said, int(recalls.Load())
}
