package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/bench"
	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/recall"
)

// talkFile has two conversations and four questions with evidence.
const talkFile = "testdata/talk.json"

func TestRunLocomo(t *testing.T) {
	var saved bytes.Buffer
	words := recall.TranscriptWeights() // of each turn alone: one that shares none with a question is not found
	words.Whole, words.Near, words.Far, words.Date, words.Speaker, words.Reply, words.Answered, words.Tells, words.Question, words.Related = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
	report, err := bench.RunLocomo(t.Context(), bench.LocomoConfig{Data: []string{talkFile}, Save: &saved, Sets: []bench.WeightSet{{Name: "words", Weights: words}}})
	if err != nil {
		t.Fatal(err)
	}
	// Of the third question's two gold turns one shares words with it, and the other is the only turn of a session that shares
	// none; so half of its evidence is found, in the best session. The rest is found at once.
	perfect := bench.Figures{SessionAny5: 1, SessionAny10: 1, SessionAll5: 1, SessionAll10: 1, SessionRecall10: 1, TurnAny10: 1, TurnRecall10: 1, TurnMRR10: 1}
	first, third := perfect, bench.Figures{SessionAny5: 1, SessionAny10: 1, SessionRecall10: 0.5, TurnAny10: 1, TurnRecall10: 0.5}
	first.Questions, third.Questions = 2, 1
	fifth := perfect
	fifth.Questions = 1
	want := &bench.LocomoReport{
		Model: "none", Weights: "words", Conversations: 2, Turns: 8,
		Figures: bench.Figures{Questions: 4, SessionAny5: 1, SessionAny10: 1, SessionAll5: 0.75, SessionAll10: 0.75,
			SessionRecall10: 0.875, TurnAny10: 1, TurnRecall10: 0.875},
		Categories: map[string]bench.Figures{"1": first, "2": third, "5": fifth},
	}
	// Which of two turns that fit the third question comes first is for the ranking to say.
	measured := cmpopts.IgnoreFields(bench.LocomoReport{}, "RecallP50", "RecallP95", "RecallAllP50", "RecallAllP95", "IngestPerSecond", "PeakMB")
	if diff := cmp.Diff(want, report, measured, cmpopts.IgnoreFields(bench.Figures{}, "TurnMRR10"), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	if got := report.Categories["1"].TurnMRR10; got != 1 {
		t.Errorf("MRR of category 1 %v, want 1", got)
	}
	if report.IngestPerSecond <= 0 || report.RecallP50 <= 0 || report.RecallP95 < report.RecallP50 || report.RecallAllP50 <= 0 || report.RecallAllP95 < report.RecallAllP50 {
		t.Errorf("%v turns/s; %v and %v ms, %v and %v ms", report.IngestPerSecond, report.RecallP50, report.RecallP95, report.RecallAllP50, report.RecallAllP95)
	}

	lines := strings.Split(strings.TrimSpace(saved.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d answers saved, want 4", len(lines))
	}
	var third3 bench.Answer
	if err := json.Unmarshal([]byte(lines[2]), &third3); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"D2:1", "D10:1"}, third3.GoldTurns); diff != "" {
		t.Error(diff)
	}
	if third3.TurnRanks[1] != 0 || third3.SessionRanks[0] != 1 || third3.SessionRanks[1] != 0 {
		t.Errorf("ranks of turns %v and sessions %v: want only the first found", third3.TurnRanks, third3.SessionRanks)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 conversations, 8 turns, 4 questions", "model none", "87.5"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

func TestRunLocomoRefuses(t *testing.T) {
	for want, content := range map[string]string{
		"no conversations":                  `[]`,
		"sample 0 (x): session_1_date_time": `[{"sample_id": "x", "conversation": {"session_1": [], "session_1_date_time": "yesterday"}}]`,
		"no sample_id":                      `[{"conversation": {}}]`,
		"unexpected end":                    `[`,
	} {
		path := filepath.Join(t.TempDir(), "talk.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := bench.RunLocomo(t.Context(), bench.LocomoConfig{Data: []string{path}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", content, err, want)
		}
	}
	wrong := recall.TranscriptWeights()
	wrong.Lexical = 2
	for want, config := range map[string]bench.LocomoConfig{
		"scale is -1; allowed: 1 to 1000":     {Scale: -1},
		"scale is 1001; allowed: 1 to 1000":   {Scale: 1001},
		"queries is -1; allowed: 1 to 100000": {Queries: -1},
		"lexical":                             {Sets: []bench.WeightSet{{Name: "wrong", Weights: wrong}}},
	} {
		config.Data = []string{talkFile}
		if _, err := bench.RunLocomo(t.Context(), config); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Copies change what is asked across all, and nothing of what is scored.
func TestRunLocomoScale(t *testing.T) {
	var steps []string
	once, err := bench.RunLocomo(t.Context(), bench.LocomoConfig{Data: []string{talkFile}, Embedder: static.New()})
	if err != nil {
		t.Fatal(err)
	}
	thrice, err := bench.RunLocomo(t.Context(), bench.LocomoConfig{Data: []string{talkFile}, Embedder: static.New(), Scale: 3, Queries: 2,
		Progress: func(step string, done, total int) {
			steps = append(steps, fmt.Sprintf("%s %d of %d", step, done, total))
		}})
	if err != nil {
		t.Fatal(err)
	}
	if thrice.Conversations != 6 || thrice.Turns != 24 {
		t.Errorf("%d conversations of %d turns, want 6 of 24", thrice.Conversations, thrice.Turns)
	}
	if diff := cmp.Diff(once.Categories, thrice.Categories); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"conversations 6 of 6", "questions, transcript 4 of 4", "recalls within a conversation 2 of 2", "recalls across all 2 of 2"} {
		if !slices.Contains(steps, want) {
			t.Errorf("no step %q among %q", want, steps)
		}
	}
}

func TestRunLocomoEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	config := bench.LocomoConfig{Data: []string{talkFile}, Progress: func(step string, _, _ int) {
		if strings.HasPrefix(step, "questions") {
			cancel()
		}
	}}
	if _, err := bench.RunLocomo(ctx, config); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled between two questions: %v", err)
	}
}
