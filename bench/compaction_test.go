package bench_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/bench"
	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest/golden"
)

// compactionGolden has what can be found again after compaction of recorded conversations that are not part of the project.
const compactionGolden = "testdata/compaction.golden"

// TestCompaction compares compaction of a real conversation with what it reached before. What a question expands must reach at least as much as
// a plain recall does. All conversations take minutes: memctl bench compaction has them.
func TestCompaction(t *testing.T) {
	path := os.Getenv("MALLARD_LOCOMO")
	if path == "" {
		t.Skip("MALLARD_LOCOMO names no file in the format of LoCoMo")
	}
	if testing.Short() {
		t.Skip("short: hundreds of turns, one after another")
	}
	r, err := bench.RunCompaction(t.Context(), bench.CompactionConfig{Data: path, Embedder: static.New(), Related: static.New().Related, Conversations: 1, Questions: 60})
	if err != nil {
		t.Fatal(err)
	}
	if r.Reachable3 < r.Recall4000 {
		t.Errorf("reachable_3 %.4f, want the %.4f of recall_4000", r.Reachable3, r.Recall4000)
	}
	counts := fmt.Sprintf("%d conversations, %d turns, %d questions with %d turns of evidence\n", r.Conversations, r.Turns, r.Questions, r.Evidence)
	got := counts + fmt.Sprintf("static in_window %.3f reachable_3 %.3f recall_4000 %.3f kept %.3f tokens %.0f summaries %d\n",
		r.InWindow, r.Reachable3, r.Recall4000, r.Kept, r.Tokens, r.Summaries)
	if golden.Updating() {
		if err := os.WriteFile(compactionGolden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(compactionGolden)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(want), counts) {
		t.Fatalf("%s is of other conversations than MALLARD_LOCOMO has: %s", compactionGolden, counts)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (accept it with -update):\n%s", compactionGolden, diff)
	}
}

func TestRunCompaction(t *testing.T) {
	report, err := bench.RunCompaction(t.Context(), bench.CompactionConfig{Data: talkFile, Budget: 60, Tail: 1, Chunk: 20, Target: 12})
	if err != nil {
		t.Fatal(err)
	}
	if report.Model != "none" || report.Conversations != 2 || report.Turns != 8 || report.Questions != 4 || report.Evidence != 5 || report.Summaries == 0 || report.Seconds <= 0 {
		t.Errorf("%+v", report)
	}
	// The newest turn of each conversation is all that is left as it was, and the others are expanded.
	if report.InWindow >= report.Recall4000 || report.Reachable3 < report.Recall4000 || report.Recall4000 < 0.8 || report.Tokens <= 0 || report.Tokens > 60 {
		t.Errorf("%+v", report)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil || !strings.Contains(text.String(), "4 questions with 5 turns of evidence; model none") {
		t.Errorf("%v:\n%s", err, text.String())
	}
}

func TestRunCompactionRefuses(t *testing.T) {
	for want, config := range map[string]bench.CompactionConfig{
		"budget is -1; allowed: 1 to 10000000": {Budget: -1},
		"tail is -1; allowed: 1 to 1000000":    {Tail: -1},
		"target is -2; allowed":                {Target: -2},
		"questions is -3; allowed":             {Questions: -3},
	} {
		config.Data = talkFile
		if _, err := bench.RunCompaction(t.Context(), config); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
