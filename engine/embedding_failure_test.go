package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/lineage"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/turn"
)

// told is what a verb says of a vector that is missing.
func told(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestStoringWhileTheModelIsDown: every verb that stores goes on without a vector and says so, what it stored is found by its words, and has
// its vector when the index is made anew.
func TestStoringWhileTheModelIsDown(t *testing.T) {
	t.Parallel()
	down := errors.New("connection refused")
	model := &enginetest.Scripted{}
	e := enginetest.Open(t, engine.Options{Embedder: model, Conversation: setup.Conversation{FreshTailCount: 1}})
	first := enginetest.Remember(t, e, memory.RememberRequest{Text: "The kettle is blue"})
	older := enginetest.Remember(t, e, memory.RememberRequest{Text: "Okan lives in Porto"})
	gone := enginetest.Remember(t, e, memory.RememberRequest{Text: "The pergola is painted white"})
	retraction, err := e.Retract(t.Context(), lineage.RetractRequest{ID: gone.ID, Reason: "test"})
	if err != nil {
		t.Fatal(err)
	}
	long := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: enginetest.Sayings(6)})
	model.Texts = func(context.Context, []string) ([][]float32, error) { return nil, down }
	model.Query = func(context.Context, string) ([]float32, error) { return nil, down }

	for _, verb := range []struct {
		name, word string // the word is in what is stored alone
		do         func(ctx context.Context) (string, error)
	}{
		{"Remember", "walnut", func(ctx context.Context) (string, error) {
			r, err := e.Remember(ctx, memory.RememberRequest{Text: "Ines planted a walnut"})
			return told(r.VectorErr), err
		}},
		{"RememberMany", "almond", func(ctx context.Context) (string, error) {
			all, err := e.RememberMany(ctx, []memory.RememberRequest{{Text: "Ines planted an almond"}, {Text: "Okan planted nothing"}})
			if err == nil && all[0].VectorErr != all[1].VectorErr {
				t.Errorf("one is told of, the other is not: %+v", all)
			}
			return told(all[0].VectorErr), err
		}},
		{"Update", "crimson", func(ctx context.Context) (string, error) {
			u, err := e.Update(ctx, memory.UpdateRequest{ID: first.ID, Text: enginetest.Pointer("The kettle is crimson")})
			return told(u.VectorErr), err
		}},
		{"Supersede", "Braga", func(ctx context.Context) (string, error) {
			r, err := e.Supersede(ctx, memory.SupersedeRequest{ID: older.ID, By: memory.RememberRequest{Text: "Okan lives in Braga"}})
			return told(r.VectorErr), err
		}},
		{"UndoRetraction", "pergola", func(ctx context.Context) (string, error) {
			r, err := e.UndoRetraction(ctx, lineage.UndoRequest{ID: retraction.ID})
			if err != nil {
				return "", err
			}
			return told(r.VectorErr), nil
		}},
		{"Append", "harpsichord", func(ctx context.Context) (string, error) {
			a, err := e.Append(ctx, conversation.AppendRequest{Conversation: "talk", Messages: []conversation.Message{{Text: "The harpsichord is out of tune"}}})
			if err != nil {
				return "", err
			}
			return told(a.VectorErr), nil
		}},
		{"AddBlocks", "theorbo", func(ctx context.Context) (string, error) {
			a, err := e.AddBlocks(ctx, conversation.AddBlocksRequest{Conversation: "talk", MessageID: long.IDs[5],
				Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "and so is the theorbo"}}})
			if err != nil {
				return "", err
			}
			return told(a.VectorErr), nil
		}},
		{"AfterTurn", "bassoon", func(ctx context.Context) (string, error) {
			o, err := e.AfterTurn(ctx, turn.Turn{Conversation: "turns", Prompt: "Where is the bassoon?", Answer: "In the attic."})
			if err != nil {
				return "", err
			}
			return told(o.VectorErr), nil
		}},
		{"Import", "quince", func(ctx context.Context) (string, error) {
			i, err := e.Import(ctx, strings.NewReader(`{"text":"The quince is ripe"}`), interchange.ImportRequest{})
			if err != nil {
				return "", err
			}
			return i.VectorErr, nil
		}},
		{"ImportMessages", "medlar", func(ctx context.Context) (string, error) {
			i, err := e.ImportMessages(ctx, strings.NewReader(`{"conversation":"imported","role":"user","text":"The medlar is not"}`), interchange.ImportRequest{})
			if err != nil {
				return "", err
			}
			return i.VectorErr, nil
		}},
		{"Extract", "saffron", func(ctx context.Context) (string, error) {
			r, err := e.Extract(ctx, extract.Request{Text: "Remember that I am allergic to saffron."})
			if err == nil && r.Stored == 0 {
				t.Errorf("nothing was drawn: %+v", r)
			}
			return told(r.VectorErr), err
		}},
		{"Compact", "", func(ctx context.Context) (string, error) { // its summaries show in the coverage alone
			c, err := e.Compact(ctx, compact.Request{Conversation: "talk", Budget: 10, Force: true})
			if err == nil && !c.Changed {
				t.Errorf("nothing was compacted: %+v", c)
			}
			return down.Error(), err
		}},
	} {
		t.Run(verb.name, func(t *testing.T) {
			before := uncovered(t, e)
			said, err := verb.do(t.Context())
			if err != nil || !strings.Contains(said, down.Error()) {
				t.Fatalf("%v, and says %q; want it to go on and to say why", err, said)
			}
			if after := uncovered(t, e); after <= before {
				t.Errorf("%d documents are without a vector, %d were before", after, before)
			}
			if verb.word == "" {
				return
			}
			rows := enginetest.Rows(t, e, fmt.Sprintf("SELECT count(*) FROM surfaces JOIN postings USING (term_no) WHERE surface = '%s'", strings.ToLower(verb.word)))
			if rows[0][0] == int64(0) {
				t.Errorf("%s is found by nothing", verb.word)
			}
		})
	}
	enginetest.Check(t, e)
	model.Texts, model.Query = nil, nil
	if _, err := e.RebuildIndex(t.Context(), index.RebuildRequest{}); err != nil {
		t.Fatal(err)
	}
	if n := uncovered(t, e); n != 0 {
		t.Errorf("%d documents are without a vector when the model is back", n)
	}
}

// uncovered counts documents without a vector.
func uncovered(t *testing.T, e *engine.Engine) (n int) {
	t.Helper()
	s, err := e.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Coverage {
		n += c.Documents - c.Vectors
	}
	return n
}
