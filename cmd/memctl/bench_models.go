package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/bench"
	"github.com/mallardmem/mallard/engine/setup"
)

// Candidates that run no graph.
const (
	throughTable  = "table"
	throughServer = "server"
)

func newBenchModelsCommand(a *app) *cobra.Command {
	c := bench.ModelsConfig{}
	var remote bool
	var one string
	cmd := &cobra.Command{
		Use:   "models [NAME|FOLDER]…",
		Short: "Measure how fast each model is, by each way that there is here",
		Long: `Models measures the built-in model and all that memctl model list shows, or those that are named, by every way that there is here: tables, ONNX Runtime where its
library is found, hugot. Each is measured in a process of its own: texts a second one at a time and 32 together (pairs of a question and a text for a
cross-encoder, of some 60 tokens, and how long 20 of them take), how long it takes until the first is read, and the most memory that the process had.

Further graphs of a folder, such as model_quantized.onnx, are measured as well, and compared with the folder's own. The server that the configuration
names is asked only with --remote: it costs money. A figure takes eight seconds at most.`,
		Example: `  memctl bench models
  memctl bench models all-MiniLM-L6-v2 --n 64 --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if one != "" {
				return a.measureCandidate(cmd.Context(), c.Texts, one)
			}
			var err error
			if c.Candidates, err = a.benchCandidates(args, remote); err != nil {
				return err
			}
			bar := newProgress(a)
			defer bar.stop()
			c.Progress = bar.report
			c.Child = func(ctx context.Context, candidate bench.ModelCandidate) *exec.Cmd {
				return a.benchCandidate(ctx, c.Texts, candidate)
			}
			report, err := bench.RunModels(cmd.Context(), c)
			if err != nil {
				return err
			}
			return a.printFigures(report)
		},
	}
	f := cmd.Flags()
	f.IntVar(&c.Texts, "n", 256, "texts for each figure, 32 to 100000")
	f.BoolVar(&remote, "remote", false, "ask the server of the configuration too")
	f.StringVar(&one, "candidate", "", "measure this one in this process")
	f.MarkHidden("candidate")
	return cmd
}

// benchCandidates lists what is measured: the models named, or all.
func (a *app) benchCandidates(names []string, remote bool) (all []bench.ModelCandidate, err error) {
	found := []modelEntry{}
	if len(names) == 0 {
		if found, err = foundModels(modelsFolder()); err != nil {
			return nil, err
		}
		found = append([]modelEntry{{Name: "static"}}, found...)
	}
	for _, name := range names {
		switch {
		case name == "static":
			found = append(found, modelEntry{Name: name})
		case strings.HasSuffix(name, ".table"):
			m, err := openModel(name)
			if err != nil {
				return nil, err
			}
			found = append(found, modelEntry{Name: m.Model(), Path: name, Kind: "table"})
		default:
			path, err := findFolder(name)
			if err != nil {
				return nil, err
			}
			found = append(found, modelEntry{Name: filepath.Base(path), Path: path, Kind: "folder"})
		}
	}
	runtime, err := graphRuntime()
	if err != nil {
		return nil, err
	}
	backends := []string{throughHugot}
	if runtime == throughORT {
		backends = []string{throughORT, throughHugot}
	}
	for _, m := range found {
		if m.Kind != "folder" {
			all = append(all, bench.ModelCandidate{Model: m.Name, Backend: throughTable, Path: m.Path})
			continue
		}
		for _, graph := range graphsOf(m.Path) {
			for _, backend := range backends {
				candidate := bench.ModelCandidate{Model: m.Name, Backend: backend, Path: graph}
				if graph != m.Path {
					candidate.Model, candidate.Base = m.Name+"/"+filepath.Base(graph), m.Path
				}
				all = append(all, candidate)
			}
		}
	}
	if remote {
		all = append(all, bench.ModelCandidate{Model: "remote", Backend: throughServer})
	}
	return all, nil
}

// graphsOf gives a folder itself, for its own graph, and the paths of the others in it.
func graphsOf(path string) []string {
	graphs := []string{path}
	for _, below := range []string{"", "onnx"} {
		files, err := filepath.Glob(filepath.Join(path, below, "*.onnx"))
		if err != nil {
			continue // the folder's name is no pattern: nothing can be found in it
		}
		for _, file := range files {
			if filepath.Base(file) != "model.onnx" {
				graphs = append(graphs, file)
			}
		}
	}
	return graphs
}

// benchCandidate is this program again, for one candidate.
func (a *app) benchCandidate(ctx context.Context, texts int, candidate bench.ModelCandidate) *exec.Cmd {
	text, err := json.Marshal(candidate)
	if err != nil {
		panic(err) // strings
	}
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	child := exec.CommandContext(ctx, self, "bench", "models", "--n", strconv.Itoa(texts), "--candidate", string(text), "--config", a.config, "--quiet")
	child.Args[0] = os.Args[0] // the program may go by several names
	child.Stderr = a.stderr
	return child
}

// measureCandidate measures one in this process.
func (a *app) measureCandidate(ctx context.Context, texts int, text string) error {
	var candidate bench.ModelCandidate
	if err := json.Unmarshal([]byte(text), &candidate); err != nil {
		return usage("candidate: %w", err)
	}
	figures, err := bench.MeasureModel(ctx, texts, func(base bool) (setup.Embedder, setup.Reranker, error) {
		path := candidate.Path
		if base {
			path = candidate.Base
		}
		switch candidate.Backend {
		case throughServer:
			a.model = "remote"
			m, err := a.openEmbedder()
			return m.Embedder, nil, err
		case throughTable:
			if path == "" {
				path = "static"
			}
			m, err := openModel(path)
			return m.Embedder, nil, err
		}
		m, err := openEither(path, candidate.Backend)
		return m.Embedder, m.Reranker, err
	}, candidate.Base != "")
	if err != nil {
		return err
	}
	return a.printJSON(figures)
}
