package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
)

// writeForEver writes until it is killed, and says of each write that it begins and that it is done. What it does follows from
// the seed in the arguments.
func writeForEver(path string) error {
	seed, err := strconv.ParseUint(os.Args[2], 10, 64)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	ctx := context.Background()
	e, err := engine.Open(ctx, path, enginetest.Thrifty(engine.Options{Embedder: enginetest.Words{}}))
	if err != nil {
		return err
	}
	enginetest.Tell(enginetest.Report{Ready: true})
	var live []string
	for n := 0; ; n++ {
		w := enginetest.Write{Op: "remember", ID: fmt.Sprintf("mem_%d_%d", seed, n), Text: enginetest.Sentence(rng)}
		at := 0
		if len(live) > 0 {
			at = rng.IntN(len(live))
			switch rng.IntN(5) {
			case 0:
				w = enginetest.Write{Op: "update", ID: live[at], Text: enginetest.Sentence(rng)}
			case 1:
				w = enginetest.Write{Op: "forget", ID: live[at], Text: ""}
			case 2:
				w.Op = "append"
			}
		}
		enginetest.Tell(enginetest.Report{Begin: &w})
		switch w.Op {
		case "remember":
			_, err = e.Remember(ctx, memory.RememberRequest{ID: w.ID, Text: w.Text})
			live = append(live, w.ID)
		case "update":
			_, err = e.Update(ctx, memory.UpdateRequest{ID: w.ID, Text: &w.Text})
		case "forget":
			_, err = e.Forget(ctx, memory.ForgetRequest{ID: w.ID})
			live = append(live[:at], live[at+1:]...)
		case "append":
			_, err = e.Append(ctx, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Key: w.ID, Text: w.Text}}})
		}
		if err != nil {
			return fmt.Errorf("%+v: %w", w, err)
		}
		enginetest.Tell(enginetest.Report{Done: &w})
	}
}

// TestKilledWriters kills writers at random moments, of a file's first opening too, and wants back whatever they were told was
// written.
func TestKilledWriters(t *testing.T) {
	enginetest.Alone(t)
	kills := 8
	if enginetest.Long("kills") {
		kills = 100
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	path := enginetest.NewFile(t)
	want := map[string]enginetest.Write{} // by id: the last write that was done
	for range kills {
		c := enginetest.Spawn(t, "write", path, strconv.FormatUint(rng.Uint64()>>1, 10))
		timer := time.AfterFunc(time.Duration(rng.Int64N(int64(600*time.Millisecond))), func() { c.Cmd.Process.Kill() })
		var begun *enginetest.Write // not done
		for {
			r, ok := c.Next(t)
			if !ok {
				break
			}
			switch {
			case r.Err != "":
				t.Fatalf("writer: %s", r.Err)
			case r.Begin != nil:
				begun = r.Begin
			case r.Done != nil:
				want[r.Done.ID], begun = *r.Done, nil
			}
		}
		timer.Stop()
		c.Kill()
		recovered(t, path, want, begun)
	}
	t.Logf("%d memories and messages after %d kills", len(want), kills)
	if len(want) == 0 {
		t.Error("no writer wrote anything")
	}
}

// recovered opens the file after a kill, and adds the write that was under way to want where it was done after all.
func recovered(t *testing.T, path string, want map[string]enginetest.Write, begun *enginetest.Write) {
	t.Helper()
	e := enginetest.OpenFile(t, path, engine.Options{Embedder: enginetest.Words{}})
	enginetest.Check(t, e)
	got := map[string]enginetest.Write{}
	for _, row := range enginetest.Rows(t, e, `SELECT id, text, retired_at IS NOT NULL AS forgotten FROM memories
		UNION ALL SELECT caller_key, text, NULL FROM messages`) {
		w := enginetest.Write{Op: "remember", ID: row[0].(string), Text: row[1].(string)}
		switch row[2] {
		case nil:
			w.Op = "append"
		case true:
			w.Op, w.Text = "forget", ""
		}
		got[w.ID] = w
	}
	if begun != nil {
		if begun.Op == "update" {
			begun.Op = "remember"
		}
		if got[begun.ID] == *begun {
			want[begun.ID] = *begun
		}
	}
	for id, w := range want {
		if w.Op == "update" {
			w.Op = "remember"
			want[id] = w
		}
	}
	enginetest.Equal(t, "acknowledged writes", want, got)
	enginetest.CloseFile(t, e)
	if t.Failed() {
		t.FailNow()
	}
}
