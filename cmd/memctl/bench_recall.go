package main

import (
	"context"
	"os"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/bench"
)

func newBenchRecallCommand(a *app) *cobra.Command {
	var c bench.RecallConfig
	var phase, file string
	cmd := &cobra.Command{
		Use:   "recall",
		Short: "Measure how fast memories are written and recalled",
		Long: `Recall fills a file with made-up memories that are shaped like real text, and measures recalls of each mode, single and bulk
writes, opening after a close and after a kill, memory and file size. Each part runs in a process of its own.

Every figure of recall is taken twice, of the resident index (keys that end in _resident) and of the file's SQL (_sql). Keys without either are what
a user gets, those of the resident index. It is given as much memory as it takes (resident_mb): above the default of 512 MB a user has to set
engine.Options.ResidentMB. Each sort of questions is asked --queries times, or as often as fifteen seconds allow. Without --memory the database has
as much as elsewhere, and beyond half a million memories 2 MB for every thousand.

The vectors are of a model that costs next to nothing, with --dims dimensions; with --model they are of that model, and its time
is part of every figure.`,
		Example: `  memctl bench recall
  memctl bench recall --n 10000 --model static --json
  memctl bench recall --n 1000 --words 800
  memctl bench recall --n 10000 --versions 10`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("model") {
				model, err := a.openEmbedder()
				if err != nil {
					return err
				}
				defer model.Close()
				a.noteModel(model)
				if model.Embedder == nil {
					return usage("model none; allowed: a model, since vectors are a part of what is measured")
				}
				c.Embedder = model.Embedder
			}
			config, err := loadConfig(a.config)
			if err != nil {
				return err
			}
			c.MemoryLimit = a.memoryLimit(config)
			bar := newProgress(a)
			defer bar.stop()
			c.Progress = bar.report
			if phase != "" {
				report, err := bench.RunPhase(cmd.Context(), c, bench.Phase(phase), file)
				if err != nil {
					return err
				}
				return a.printJSON(report)
			}
			c.Child = func(ctx context.Context, phase bench.Phase, file string) *exec.Cmd {
				return a.benchPhase(ctx, cmd, phase, file)
			}
			report, err := bench.RunRecall(cmd.Context(), c)
			if err != nil {
				return err
			}
			return a.printFigures(report)
		},
	}
	f := cmd.Flags()
	f.IntVar(&c.Memories, "n", 100_000, "memories in the file, 100 to 10000000")
	f.IntVar(&c.Dims, "dims", 384, "dimensions of the vectors, 1 to 16384")
	f.IntVar(&c.Words, "words", 0, "words of each memory, 20 to 10000 (default 20 to 70); long ones have passages")
	f.IntVar(&c.Versions, "versions", 1, "texts that each memory has had, 1 to 1000; from 2 on recalls of the past are measured")
	f.IntVar(&c.Queries, "queries", 200, "recalls of each sort")
	f.IntVar(&c.Live, "live", 2000, "memories written one at a time")
	f.Uint64Var(&c.Seed, "seed", 1, "of the made-up text")
	f.StringVar(&c.Folder, "folder", "", "where the file is made (default the system's folder for temporary files)")
	f.StringVar(&phase, "phase", "", "run one part, in this process")
	f.StringVar(&file, "file", "", "of that part")
	f.MarkHidden("phase")
	f.MarkHidden("file")
	return cmd
}

// benchPhase is this program again, for one phase with the same flags.
func (a *app) benchPhase(ctx context.Context, cmd *cobra.Command, phase bench.Phase, file string) *exec.Cmd {
	args := []string{"bench", "recall", "--phase", string(phase), "--file", file}
	for _, name := range []string{"n", "dims", "words", "versions", "queries", "live", "seed"} {
		args = append(args, "--"+name, cmd.Flag(name).Value.String())
	}
	if cmd.Flags().Changed("model") {
		args = append(args, "--model", a.model, "--config", a.config)
	}
	if a.memory != 0 {
		args = append(args, "--memory", a.memory.String())
	}
	args = append(args, "--quiet="+strconv.FormatBool(a.quiet || a.json))
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	child := exec.CommandContext(ctx, self, args...)
	child.Args[0] = os.Args[0] // the program may go by several names
	child.Stderr = a.stderr
	return child
}
