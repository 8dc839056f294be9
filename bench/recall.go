package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/setup"
)

// RecallConfig is what RunRecall and RunPhase need. Only Memories and Child are required.
type RecallConfig struct {
	Memories int // in the file before anything is measured, 100 or more
	// Embedder makes the vectors. Nil: a model of the bench's own, of Dims dimensions, which costs next to nothing.
	Embedder setup.Embedder
	Dims     int // default 384; of no effect with Embedder
	Words    int // of each memory; from some hundred on it has passages. Default 20 to 70
	Versions int // texts that each memory has had, one after another. Default 1: the past is measured from 2 on
	Queries  int // recalls of each sort. Default 200
	Live     int // single writes. Default 2000
	// MemoryLimit is that of the database, in megabytes. Default the engine's; of more than half a million memories 2 MB for every thousand, so that
	// eight readers have enough of it.
	MemoryLimit int
	Seed        uint64
	// Folder is where the file is made, and removed afterwards. Default the system's for temporary files.
	Folder string
	// Child makes the command that calls RunPhase with the same config in a new process of this program, and writes the
	// result to its standard output as JSON. The process must end with ctx.
	Child func(ctx context.Context, phase Phase, file string) *exec.Cmd
	// Progress is told how far a phase is. Nil: nobody is.
	Progress func(step string, done, total int)
}

func (c RecallConfig) withDefaults() RecallConfig {
	if c.Dims == 0 {
		c.Dims = 384
	}
	if c.Embedder == nil && c.Dims > 0 {
		c.Embedder = newClusters(c.Dims)
	}
	if c.Queries == 0 {
		c.Queries = 200
	}
	if c.Live == 0 {
		c.Live = 2000
	}
	if c.MemoryLimit == 0 && c.Memories > 500_000 {
		c.MemoryLimit = c.Memories / 500
	}
	if c.Progress == nil {
		c.Progress = func(string, int, int) {}
	}
	return c
}

func (c RecallConfig) validate() error {
	for _, f := range []struct {
		name               string
		value, least, most int
	}{{"memories", c.Memories, 100, 10_000_000}, {"dims", c.Dims, 1, 16_384}, {"queries", c.Queries, 1, 100_000}, {"live", c.Live, 1, 100_000}} {
		if err := within(f.name, f.value, f.least, f.most); err != nil {
			return err
		}
	}
	if c.Versions != 0 {
		if err := within("versions", c.Versions, 1, 1000); err != nil {
			return err
		}
	}
	if c.Words != 0 {
		return within("words", c.Words, fewestWords, 10_000)
	}
	return nil
}

// Phase is a part of the recall bench that has a process of its own, so that its memory and its first open are its own too.
type Phase string

// The phases in their order.
const (
	LoadPhase    Phase = "load"    // fill a new file in bulk and close it
	MeasurePhase Phase = "measure" // open it, recall, write live, recall again
	LivePhase    Phase = "live"    // write live until killed
	ReopenPhase  Phase = "reopen"  // open what the killed one left
)

// Phases lists them all.
func Phases() []Phase { return []Phase{LoadPhase, MeasurePhase, LivePhase, ReopenPhase} }

// RunRecall fills a new file with synthetic memories and measures it in four processes, one after another. The file is gone
// afterwards.
func RunRecall(ctx context.Context, c RecallConfig) (*RecallReport, error) {
	report, err := runRecall(ctx, c.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("bench recall: %w", err)
	}
	return report, nil
}

func runRecall(ctx context.Context, c RecallConfig) (*RecallReport, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(c.Folder, "mallard-recall-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "recall.db")
	report := &RecallReport{Model: c.Embedder.Model(), Memories: c.Memories, Dims: c.Embedder.Dims(), Versions: max(c.Versions, 1)}
	for _, phase := range Phases() {
		if phase == LivePhase {
			err = c.kill(ctx, file, report)
		} else {
			err = c.join(ctx, phase, file, report)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", phase, err)
		}
	}
	report.BytesPerMemory = report.FileMB * megabyte / float64(c.Memories)
	if report.Passages > 0 {
		report.BytesPerPassage = report.FileMB * megabyte / float64(report.Passages)
	}
	return report, nil
}

// join runs a phase to its end and adds what it measured to the report.
func (c RecallConfig) join(ctx context.Context, phase Phase, file string, report *RecallReport) error {
	child := c.Child(ctx, phase, file)
	out, err := child.Output()
	if err != nil {
		return err
	}
	return json.Unmarshal(out, report)
}

// RunPhase is one phase, in the process that calls it; file is the one of RunRecall. The live phase ends only with ctx.
func RunPhase(ctx context.Context, c RecallConfig, phase Phase, file string) (*RecallReport, error) {
	c = c.withDefaults()
	if !slices.Contains(Phases(), phase) {
		return nil, fmt.Errorf("bench recall: %w: phase is %q; allowed: %v", engine.ErrInvalid, phase, Phases())
	}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("bench recall: %w", err)
	}
	r := phaseRun{config: c, corpus: newCorpus(c.Seed), file: file}
	r.corpus.long = c.Words
	run := map[Phase]func(context.Context) error{LoadPhase: r.load, MeasurePhase: r.measure, LivePhase: r.live, ReopenPhase: r.reopen}[phase]
	if err := run(ctx); err != nil {
		return nil, fmt.Errorf("bench recall: %s: %w", phase, err)
	}
	return &r.report, nil
}
