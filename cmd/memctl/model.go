package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/embed/distill"
	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/embed/wordpiece"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/index"
)

func newModelCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "model",
		Short: "List, make and change embedding models",
		Long: `A model turns text into the vectors that recall compares. The built-in one, static, needs nothing. Any sentence-transformer
folder with an ONNX graph can take its place: through ONNX Runtime where its library is found (MEMCTL_ORT names one, or none), else
through hugot, which needs nothing but is some forty times slower. A server can do it as well: the table [embedding] of the configuration
names one (--model remote).

A file may have the vectors of several models, side by side. Recall goes by one of them; another is added while that goes on, compared on questions, and then
used, from one moment to the next. A name such as static+all-MiniLM-L6-v2 is both models as one: the cosine is the mean of theirs.`,
		Example: `  memctl model list
  memctl model add all-MiniLM-L6-v2
  memctl model compare static all-MiniLM-L6-v2 --questions questions.jsonl
  memctl model use all-MiniLM-L6-v2`,
	}
	cmd.AddCommand(newModelListCommand(a), newModelDistillCommand(a))
	cmd.AddCommand(newModelKnownCommand(a), newModelPullCommand(a), newModelDoctorCommand(a))
	cmd.AddCommand(newModelAddCommand(a), newModelUseCommand(a), newModelDropCommand(a), newModelCoverageCommand(a), newModelCompareCommand(a))
	return cmd
}

// modelEntry is a model that --model accepts.
type modelEntry struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`              // built in, folder, table
	Runtime string `json:"runtime,omitempty"` // of a folder
	Path    string `json:"path,omitempty"`
}

func newModelListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the models there are, and the file's",
		Long: `List shows what --model accepts: the built-in model, and the folders and tables under $MEMCTL_MODELS; what runs a folder's
graph here; and the models that the file has vectors of, with how many: the one that recall goes by, and those beside it.`,
		Example: `  memctl model list`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			models, err := foundModels(modelsFolder())
			if err != nil {
				return err
			}
			models = append([]modelEntry{{Name: "static", Kind: "built in"}}, models...)
			var chosen index.ModelState
			var states []index.ModelState
			err = a.with(cmd.Context(), 0, func(e *engine.Engine) (err error) {
				states, err = e.Models(cmd.Context())
				if len(states) > 0 && states[0].Chosen {
					chosen = states[0]
				}
				return err
			})
			if err != nil && !errors.Is(err, engine.ErrNotFound) { // without a file there are models all the same
				return err
			}
			document := map[string]any{"models": models, "file": map[string]any{"model": chosen.Model, "dims": chosen.Dims, "models": orEmpty(states)}}
			return a.answer(document, func() {
				t := a.table("model", "kind", "runtime", "path")
				for _, m := range models {
					t.AppendRow([]any{m.Name, m.Kind, m.Runtime, m.Path})
				}
				t.Render()
				a.printf("\nThe built-in model is %s. The file's vectors are from: %s.\n", static.New().Model(), cmp.Or(chosen.Model, "none yet"))
				if len(states) > 1 {
					a.printf("\n")
					a.printModels(states)
				}
			})
		},
	}
}

// foundModels lists the model folders and tables in a folder; "" has none.
func foundModels(folder string) (models []modelEntry, err error) {
	if folder == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		m := modelEntry{Name: entry.Name(), Path: filepath.Join(folder, entry.Name())}
		switch {
		case strings.HasSuffix(m.Name, ".table"):
			m.Kind = "table"
		case exists(filepath.Join(m.Path, "model.onnx")), exists(filepath.Join(m.Path, "onnx", "model.onnx")):
			m.Kind = "folder"
			if m.Runtime, err = graphRuntime(); err != nil {
				return nil, err
			}
		default:
			continue
		}
		models = append(models, m)
	}
	return models, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// distillFlags say what to distil.
type distillFlags struct {
	from, name, out string
	texts           []string
	dims            int
}

func newModelDistillCommand(a *app) *cobra.Command {
	var d distillFlags
	cmd := &cobra.Command{
		Use:   "distill",
		Short: "Make a static table from a sentence model",
		Long: `Distill makes a table with a vector per token, such as the built-in model is, from a sentence-transformer folder and example
sentences, one per line. It keeps most of the model's quality at a few hundred times its speed. Two cores need minutes.`,
		Example: `  memctl model distill --from all-MiniLM-L6-v2 --text sentences.txt --out mine.table
  memctl remember "Ines likes tea" --model mine.table`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !strings.HasSuffix(d.out, ".table") {
				return usage("out is %q; allowed: a name that ends in .table", d.out)
			}
			return a.distill(cmd.Context(), d)
		},
	}
	f := cmd.Flags()
	f.StringVar(&d.from, "from", "", "the folder to learn from, or its name under $MEMCTL_MODELS")
	f.StringArrayVar(&d.texts, "text", nil, "a file of example sentences; repeatable")
	f.StringVar(&d.out, "out", "", "the table to write")
	f.StringVar(&d.name, "name", "", "the new model's name (default that of --out)")
	f.IntVar(&d.dims, "dims", 256, "length of a vector")
	for _, name := range []string{"from", "text", "out"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // a flag that is not there
		}
	}
	return cmd
}

func (a *app) distill(ctx context.Context, d distillFlags) error {
	texts, err := distill.ReadFiles(d.texts...)
	if err != nil {
		return err
	}
	m, err := openModel(d.from)
	if err != nil {
		return err
	}
	defer m.Close()
	teacher, ok := m.Embedder.(interface {
		distill.Encoder
		Tokenizer() *wordpiece.Tokenizer
	})
	if !ok {
		return usage("from is %q; allowed: a sentence-transformer folder", d.from)
	}
	a.noteModel(m)
	bar := newProgress(a)
	defer bar.stop()
	name := cmp.Or(d.name, strings.TrimSuffix(filepath.Base(d.out), ".table"))
	table, err := distill.Run(ctx, distill.Config{Encoder: teacher, Tokenizer: teacher.Tokenizer(), Name: name, Dims: d.dims, Texts: texts, Progress: bar.report})
	if err != nil {
		return err
	}
	bar.stop()
	if err := writeFile(d.out, func(w io.Writer) error { return table.Write(w) }); err != nil {
		return err
	}
	document := map[string]any{"name": name, "file": d.out, "tokens": len(table.Rows), "sentences": len(texts)}
	return a.answer(document, func() {
		a.printf("%s written to %s: %d tokens, learned from %d sentences.\n", name, d.out, len(table.Rows), len(texts))
	})
}
