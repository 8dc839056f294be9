package bench_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/bench"
	"github.com/mallardmem/mallard/embed/onnx/onnxtest"
	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/enginetest/golden"
	"github.com/mallardmem/mallard/engine/setup"
)

// locomoGolden has figures of recall on recorded conversations that are not part of the project: what they are counts of, a header,
// and a line per model and category.
const locomoGolden = "testdata/locomo.golden"

const goldenHeader = "model category questions | session any@5 any@10 all@5 all@10 recall@10 | turn any@10 recall@10 MRR@10"

// TestLocomo compares recall on real conversations with what it reached before, and holds the built-in model to floors. Without a model, and with the
// best, it is asked only in the long form.
func TestLocomo(t *testing.T) {
	path := os.Getenv("MALLARD_LOCOMO")
	if path == "" {
		t.Skip("MALLARD_LOCOMO names no file in the format of LoCoMo")
	}
	counts, lines := readGolden(t)
	related := static.New().Related // with every model, as memctl has it
	for _, model := range []struct {
		name string
		open func(t *testing.T) setup.Embedder
	}{
		{"none", func(*testing.T) setup.Embedder { return nil }},
		{"static", func(*testing.T) setup.Embedder { return static.New() }},
		{"all-MiniLM-L6-v2", func(t *testing.T) setup.Embedder {
			return onnxtest.MiniLM(t, "recall with all-MiniLM-L6-v2 is not compared")
		}},
	} {
		t.Run(model.name, func(t *testing.T) {
			if model.name != "static" && !golden.Updating() && !enginetest.Long("models") {
				t.Skip("takes minutes: MALLARD_LONG=models")
			}
			report, err := bench.RunLocomo(t.Context(), bench.LocomoConfig{Data: []string{path}, Embedder: model.open(t), Related: related, Queries: 1})
			if err != nil {
				t.Fatal(err)
			}
			if model.name == "static" {
				checkFloors(t, report.Figures)
			}
			found := fmt.Sprintf("%d conversations, %d turns, %d questions with evidence", report.Conversations, report.Turns, report.Questions)
			got := goldenLines(model.name, report)
			switch {
			case golden.Updating():
				counts, lines[model.name] = found, got
			case found != counts:
				t.Fatalf("%s is of %s; MALLARD_LOCOMO has %s: compare with the file that it was made of, or make it anew with -update", locomoGolden, counts, found)
			}
			if diff := cmp.Diff(lines[model.name], got); diff != "" {
				t.Errorf("%s (accept it with -update):\n%s", locomoGolden, diff)
			}
		})
	}
	if golden.Updating() {
		content := counts + "\n" + goldenHeader + "\n"
		for _, model := range slices.Sorted(maps.Keys(lines)) { // one that is not at hand keeps its lines
			content += strings.Join(lines[model], "\n") + "\n"
		}
		if err := os.WriteFile(locomoGolden, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// readGolden gives the first line, and those of each model.
func readGolden(t *testing.T) (counts string, lines map[string][]string) {
	t.Helper()
	content, err := os.ReadFile(locomoGolden)
	if err != nil && !golden.Updating() {
		t.Fatal(err)
	}
	lines = map[string][]string{}
	counts, rest, _ := strings.Cut(string(content), "\n")
	_, rest, _ = strings.Cut(rest, "\n") // the header
	for l := range strings.SplitSeq(strings.TrimSpace(rest), "\n") {
		model, _, _ := strings.Cut(l, " ")
		lines[model] = append(lines[model], l)
	}
	delete(lines, "") // of an empty file
	return counts, lines
}

func goldenLines(model string, r *bench.LocomoReport) (lines []string) {
	line := func(category string, f bench.Figures) {
		lines = append(lines, fmt.Sprintf("%s %s %d | %.3f %.3f %.3f %.3f %.3f | %.3f %.3f %.3f", model, category, f.Questions,
			f.SessionAny5, f.SessionAny10, f.SessionAll5, f.SessionAll10, f.SessionRecall10, f.TurnAny10, f.TurnRecall10, f.TurnMRR10))
	}
	for _, category := range slices.Sorted(maps.Keys(r.Categories)) {
		line(category, r.Categories[category])
	}
	line("all", r.Figures)
	return lines
}

// checkFloors: what the built-in model reached, less what chance may take.
func checkFloors(t *testing.T, f bench.Figures) {
	t.Helper()
	for _, floor := range []struct {
		name       string
		got, least float64
	}{
		{"session any@5", f.SessionAny5, 0.948}, {"session any@10", f.SessionAny10, 0.979},
		{"session all@5", f.SessionAll5, 0.866}, {"session all@10", f.SessionAll10, 0.930},
		{"turn any@10", f.TurnAny10, 0.882}, {"turn recall@10", f.TurnRecall10, 0.830},
	} {
		if floor.got < floor.least {
			t.Errorf("%s %.3f, want %.3f or more", floor.name, floor.got, floor.least)
		}
	}
}
