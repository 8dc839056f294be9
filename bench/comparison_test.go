package bench_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/bench"
	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/recall"
)

// transcript is the built-in set, with both channels whatever the built-in one has.
func transcript() bench.WeightSet {
	w := recall.TranscriptWeights()
	w.Vector, w.Lexical = 0.5, 0.5
	return bench.WeightSet{Name: "transcript", Weights: w}
}

// blind finds nothing: no channel counts, and a candidate would need the greatest score.
func blind() bench.WeightSet {
	set := transcript()
	set.Name, set.Weights.Vector, set.Weights.Lexical, set.Weights.HardMinScore = "blind", 0, 0, 1
	return set
}

func TestRunComparison(t *testing.T) {
	base, again := transcript(), transcript()
	again.Name = "again"
	report, err := bench.RunComparison(t.Context(), bench.LocomoConfig{Data: []string{talkFile}, Embedder: static.New(), Sets: []bench.WeightSet{base, again, blind()}})
	if err != nil {
		t.Fatal(err)
	}
	if report.Questions != 4 || report.Base != "transcript" || len(report.Sets) != 3 {
		t.Fatalf("%d questions, base %s, %d sets", report.Questions, report.Base, len(report.Sets))
	}
	nothing := bench.Figures{Questions: 4}
	for _, same := range report.Sets[:2] {
		if diff := cmp.Diff(bench.Interval{Difference: nothing, Low: nothing, High: nothing}, same.Against); diff != "" {
			t.Errorf("%s against itself: %s", same.Name, diff)
		}
	}
	found, lost := report.Sets[0].Figures, report.Sets[2].Against
	if found.TurnAny10 != 1 || report.Sets[2].Figures.TurnAny10 != 0 || lost.Difference.TurnAny10 != -1 || lost.Low.TurnAny10 != -1 || lost.High.TurnAny10 != -1 {
		t.Errorf("%v found with the base, %v without; a difference of %v", found.TurnAny10, report.Sets[2].Figures.TurnAny10, lost)
	}
	if got, want := lost.Difference.TurnMRR10, -found.TurnMRR10; got != want || lost.Low.TurnMRR10 > want || lost.High.TurnMRR10 < want {
		t.Errorf("MRR: a difference of %v (%v to %v), want %v within its bounds", got, lost.Low.TurnMRR10, lost.High.TurnMRR10, want)
	}
	questions := 0
	if len(report.Data) != 1 || report.Data[0].Name != "talk" || report.Data[0].Conversations != 2 || report.Data[0].Questions != 4 {
		t.Fatalf("data %+v, want talk with two conversations and four questions", report.Data)
	}
	for _, part := range report.Data[0].Sets[2].Categories {
		questions += part.Figures.Questions
	}
	if len(report.Data[0].Sets[2].Categories) != 3 || questions != 4 {
		t.Errorf("%d categories of %d questions, want 3 of 4", len(report.Data[0].Sets[2].Categories), questions)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"4 questions", "differences to transcript", "blind", "+0.0…+0.0"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if content, err := json.Marshal(report); err != nil || !strings.Contains(string(content), `"against_base":{"difference":{"questions":4,"session_any_5":`) {
		t.Errorf("%v:\n%s", err, content)
	}
}

func TestRunFolds(t *testing.T) {
	report, err := bench.RunFolds(t.Context(), bench.LocomoConfig{Data: []string{talkFile}, Embedder: static.New(), Sets: []bench.WeightSet{blind(), transcript()}})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Folds) != 2 || report.Folds[0].Conversation != "harbour" || report.Folds[0].Figures.Questions != 3 || report.Folds[1].Figures.Questions != 1 {
		t.Fatalf("folds %+v, want one of three questions and one of one", report.Folds)
	}
	for _, f := range report.Folds {
		if f.Chosen != "transcript" || f.Figures.TurnAny10 != 1 || f.Against.Difference.TurnAny10 != 1 {
			t.Errorf("%s: %s was chosen, and finds %v of its turns, %v more than the base; want transcript, 1 and 1", f.Conversation, f.Chosen, f.Figures.TurnAny10, f.Against.Difference.TurnAny10)
		}
	}
	if report.Base != "blind" || report.Figures.Questions != 4 || report.BaseFigures.Questions != 4 {
		t.Errorf("base %s, %d and %d questions, want blind and 4", report.Base, report.Figures.Questions, report.BaseFigures.Questions)
	}
	if report.Figures.TurnAny10 != 1 || report.BaseFigures.TurnAny10 != 0 || report.Against.Difference.TurnAny10 != 1 {
		t.Errorf("%v found, %v by the base, a difference of %v; want 1, 0 and 1", report.Figures.TurnAny10, report.BaseFigures.TurnAny10, report.Against.Difference.TurnAny10)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"harbour", "workshop", "difference", "blind"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

// Several data sets stand beside each other, and each counts the same in their mean.
func TestSeveralData(t *testing.T) {
	content, err := os.ReadFile(talkFile)
	if err != nil {
		t.Fatal(err)
	}
	var samples []json.RawMessage
	if err := json.Unmarshal(content, &samples); err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(t.TempDir(), "part.json")
	if content, err = json.Marshal(samples[1:]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(part, content, 0o600); err != nil {
		t.Fatal(err)
	}
	config := bench.LocomoConfig{Data: []string{talkFile, part}, Embedder: static.New(), Sets: []bench.WeightSet{transcript(), blind()}}
	report, err := bench.RunComparison(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Data) != 2 || report.Data[1].Name != "part" || report.Data[1].Questions != 1 || report.Questions != 5 {
		t.Fatalf("data %+v of %d questions, want two, of five", report.Data, report.Questions)
	}
	first, second, mean := report.Data[0].Sets[0].Figures, report.Data[1].Sets[0].Figures, report.Sets[0].Figures
	if got, want := mean.TurnMRR10, (first.TurnMRR10+second.TurnMRR10)/2; got != want {
		t.Errorf("mean MRR %v, want %v, of %v and %v", got, want, first.TurnMRR10, second.TurnMRR10)
	}
	if got, want := report.Sets[1].Against.Difference.TurnMRR10, -mean.TurnMRR10; math.Abs(got-want) > 1e-12 {
		t.Errorf("blind against it %v, want %v", got, want)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"talk", "part", "mean"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	config.Sets = []bench.WeightSet{blind(), transcript()}
	folds, err := bench.RunFolds(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if len(folds.Folds) != 3 || folds.Folds[2].Data != "part" || folds.Folds[2].Chosen != "transcript" || len(folds.Data) != 2 || folds.Data[1].Figures.Questions != 1 {
		t.Errorf("folds %+v of %+v, want three, of two data sets", folds.Folds, folds.Data)
	}
	if _, err := bench.RunLocomo(t.Context(), config); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("two files with times: %v", err)
	}
}

func TestRunFoldsRefuses(t *testing.T) {
	one := filepath.Join(t.TempDir(), "one.json")
	if err := os.WriteFile(one, []byte(`[{"sample_id": "alone", "conversation": {}}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, config := range map[string]bench.LocomoConfig{
		"folds are of 0 sets of weights": {Data: []string{talkFile}},
		"folds are of 1 conversations":   {Data: []string{one}, Sets: []bench.WeightSet{transcript(), blind()}},
	} {
		if _, err := bench.RunFolds(t.Context(), config); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
