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

// write is one thing that a child does to a file, and what the file then has.
type write struct {
	Op   string // remember, update, forget or append
	ID   string // of the memory, or the message's key
	Text string `json:",omitempty"`
}

// writeForEver writes until it is killed, and says of each write that it begins and that it is done. What it does follows from
// the seed in the arguments.
func writeForEver(path string) error {
	seed, err := strconv.ParseUint(os.Args[2], 10, 64)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	ctx := context.Background()
	e, err := engine.Open(ctx, path, engine.Options{Embedder: enginetest.Words{}})
	if err != nil {
		return err
	}
	say(report{Ready: true})
	var live []string
	for n := 0; ; n++ {
		w := write{Op: "remember", ID: fmt.Sprintf("mem_%d_%d", seed, n), Text: sentence(rng)}
		at := 0
		if len(live) > 0 {
			at = rng.IntN(len(live))
			switch rng.IntN(5) {
			case 0:
				w = write{"update", live[at], sentence(rng)}
			case 1:
				w = write{"forget", live[at], ""}
			case 2:
				w.Op = "append"
			}
		}
		say(report{Begin: &w})
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
		say(report{Done: &w})
	}
}

// sentence is some words, of which some were said before and some were not.
func sentence(rng *rand.Rand) string {
	s := ""
	for range 3 + rng.IntN(30) {
		s += fmt.Sprintf("word%d ", rng.IntN(5000))
	}
	return s + "."
}

// TestKilledWriters kills writers at random moments, of a file's first opening too, and wants back whatever they were told was
// written.
func TestKilledWriters(t *testing.T) {
	alone(t)
	kills := 50
	if testing.Short() {
		kills = 5
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	path := newFile(t)
	want := map[string]write{} // by id: the last write that was done
	for range kills {
		c := spawn(t, "write", path, strconv.FormatUint(rng.Uint64()>>1, 10))
		timer := time.AfterFunc(time.Duration(rng.Int64N(int64(600*time.Millisecond))), func() { c.cmd.Process.Kill() })
		var begun *write // not done
		for {
			r, ok := c.next(t)
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
		c.kill()
		recovered(t, path, want, begun)
	}
	t.Logf("%d memories and messages after %d kills", len(want), kills)
	if len(want) == 0 {
		t.Error("no writer wrote anything")
	}
}

// recovered opens the file after a kill, and adds the write that was under way to want where it was done after all.
func recovered(t *testing.T, path string, want map[string]write, begun *write) {
	t.Helper()
	e, err := engine.Open(t.Context(), path, engine.Options{Embedder: enginetest.Words{}})
	if err != nil {
		t.Fatal(err)
	}
	intact(t, e)
	got := map[string]write{}
	for _, row := range rowsOf(t, e, `SELECT id, text, retired_at IS NOT NULL AS forgotten FROM memories
		UNION ALL SELECT caller_key, text, NULL FROM messages`) {
		w := write{"remember", row[0].(string), row[1].(string)}
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
	equal(t, "acknowledged writes", want, got)
	closeFile(t, e)
	if t.Failed() {
		t.FailNow()
	}
}
