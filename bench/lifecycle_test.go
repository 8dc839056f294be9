package bench_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/bench"
	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
)

// lifeTalk is a conversation of which rules draw two memories; one of them has the evidence of a question, and one question has evidence that no memory has.
const lifeTalk = `[{"sample_id": "life", "conversation": {"speaker_a": "Ana", "speaker_b": "Ben", "session_1_date_time": "1:00 pm on 8 May, 2026", "session_1": [
	{"speaker": "Ana", "dia_id": "D1:1", "text": "My favorite editor is Zed."},
	{"speaker": "Ben", "dia_id": "D1:2", "text": "The heron stood on the pier all morning"},
	{"speaker": "Ben", "dia_id": "D1:3", "text": "We decided to paint the boat blue."}]},
	"qa": [{"question": "Which editor does Ana like?", "evidence": ["D1:1"], "category": 1, "answer": "Zed"}, {"question": "Where did the heron stand?", "evidence": ["D1:2"], "category": 1, "answer": "pier"}]}]`

func TestRunLifecycle(t *testing.T) {
	data := filepath.Join(t.TempDir(), "life.json")
	if err := os.WriteFile(data, []byte(lifeTalk), 0o600); err != nil {
		t.Fatal(err)
	}
	steps := map[string]bool{}
	r, err := bench.RunLifecycle(t.Context(), bench.LifecycleConfig{Messages: 200, Memories: 1000, Turns: 20, Embedder: static.New(), Data: []string{data}, Folder: t.TempDir(),
		Progress: func(step string, _, _ int) { steps[step] = true }})
	if err != nil {
		t.Fatal(err)
	}
	if r.Statements != 50 || r.Stored < 40 || r.Stored > 60 || r.ExtractPerSecond <= 0 {
		t.Errorf("extraction: %+v", r)
	}
	if r.Planted != 10 || r.Merged < 9 || r.Merged > 11 || r.MaintainSeconds <= 0 || r.AgainSeconds <= 0 || r.TierChanges < 500 {
		t.Errorf("maintain: %+v", r)
	}
	if r.BeforeP50 <= 0 || r.BeforeP95 < r.BeforeP50 || r.Shown < 1 {
		t.Errorf("turns: %+v", r)
	}
	if len(r.Data) != 1 || len(steps) < 5 {
		t.Fatalf("%d data sets, steps %v", len(r.Data), steps)
	}
	d := r.Data[0]
	if d.Questions != 2 || d.Turns != 3 || d.Memories != 2 || d.Reachable != 0.5 || d.MemoryRecall10 != 0.5 || d.TurnRecall10 != 1 || len(d.Signals) != 3 || d.Signals[0].TurnRecall10 != 1 || d.Signals[0].Difference != 0 {
		t.Errorf("%+v", d)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "10 planted duplicates merged") || !strings.Contains(text.String(), "memory_recall_10") {
		t.Errorf("%v:\n%s", err, text.String())
	}
}

// TestReachOfRecordings: on recorded conversations memories reach less than turns do, and some of the questions.
func TestReachOfRecordings(t *testing.T) {
	folder := os.Getenv("MALLARD_DATA")
	files, err := filepath.Glob(filepath.Join(folder, "*", "*_tuning.json"))
	if folder == "" || err != nil || len(files) == 0 {
		t.Skip("no recorded conversations: MALLARD_DATA names a folder with */*_tuning.json in the format of LoCoMo")
	}
	for _, file := range files {
		r, err := bench.RunLifecycle(t.Context(), bench.LifecycleConfig{Messages: 100, Memories: 1000, Turns: 1, Embedder: static.New(), Data: []string{file}, Folder: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if d := r.Data[0]; d.MemoryRecall10 <= 0 || d.MemoryRecall10 > d.Reachable || d.MemoryRecall10 > d.TurnRecall10 {
			t.Errorf("%s: %+v", file, d)
		}
	}
}

func TestRunLifecycleRefuses(t *testing.T) {
	for want, config := range map[string]bench.LifecycleConfig{
		"messages is 99; allowed: 100 to 1000000":    {Messages: 99},
		"memories is 999; allowed: 1000 to 10000000": {Memories: 999},
		"turns is -1; allowed: 1 to 100000":          {Turns: -1},
	} {
		if _, err := bench.RunLifecycle(t.Context(), config); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
