package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// TestLeastMemory: a file whose words nearly all stand in one message, such as ids and hashes, is filled, read, made anew and proved with the least
// memory, and leaves nothing in the temporary folder.
func TestLeastMemory(t *testing.T) {
	enginetest.Alone(t)
	ctx := t.Context()
	path := enginetest.NewFile(t)
	o := engine.Options{MemoryLimit: setup.LeastMemory}
	e := enginetest.OpenFile(t, path, o)
	const words = 60
	batch, messages := 600, 3000
	if enginetest.Long("growth") {
		batch, messages = 1000, 10_000
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range messages / batch {
		say := make([]conversation.Message, batch)
		for i := range say {
			var b strings.Builder
			for range words {
				fmt.Fprintf(&b, "%016x ", rng.Uint64())
			}
			say[i] = conversation.Message{Text: b.String()}
		}
		say[0].Text += " needle"
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: fmt.Sprint("c", n%4), Messages: say})
	}
	enginetest.CloseFile(t, e)
	if err := errors.Join(os.Mkdir(path+".tmp", 0o700), os.WriteFile(path+".tmp/duckdb_temp_storage_DEFAULT-0.tmp", []byte("of a crash"), 0o600)); err != nil {
		t.Fatal(err)
	}
	e = enginetest.OpenFile(t, path, o)
	if _, err := os.Stat(path + ".tmp"); !os.IsNotExist(err) {
		t.Errorf("what a crash left in the temporary folder stays: %v", err)
	}
	built, err := e.RebuildIndex(ctx, index.RebuildRequest{})
	if err != nil || built.Documents != messages {
		t.Fatalf("rebuilt %+v, %v: want %d documents", built, err, messages)
	}
	if _, err := e.PurgeConversation(ctx, "c3", ""); err != nil {
		t.Error(err)
	}
	d, err := e.Doctor(ctx, upkeep.DoctorRequest{})
	if err != nil || len(enginetest.Unpurged(d.Findings)) > 0 {
		t.Errorf("%+v, %v: want no findings", d, err)
	}
	r, err := e.Recall(ctx, recall.Query{Text: "needle", Kinds: []kinds.Kind{kinds.Message}, Limit: 1})
	if err != nil || len(r.Hits) != 1 || !strings.HasSuffix(r.Hits[0].Text, "needle") {
		t.Errorf("%+v, %v: want one with the word", r, err)
	}
	enginetest.CloseFile(t, e)
	if _, err := os.Stat(path + ".tmp"); !os.IsNotExist(err) {
		t.Errorf("the temporary folder is left: %v", err)
	}
}
