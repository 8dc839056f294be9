package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/lineage"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/note"
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
	e := enginetest.Open(t, engine.Options{Embedder: model, Conversation: setup.Conversation{FreshTailCount: 1}, Rolling: setup.Rolling{MinMessages: 2, EmergencyPercent: 30},
		Turns: setup.Turns{ExtractMessages: 1}})
	first := enginetest.Remember(t, e, memory.RememberRequest{Text: "The kettle is blue"})
	older := enginetest.Remember(t, e, memory.RememberRequest{Text: "Okan lives in Porto"})
	gone := enginetest.Remember(t, e, memory.RememberRequest{Text: "The pergola is painted white"})
	retraction, err := e.Retract(t.Context(), lineage.RetractRequest{ID: gone.ID, Reason: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"the crew likes strong black tea", "the crew likes very strong black tea"} {
		enginetest.Remember(t, e, memory.RememberRequest{Text: text, CreatedAt: time.Now().AddDate(-1, 0, 0)})
	}
	notes := t.TempDir()
	if err := os.WriteFile(filepath.Join(notes, "MEMORY.md"), []byte("The cardamom is in the tin.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "wishes", Messages: []conversation.Message{{Text: "Remember that I am allergic to ginger."}}})
	for _, name := range []string{"adopted", "rolling", "reworded"} {
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: name, Messages: enginetest.Sayings(12)})
	}
	reworded, _, err := e.AdoptSummary(t.Context(), compact.AdoptRequest{Conversation: "reworded", Text: "They spoke of sage."})
	if err != nil || reworded.VectorErr != nil {
		t.Fatal(reworded, err)
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
		{"Extract from talk", "ginger", func(ctx context.Context) (string, error) {
			r, err := e.Extract(ctx, extract.Request{Conversation: "wishes"})
			if err == nil && r.Stored == 0 {
				t.Errorf("nothing was drawn: %+v", r)
			}
			return told(r.VectorErr), err
		}},
		{"AfterTurn that draws", "papaya", func(ctx context.Context) (string, error) {
			o, err := e.AfterTurn(ctx, turn.Turn{Conversation: "drawn", Prompt: "Remember that I am allergic to papaya.", Answer: "I will."})
			if err == nil && (o.Extraction == nil || o.Extraction.Stored == 0) {
				t.Errorf("nothing was drawn: %+v", o)
			}
			return told(o.VectorErr), err
		}},
		{"SyncNotes", "cardamom", func(ctx context.Context) (string, error) {
			s, err := e.SyncNotes(ctx, note.SyncRequest{Folder: notes})
			return told(s.VectorErr), err
		}},
		{"AdoptSummary", "sorrel", func(ctx context.Context) (string, error) {
			s, _, err := e.AdoptSummary(ctx, compact.AdoptRequest{Conversation: "adopted", Text: "They spoke of sorrel."})
			if err != nil {
				return "", err
			}
			return told(s.VectorErr), nil
		}},
		{"RewriteSummary", "lovage", func(ctx context.Context) (string, error) {
			s, err := e.RewriteSummary(ctx, compact.RewriteRequest{ID: reworded.ID, Text: "Of lovage."})
			if err != nil {
				return "", err
			}
			return told(s.VectorErr), nil
		}},
		{"Compact", "", func(ctx context.Context) (string, error) {
			c, err := e.Compact(ctx, compact.Request{Conversation: "talk", Budget: 10, Force: true})
			if err == nil && !c.Changed {
				t.Errorf("nothing was compacted: %+v", c)
			}
			return told(c.VectorErr), err
		}},
		{"Compact, rolling", "", func(ctx context.Context) (string, error) {
			c, err := e.Compact(ctx, compact.Request{Conversation: "rolling", Policy: compact.Rolling, Force: true})
			if err == nil && !c.Changed {
				t.Errorf("nothing was compacted: %+v", c)
			}
			return told(c.VectorErr), err
		}},
		{"Maintain", "", func(ctx context.Context) (string, error) { // merges what says the same
			m, err := e.Maintain(ctx, memory.MaintainRequest{})
			if err == nil && (len(m.Merged) != 1 || !m.Merged[0].New) {
				t.Errorf("not merged: %+v", m.Merged)
			}
			return told(m.VectorErr), err
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

// TestRetriesWhileTheModelIsDown: a summary that is written at last, as there is a language model again, has no vector and is said to have none.
func TestRetriesWhileTheModelIsDown(t *testing.T) {
	t.Parallel()
	down := errors.New("connection refused")
	model, llm := &enginetest.Scripted{}, enginetest.Answers(errors.New("503 Service Unavailable"), "They said six numbers.", errors.New("503 Service Unavailable"), "They said numbers.")
	e := enginetest.Open(t, engine.Options{Embedder: model, LLM: llm, Rolling: setup.Rolling{MinMessages: 2, EmergencyPercent: 30}})
	for n, retry := range []func(ctx context.Context) (*compact.Retried, error){
		e.RetryPending,
		func(ctx context.Context) (*compact.Retried, error) {
			return e.RetryFallbacks(ctx, compact.RetryRequest{})
		},
	} {
		model.Texts = nil
		name := fmt.Sprint("talk ", n)
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: name, Messages: enginetest.Sayings(12)})
		if _, err := e.Compact(t.Context(), compact.Request{Conversation: name, Policy: compact.Rolling, Force: true}); err != nil {
			t.Fatal(err)
		}
		model.Texts = func(context.Context, []string) ([][]float32, error) { return nil, down }
		if r, err := retry(t.Context()); err != nil || len(r.Rewritten) != 1 || !errors.Is(r.VectorErr, down) {
			t.Errorf("%d: %+v, %v", n, r, err)
		}
	}
}

// TestUndoingRewordsWithoutTheModel: what comes back with a message are its summaries too, and theirs is told of as well.
func TestUndoingRewordsWithoutTheModel(t *testing.T) {
	t.Parallel()
	down := errors.New("connection refused")
	model := &enginetest.Scripted{}
	e := enginetest.Open(t, engine.Options{Embedder: model, Conversation: setup.Conversation{FreshTailCount: 1}})
	said := enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: enginetest.Sayings(12)})
	if c, err := e.Compact(t.Context(), compact.Request{Conversation: "talk", Budget: 10, Force: true}); err != nil || !c.Changed || c.VectorErr != nil {
		t.Fatal(c, err)
	}
	r, err := e.Retract(t.Context(), lineage.RetractRequest{ID: said.IDs[2], Reason: "test"})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	model.Texts = func(ctx context.Context, texts []string) ([][]float32, error) {
		if asked++; asked == 1 { // the message
			return model.Words.EmbedTexts(ctx, texts)
		}
		return nil, down
	}
	if u, err := e.UndoRetraction(t.Context(), lineage.UndoRequest{ID: r.ID}); err != nil || !errors.Is(u.VectorErr, down) || asked < 2 {
		t.Errorf("%+v, %v, asked %d times", u, err, asked)
	}
}
