package bench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/bench"
	"github.com/mallardmem/mallard/embed/onnx/onnxtest"
	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/enginetest/golden"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

// confidenceGolden has a line for each model and set: what confidence is made of, how far it is off on the conversations that it was not made from, and
// what the floor of prompts does there.
const confidenceGolden = "testdata/confidence.golden"

// TestConfidence fits anew what confidence is made of, on recorded conversations that are not part of the project, and compares it with what the engine
// has. Words alone are asked wherever the conversations are, the models only in the long form.
func TestConfidence(t *testing.T) {
	files := filepath.SplitList(os.Getenv("MALLARD_TALKS"))
	if len(files) == 0 {
		t.Skip("MALLARD_TALKS names no files in the format of LoCoMo")
	}
	if testing.Short() {
		t.Skip("short: it takes minutes")
	}
	content, err := os.ReadFile(confidenceGolden)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(content), "\n")
	for _, model := range []struct {
		name string
		open func(t *testing.T) setup.Embedder
	}{
		{"none", func(*testing.T) setup.Embedder { return nil }},
		{"static-minilm", func(*testing.T) setup.Embedder { return static.New() }},
		{"all-MiniLM-L6-v2", func(t *testing.T) setup.Embedder {
			return onnxtest.MiniLM(t, "confidence with all-MiniLM-L6-v2 is not fitted anew")
		}},
	} {
		t.Run(model.name, func(t *testing.T) {
			if model.name != "none" && !golden.Updating() && !enginetest.Long("confidence") {
				t.Skip("takes many minutes: MALLARD_LONG=confidence")
			}
			report, err := bench.RunConfidence(t.Context(), bench.LocomoConfig{Data: files, Embedder: model.open(t), Related: static.New().Related})
			if err != nil {
				t.Fatal(err)
			}
			for _, set := range report.Sets {
				i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, model.name+" "+set.Weights+" ") })
				if i < 0 {
					i = len(lines)
					lines = append(lines, "")
				}
				got := confidenceLine(model.name, set)
				if golden.Updating() {
					lines[i] = got
				} else if got != lines[i] {
					t.Errorf("now    %sgolden %s", got, lines[i])
				}
				if set.Error > 0.02 {
					t.Errorf("%s: confidence is off by %.3f on average", set.Weights, set.Error)
				}
			}
		})
	}
	if golden.Updating() {
		if err := os.WriteFile(confidenceGolden, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// confidenceLine is a line of the golden file.
func confidenceLine(model string, set bench.ConfidenceSet) string {
	at := slices.IndexFunc(set.Floors, func(f bench.Floor) bool { return f.Least == recall.PromptConfidence })
	f := set.Floors[at]
	return fmt.Sprintf("%s %s base %g meaning %g met %g score %g lead %g off %.3f empty %.2f lost %.2f\n", model, set.Weights,
		set.Fit.Base, set.Fit.Meaning, set.Fit.Met, set.Fit.Score, set.Fit.Lead, set.Error, f.Empty, f.LostQuestions)
}

// TestConfidenceOfTheEngine: what the golden file says that confidence is made of is what the engine has.
func TestConfidenceOfTheEngine(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(confidenceGolden)
	if err != nil {
		t.Fatal(err)
	}
	known := recall.Calibrations()
	for line := range strings.Lines(string(content)) {
		var model, set string
		var c recall.Calibration
		if _, err := fmt.Sscanf(line, "%s %s base %g meaning %g met %g score %g lead %g", &model, &set, &c.Base, &c.Meaning, &c.Met, &c.Score, &c.Lead); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if got := known[set+" "+model]; got != c {
			t.Errorf("%s, %s: the engine has %+v, measured was %+v", set, model, got, c)
		}
		delete(known, set+" "+model)
	}
	if len(known) > 0 {
		t.Errorf("nobody measured %v", known)
	}
}
