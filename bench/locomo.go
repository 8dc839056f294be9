// Package bench measures an engine through its public API: how well it answers the questions of a recorded data set, and how
// fast it writes and recalls. Each bench is a config, a Run function and a report that prints itself or goes into JSON.
package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

// LocomoConfig is what RunLocomo, RunComparison and RunFolds need. Only Data is required.
type LocomoConfig struct {
	// Data are files in the format of LoCoMo (Maharana et al., 2024): each an array of conversations with questions. RunLocomo takes one.
	Data []string
	// Embedder makes the vectors. Nil: recall is lexical.
	Embedder setup.Embedder
	// Related brings related words into the lexical channel. Default the Embedder's, if it has them.
	Related setup.Related
	// Scale is how often every conversation is stored, each time under another name and with other ids: 1 to 1000. Default 1.
	Scale int
	// Sets are the weights that rank; RunLocomo uses the first. Default one, recall.TranscriptWeights.
	Sets []WeightSet
	// BySQL has the file's SQL find what is asked for. Without it the questions wait for the resident index, which may take as much memory as it needs.
	BySQL bool
	// Reranker is the model of the sets that name it. Nil: none may.
	Reranker setup.Reranker
	// Timed has RunComparison take times as well.
	Timed bool
	// Queries is how many recalls of each sort are timed, at most as many as there are questions. Default 200.
	Queries int
	// Save gets an Answer per scored question, as JSON Lines; of RunLocomo only. Nil: none.
	Save io.Writer
	// Progress is told how far the run is. Nil: nobody is.
	Progress func(step string, done, total int)
}

// WeightSet is weights with a name for reports.
type WeightSet struct {
	Name    string         `json:"name"`
	Weights recall.Weights `json:"weights"`
	// Rerank is who reranks in place of whom the weights name. Empty: whom they name.
	Rerank recall.Rerank `json:"rerank,omitempty"`
}

// Reranked gives each set as it is, and behind it once more for each way to rerank, by whose name it is called too.
func Reranked(sets []WeightSet, ways []NamedRerank) (all []WeightSet) {
	for _, set := range sets {
		all = append(all, set)
		for _, way := range ways {
			all = append(all, WeightSet{set.Name + " " + way.Name, set.Weights, way.Rerank})
		}
	}
	return all
}

// NamedRerank is a way to rerank with a name for reports, such as that of a model.
type NamedRerank struct {
	Name   string
	Rerank recall.Rerank
}

// rerank is who reranks.
func (s WeightSet) rerank() recall.Rerank { return cmp.Or(s.Rerank, recall.Rerank(s.Weights.Rerank)) }

func (c LocomoConfig) withDefaults() LocomoConfig {
	if c.Scale == 0 {
		c.Scale = 1
	}
	if len(c.Sets) == 0 {
		c.Sets = []WeightSet{{Name: "transcript", Weights: recall.TranscriptWeights()}}
	}
	if c.Queries == 0 {
		c.Queries = 200
	}
	if c.Progress == nil {
		c.Progress = func(string, int, int) {}
	}
	return c
}

func (c LocomoConfig) validate() error {
	if err := within("scale", c.Scale, 1, 1000); err != nil {
		return err
	}
	return within("queries", c.Queries, 1, 100_000)
}

// within says what is wrong with a value that is out of range.
func within(name string, value, least, most int) error {
	if value < least || value > most {
		return fmt.Errorf("%w: %s is %d; allowed: %d to %d", engine.ErrInvalid, name, value, least, most)
	}
	return nil
}

// LocomoReport is what RunLocomo measured. Its times are in milliseconds and have the default limit: what a user waits for.
type LocomoReport struct {
	Model         string `json:"model"` // "none" without one
	Weights       string `json:"weights"`
	Conversations int    `json:"conversations"`
	Turns         int    `json:"turns"`
	Figures
	Categories      map[string]Figures `json:"categories"`    // by the data set's number
	RecallP50       float64            `json:"recall_ms_p50"` // asked within one conversation
	RecallP95       float64            `json:"recall_ms_p95"`
	RecallAllP50    float64            `json:"recall_all_ms_p50"` // asked across all of them
	RecallAllP95    float64            `json:"recall_all_ms_p95"`
	IngestPerSecond float64            `json:"ingest_per_s"` // turns, with words and vectors, durably stored
	PeakMB          float64            `json:"peak_mb"`      // of the process, 2^20 bytes each; 0: the system does not say
}

// RunLocomo appends every conversation of a data set to a new file and asks each of its questions there, within the
// conversation that it is about; with a Scale above 1, within the first copy. Questions without a usable gold turn are not
// scored. What is reranked are the ten hits that a user gets; the rest, where sessions are looked for, stands behind them as it is fused. Then it takes the time of some of them again, one after another. The file is gone afterwards.
func RunLocomo(ctx context.Context, c LocomoConfig) (*LocomoReport, error) {
	if len(c.Data) != 1 {
		return nil, fmt.Errorf("bench locomo: %w: data are %d files; allowed: one", engine.ErrInvalid, len(c.Data))
	}
	var report *LocomoReport
	err := record(ctx, c, func(r *recording) (err error) {
		report, err = r.measure(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("bench locomo: %w", err)
	}
	return report, nil
}

func (r *recording) measure(ctx context.Context) (*LocomoReport, error) {
	set := r.config.Sets[0]
	report := &LocomoReport{
		Model: modelName(r.config.Embedder), Weights: set.Name, Conversations: len(r.talks) * r.config.Scale, Turns: r.turns,
		IngestPerSecond: float64(r.turns) / r.appending.Seconds(), Categories: map[string]Figures{},
	}
	answers, err := r.answers(ctx, set)
	if err != nil {
		return nil, err
	}
	report.Figures = figuresOf(answers)
	for category, part := range byCategory(answers) {
		report.Categories[strconv.Itoa(category)] = figuresOf(part)
	}
	times, err := r.times(ctx, r.config.Sets[:1], "recalls within a conversation", false)
	if err != nil {
		return nil, err
	}
	report.RecallP50, report.RecallP95 = milliseconds(percentile(times[0], 50)), milliseconds(percentile(times[0], 95))
	if times, err = r.times(ctx, r.config.Sets[:1], "recalls across all", true); err != nil {
		return nil, err
	}
	report.RecallAllP50, report.RecallAllP95 = milliseconds(percentile(times[0], 50)), milliseconds(percentile(times[0], 95))
	if report.PeakMB, err = peakMemory(); err != nil {
		return nil, err
	}
	return report, save(r.config.Save, answers)
}

func modelName(e setup.Embedder) string {
	if e == nil {
		return "none"
	}
	return e.Model()
}

func save(w io.Writer, answers []Answer) error {
	if w == nil {
		return nil
	}
	encoder := json.NewEncoder(w)
	for _, a := range answers {
		if err := encoder.Encode(a); err != nil {
			return fmt.Errorf("save: %w", err)
		}
	}
	return nil
}
