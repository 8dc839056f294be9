package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/bench"
	"github.com/mallardmem/mallard/embed/static"
)

func TestRunLocomo(t *testing.T) {
	var saved bytes.Buffer
	report, err := bench.RunLocomo(context.Background(), bench.LocomoConfig{Data: "testdata/talk.json", Save: &saved})
	if err != nil {
		t.Fatal(err)
	}
	// Of the third question's two gold turns one shares words with it, and the other is the only turn of a session that shares
	// none; so half of its evidence is found, in the best session. The rest is found at once.
	perfect := bench.RecallFigures{SessionAny5: 1, SessionAny10: 1, SessionAll5: 1, SessionAll10: 1, SessionRecall10: 1, TurnAny10: 1, TurnRecall10: 1, TurnMRR10: 1}
	first, third := perfect, bench.RecallFigures{SessionAny5: 1, SessionAny10: 1, SessionRecall10: 0.5, TurnAny10: 1, TurnRecall10: 0.5}
	first.Questions, third.Questions = 2, 1
	fifth := perfect
	fifth.Questions = 1
	want := &bench.LocomoReport{
		Model: "none", Conversations: 2, Turns: 8,
		RecallFigures: bench.RecallFigures{Questions: 4, SessionAny5: 1, SessionAny10: 1, SessionAll5: 0.75, SessionAll10: 0.75,
			SessionRecall10: 0.875, TurnAny10: 1, TurnRecall10: 0.875},
		Categories: map[string]bench.RecallFigures{"1": first, "2": third, "5": fifth},
	}
	// Which of two turns that fit the third question comes first is for the ranking to say.
	timed := cmpopts.IgnoreFields(bench.RecallFigures{}, "RecallP50", "RecallP95", "TurnMRR10")
	if diff := cmp.Diff(want, report, timed, cmpopts.IgnoreFields(bench.LocomoReport{}, "IngestPerSecond"), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	if report.Categories["1"].TurnMRR10 != 1 || report.IngestPerSecond <= 0 || report.RecallP50 <= 0 || report.RecallP95 < report.RecallP50 {
		t.Errorf("MRR of category 1 %v, want 1; %v turns/s, %v and %v ms", report.Categories["1"].TurnMRR10, report.IngestPerSecond, report.RecallP50, report.RecallP95)
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
	for name, content := range map[string]string{
		"no conversations":                  `[]`,
		"sample 0 (x): session_1_date_time": `[{"sample_id": "x", "conversation": {"session_1": [], "session_1_date_time": "yesterday"}}]`,
		"no sample_id":                      `[{"conversation": {}}]`,
		"unexpected end":                    `[`,
	} {
		path := filepath.Join(t.TempDir(), "talk.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := bench.RunLocomo(context.Background(), bench.LocomoConfig{Data: path}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want %q", content, err, name)
		}
	}
}

// TestLocomo holds recall with the built-in model to what it reached on real conversations, less what chance may take.
func TestLocomo(t *testing.T) {
	path := os.Getenv("MALLARD_LOCOMO")
	if path == "" {
		t.Skip("MALLARD_LOCOMO names no file in the format of LoCoMo")
	}
	report, err := bench.RunLocomo(context.Background(), bench.LocomoConfig{Data: path, Embedder: static.New()})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct {
		name       string
		got, least float64
	}{
		{"session any@5", report.SessionAny5, 0.93}, {"session any@10", report.SessionAny10, 0.965},
		{"session all@5", report.SessionAll5, 0.84}, {"session all@10", report.SessionAll10, 0.905},
		{"turn any@10", report.TurnAny10, 0.76}, {"turn recall@10", report.TurnRecall10, 0.71},
	} {
		if f.got < f.least {
			t.Errorf("%s %.3f, want %.3f or more", f.name, f.got, f.least)
		}
	}
}
