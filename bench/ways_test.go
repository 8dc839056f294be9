package bench

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// TestFiguresByBothWays answers the questions of recorded conversations by the resident index and by the file's SQL: every figure must be the same.
// MALLARD_TALKS names files in the format of LoCoMo, as PATH does folders. In the short form of each the first conversation counts.
func TestFiguresByBothWays(t *testing.T) {
	files := filepath.SplitList(os.Getenv("MALLARD_TALKS"))
	for _, file := range append(files, filepath.Join("testdata", "talk.json")) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if !enginetest.Long("ways") {
				file = firstTalk(t, file)
			}
			resident, bySQL := figuresBy(t, file, false), figuresBy(t, file, true)
			if diff := cmp.Diff(bySQL, resident, cmpopts.EquateApprox(0, 0.001)); diff != "" {
				t.Errorf("by SQL (-) and by the resident index (+), by category; 0: all of them:\n%s", diff)
			}
			t.Logf("by SQL             %+v", bySQL[0])
			t.Logf("by resident index  %+v", resident[0])
		})
	}
	if len(files) == 0 {
		t.Skip("MALLARD_TALKS names no files in the format of LoCoMo: of the small talk in testdata alone")
	}
}

// figuresBy asks every question of a data set, by SQL or by the resident index, and gives the figures by category and, as 0, of all.
func figuresBy(t *testing.T, file string, bySQL bool) map[int]Figures {
	t.Helper()
	model := static.New()
	figures := map[int]Figures{}
	config := LocomoConfig{Data: []string{file}, Embedder: model, Related: model.Related, BySQL: bySQL}
	err := record(t.Context(), config, func(r *recording) error {
		answers, err := r.answers(t.Context(), r.config.Sets[0])
		if err != nil {
			return err
		}
		figures[0] = figuresOf(answers)
		for category, part := range byCategory(answers) {
			figures[category] = figuresOf(part)
		}
		return r.answeredBy(t, !bySQL)
	})
	if err != nil {
		t.Fatal(err)
	}
	return figures
}

// answeredBy checks who answers.
func (r *recording) answeredBy(t *testing.T, resident bool) error {
	t.Helper()
	result, err := r.engine.Recall(context.WithoutCancel(t.Context()), r.query(r.questions[0], r.config.Sets[0]))
	if err == nil && result.Trace.Resident != resident {
		t.Errorf("answered by the resident index: %v, want %v", result.Trace.Resident, resident)
	}
	return err
}

// firstTalk is a file with the first conversation of a data set alone.
func firstTalk(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var talks []json.RawMessage
	if err := json.Unmarshal(content, &talks); err != nil {
		t.Fatal(err)
	}
	if content, err = json.Marshal(talks[:1]); err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(t.TempDir(), "first.json")
	if err := os.WriteFile(first, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return first
}
