package recall_test

import (
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
)

// TestWeightsStoredBefore: a set stored by a program that knew fewer weights has the rest from the built-in set of its name, else
// from memory.
func TestWeightsStoredBefore(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	enginetest.CloseFile(t, enginetest.OpenFile(t, path, engine.Options{}))
	enginetest.Tamper(t, path, `INSERT INTO settings VALUES ('weights:transcript', '{"lexical": 0.4}'), ('weights:mine', '{"lexical": 0.6, "pool": 30}')`)
	e := enginetest.OpenFile(t, path, engine.Options{})
	sets, err := e.WeightSets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	transcript, mine := recall.TranscriptWeights(), recall.MemoryWeights()
	transcript.Lexical, mine.Lexical, mine.Pool = 0.4, 0.6, 30
	enginetest.Equal(t, "transcript", transcript, sets["transcript"])
	enginetest.Equal(t, "mine", mine, sets["mine"])
	for _, name := range []string{"transcript", "mine"} {
		if r, err := e.Recall(t.Context(), recall.Query{Text: "anything", WeightSet: name, Kinds: kinds.All()}); err != nil || r.WeightSet != name {
			t.Errorf("recall with %s: %v, %v", name, r.WeightSet, err)
		}
		if err := e.SetWeights(t.Context(), name, sets[name]); err != nil {
			t.Error(err)
		}
	}
}
