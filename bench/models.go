package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/mallardmem/mallard/engine/setup"
)

// ModelsConfig is what RunModels needs.
type ModelsConfig struct {
	// Candidates are what is measured, one after the other. Required.
	Candidates []ModelCandidate
	// Texts are read for each figure, or as many as there is time for. Default 256.
	Texts int
	// Child is the process that measures a candidate with MeasureModel and prints its figures as JSON. Required.
	Child func(ctx context.Context, c ModelCandidate) *exec.Cmd
	// Progress is told how far the run is. Nil: nobody is.
	Progress func(step string, done, total int)
}

// ModelCandidate is a model and what runs it. Path and Base are the caller's to read.
type ModelCandidate struct {
	Model   string `json:"model"`
	Backend string `json:"backend"`
	Path    string `json:"path,omitempty"`
	Base    string `json:"base,omitempty"` // the graph of the same model that this one is compared with
}

// ModelFigures are what was measured of one candidate. Speeds are texts, or pairs of a question and a text, in a second.
type ModelFigures struct {
	ModelCandidate
	Kind    string  `json:"kind,omitempty"` // embedding or cross-encoder
	LoadMs  float64 `json:"load_ms,omitzero"`
	One     float64 `json:"per_second_1,omitzero"`
	Many    float64 `json:"per_second_32,omitzero"`
	TwentyM float64 `json:"twenty_pairs_ms,omitzero"` // of a cross-encoder: 20 pairs of some 60 tokens, the median
	PeakMB  float64 `json:"peak_mb,omitzero"`         // the most that the process ever had
	StartMB float64 `json:"start_mb,omitzero"`        // what it had before the model was opened

	Against *ModelAgreement `json:"against_base,omitempty"`
	Error   string          `json:"error,omitempty"` // why there are no figures
}

// ModelAgreement compares a graph with the one that it was made from.
type ModelAgreement struct {
	CosineMean  float64 `json:"cosine_mean,omitzero"` // of the same text's two vectors
	CosineLeast float64 `json:"cosine_least,omitzero"`
	Off         float64 `json:"score_off_mean,omitzero"` // of a cross-encoder: how much the same pair's two scores differ
	Best        float64 `json:"same_best"`               // share of each text's ten nearest, or each question's five best, that are the same in both
}

// ModelsReport is what RunModels measured.
type ModelsReport struct {
	Texts  int            `json:"texts"`
	Models []ModelFigures `json:"models"`
}

// modelsAskedFor is how long each speed is measured at most, once a batch was read.
const modelsAskedFor = 8 * time.Second

func (c ModelsConfig) withDefaults() ModelsConfig {
	if c.Texts == 0 {
		c.Texts = 256
	}
	if c.Progress == nil {
		c.Progress = func(string, int, int) {}
	}
	return c
}

// RunModels measures every candidate in a process of its own. A candidate that fails is a row that says why.
func RunModels(ctx context.Context, c ModelsConfig) (*ModelsReport, error) {
	c = c.withDefaults()
	if err := within("n", c.Texts, 32, 100_000); err != nil {
		return nil, fmt.Errorf("bench models: %w", err)
	}
	report := &ModelsReport{Texts: c.Texts, Models: []ModelFigures{}}
	for i, candidate := range c.Candidates {
		c.Progress(candidate.Model+", "+candidate.Backend, i, len(c.Candidates))
		figures := ModelFigures{}
		out, err := c.Child(ctx, candidate).Output()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("bench models: %w", ctx.Err())
		}
		if err == nil {
			err = json.Unmarshal(out, &figures)
		}
		if err != nil {
			figures.Error = fmt.Sprintf("its process failed: %v", err)
		}
		figures.ModelCandidate = candidate
		report.Models = append(report.Models, figures)
		c.Progress(candidate.Model+", "+candidate.Backend, i+1, len(c.Candidates))
	}
	return report, nil
}

// MeasureModel measures one candidate in this process. Open gives an embedding model or a cross-encoder, the other being nil; base the graph to compare
// with. What fails to open is in the figures.
func MeasureModel(ctx context.Context, texts int, open func(base bool) (setup.Embedder, setup.Reranker, error), compare bool) (*ModelFigures, error) {
	figures := &ModelFigures{}
	var err error
	if figures.StartMB, err = peakMemory(); err != nil {
		return nil, err
	}
	began := time.Now()
	embedder, reranker, err := open(false)
	if err != nil {
		figures.Error = err.Error()
		return figures, nil
	}
	sample := modelTexts(texts)
	read := func(part []string) error { _, err := embedder.EmbedTexts(ctx, part); return err }
	figures.Kind = "embedding"
	if reranker != nil {
		figures.Kind = "cross-encoder"
		read = func(part []string) error { _, err := reranker.Rerank(ctx, modelQuestion, part); return err }
		sample = modelPassages(texts)
	}
	if err := read(sample[:1]); err != nil {
		figures.Error = err.Error()
		return figures, nil
	}
	figures.LoadMs = milliseconds(time.Since(began))
	for _, way := range []struct {
		size   int
		result *float64
	}{{1, &figures.One}, {32, &figures.Many}} {
		if *way.result, err = perSecond(ctx, sample, way.size, read); err != nil {
			return nil, err
		}
	}
	if reranker != nil {
		if figures.TwentyM, err = twentyPairs(ctx, sample[:20], read); err != nil {
			return nil, err
		}
	}
	if figures.PeakMB, err = peakMemory(); err != nil || !compare {
		return figures, err
	}
	embedderOfBase, rerankerOfBase, err := open(true)
	if err != nil {
		return nil, err
	}
	switch {
	case embedder != nil && embedderOfBase != nil:
		figures.Against, err = compareVectors(ctx, embedder, embedderOfBase, modelTexts(200))
	case reranker != nil && rerankerOfBase != nil:
		figures.Against, err = compareScores(ctx, reranker, rerankerOfBase, modelPassages(100))
	default:
		err = errors.New("the two graphs are not of the same kind")
	}
	return figures, err
}

// perSecond reads the texts in batches, after one that does not count.
func perSecond(ctx context.Context, texts []string, size int, read func([]string) error) (float64, error) {
	if err := read(texts[:size]); err != nil {
		return 0, err
	}
	n, began := 0, time.Now()
	for at := 0; at+size <= len(texts) && (n < size || time.Since(began) < modelsAskedFor); at += size {
		if err := errors.Join(ctx.Err(), read(texts[at:at+size])); err != nil {
			return 0, err
		}
		n += size
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// twentyPairs gives the median of nine calls, or of as many as there is time for.
func twentyPairs(ctx context.Context, texts []string, read func([]string) error) (float64, error) {
	var times []time.Duration
	for began := time.Now(); len(times) < 9 && (len(times) == 0 || time.Since(began) < modelsAskedFor); {
		start := time.Now()
		if err := errors.Join(ctx.Err(), read(texts)); err != nil {
			return 0, err
		}
		times = append(times, time.Since(start))
	}
	return milliseconds(percentile(times, 50)), nil
}

// compareVectors says how far two models' vectors of the same texts are the same.
func compareVectors(ctx context.Context, a, b setup.Embedder, texts []string) (*ModelAgreement, error) {
	ofA, err := a.EmbedTexts(ctx, texts)
	if err != nil {
		return nil, err
	}
	ofB, err := b.EmbedTexts(ctx, texts)
	if err != nil {
		return nil, err
	}
	result := &ModelAgreement{CosineLeast: 1}
	for i := range texts {
		cosine := dot(ofA[i], ofB[i])
		result.CosineMean += cosine / float64(len(texts))
		result.CosineLeast = min(result.CosineLeast, cosine)
		near := func(all [][]float32) []float64 {
			scores := make([]float64, len(all))
			for j := range all {
				if scores[j] = dot(all[i], all[j]); j == i {
					scores[j] = -2
				}
			}
			return scores
		}
		result.Best += sameBest(near(ofA), near(ofB), 10) / float64(len(texts))
	}
	return result, nil
}

// compareScores says how far two models agree on the scores of the same pairs: each of some texts as a question to all.
func compareScores(ctx context.Context, a, b setup.Reranker, texts []string) (*ModelAgreement, error) {
	result := &ModelAgreement{}
	questions := modelTexts(10)
	for _, question := range questions {
		ofA, err := a.Rerank(ctx, question, texts)
		if err != nil {
			return nil, err
		}
		ofB, err := b.Rerank(ctx, question, texts)
		if err != nil {
			return nil, err
		}
		for i := range ofA {
			result.Off += max(ofA[i]-ofB[i], ofB[i]-ofA[i]) / float64(len(texts)*len(questions))
		}
		result.Best += sameBest(ofA, ofB, 5) / float64(len(questions))
	}
	return result, nil
}

// sameBest is the share of the n places with the best scores that are the same in both.
func sameBest(a, b []float64, n int) float64 {
	best := func(scores []float64) []int {
		places := make([]int, len(scores))
		for i := range places {
			places[i] = i
		}
		slices.SortStableFunc(places, func(i, j int) int {
			switch {
			case scores[i] > scores[j]:
				return -1
			case scores[i] < scores[j]:
				return 1
			}
			return 0
		})
		return places[:min(n, len(places))]
	}
	ofA, ofB := best(a), best(b)
	same := 0
	for _, place := range ofA {
		if slices.Contains(ofB, place) {
			same++
		}
	}
	return float64(same) / float64(len(ofA))
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// WriteText prints the report as a table.
func (r *ModelsReport) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "model\tthrough\tkind\tload ms\ta second, 1\t32 at once\t20 pairs ms\tpeak MB\tbefore\t\n")
	for _, m := range r.Models {
		if m.Error != "" {
			fmt.Fprintf(t, "%s\t%s\t–\t–\t–\t–\t–\t–\t–\t\n", m.Model, m.Backend)
			continue
		}
		twenty := "–"
		if m.TwentyM > 0 {
			twenty = fmt.Sprintf("%.0f", m.TwentyM)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.0f\t%.0f\t%.0f\t%s\t%.0f\t%.0f\t\n", m.Model, m.Backend, m.Kind, m.LoadMs, m.One, m.Many, twenty, m.PeakMB, m.StartMB)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, m := range r.Models {
		var err error
		switch against := m.Against; {
		case m.Error != "":
			_, err = fmt.Fprintf(w, "\n%s through %s: %s\n", m.Model, m.Backend, m.Error)
		case against != nil && m.Kind == "embedding":
			_, err = fmt.Fprintf(w, "\n%s beside the folder's own graph: cosines %.4f on average, %.4f at least; %.1f %% of each text's ten nearest are the same\n",
				m.Model, against.CosineMean, against.CosineLeast, 100*against.Best)
		case against != nil:
			_, err = fmt.Fprintf(w, "\n%s beside the folder's own graph: scores %.4f off on average; %.1f %% of each question's five best are the same\n", m.Model, against.Off, 100*against.Best)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
