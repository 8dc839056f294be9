package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/embed/wordpiece"
	"github.com/mallardmem/mallard/probe"
	"github.com/mallardmem/mallard/pull"
)

func newModelDoctorCommand(a *app) *cobra.Command {
	var reference, as string
	cmd := &cobra.Command{
		Use:   "doctor [NAME|FOLDER]",
		Short: "Look whether a model gives what it should",
		Long: `Doctor puts known sentences to a model and judges what comes back. With a name or a folder that is an embedding model or a cross-encoder, or one graph of
it (FOLDER/model_quantized.onnx); without, it is the model that --model and the configuration name, a server's too.

Some checks compare with a reference, which is what another program computed with the same model: it comes with memctl for all-MiniLM-L6-v2, and --reference
names a file for any other (a JSON array of {"text", "vector"}, {"a", "b", "cosine"}, or {"query", "text", "score"}). A wrong tokenizer, pooling or graph shows
there. The others look at properties: length and dimensions of vectors, the same ones each time, alone and among others, paraphrases nearer than strangers
in several languages, odd texts, prefixes, speed. A model of memctl model known is also held to what is known of it; --as says which one it is
where the folder has another name.

The exit code is 1 when something is wrong. A note is no fault: an English model does not know Chinese.`,
		Example: `  memctl model doctor all-MiniLM-L6-v2
  memctl model doctor ./ms-marco-MiniLM-L6-v2 --json
  memctl model doctor mine --reference mine.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			known := probe.Expected{}
			if reference != "" {
				content, err := os.ReadFile(reference)
				if err == nil {
					known.Reference, err = probe.ReadReference(content)
				}
				if err != nil {
					return usage("reference %s: %w", reference, err)
				}
			}
			m, err := a.openForDoctor(args)
			if err != nil {
				return err
			}
			defer m.Close()
			report, err := probeModel(cmd.Context(), m, known, as)
			if err != nil {
				return err
			}
			if err := a.answer(report, func() { a.printProbe(report) }); err != nil {
				return err
			}
			if report.Faults() > 0 {
				return errReported
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&reference, "reference", "", "a file with what another program computed with this model")
	cmd.Flags().StringVar(&as, "as", "", "the name of the known model that it is (default the folder's)")
	var names []string
	for _, k := range pull.KnownModels() {
		names = append(names, k.Name)
	}
	complete(cmd, "as", names)
	return cmd
}

func (a *app) openForDoctor(args []string) (eitherModel, error) {
	if len(args) == 0 || args[0] == "static" || args[0] == "remote" || strings.HasSuffix(args[0], ".table") {
		if len(args) > 0 {
			a.model = args[0]
		}
		m, err := a.openEmbedder()
		if err == nil && m.Embedder == nil {
			err = usage("model none; allowed: a model, since it is what is looked at")
		}
		return eitherModel{embedder: m}, err
	}
	path, err := findFolder(args[0])
	if err != nil {
		return eitherModel{}, err
	}
	runtime, err := graphRuntime()
	if err != nil {
		return eitherModel{}, err
	}
	return openEither(path, runtime)
}

// probeModel holds a model to what is known of the one that it is said to be, or whose name it has.
func probeModel(ctx context.Context, m eitherModel, e probe.Expected, as string) (*probe.Report, error) {
	if m.Reranker != nil {
		report, err := probe.CrossEncoder(ctx, m.Reranker, e.Reference)
		if report != nil {
			report.Runtime = m.embedder.runtime
		}
		return report, err
	}
	name, _, _ := strings.Cut(m.Embedder.Model(), "/")
	if as != "" {
		if _, ok := pull.FindKnown(as); !ok {
			return nil, usage("as is %q; allowed: a name of `memctl model known`", as)
		}
	}
	name = cmp.Or(as, name)
	if k, ok := pull.FindKnown(name); ok && k.Kind == pull.Embedding {
		e.Known, e.Dims, e.Pooling, e.Tokens, e.Query, e.Passage = true, k.Dims, k.Pooling, k.Tokens, k.Query, k.Passage
	}
	if e.Reference == nil {
		e.Reference = probe.KnownReference(name)
	}
	var folder *wordpiece.SentenceModel = m.folder
	report, err := probe.Embedding(ctx, m.Embedder, folder, e)
	if report != nil {
		report.Runtime = m.embedder.runtime
	}
	return report, err
}

func (a *app) printProbe(r *probe.Report) {
	through := ""
	if r.Runtime != "" {
		through = " through " + r.Runtime
	}
	a.printf("%s, %s%s\n\n", r.Model, r.Kind, through)
	t := a.table("check", "", "found", "wanted")
	for _, c := range r.Checks {
		name := c.Name
		if c.ByOthers {
			name += " (of another program)"
		}
		t.AppendRow([]any{name, c.Status, line(c.Found, 90), c.Wanted})
	}
	t.Render()
	what := "texts"
	if r.Kind == pull.CrossEncoder {
		what = "pairs"
	}
	a.printf("\n%.0f %s a second one at a time, %.0f when 32 come together\n", r.PerSecondOne, what, r.PerSecondMany)
	if n := r.Faults(); n > 0 {
		a.printf("%s.\n", fmt.Sprintf("%s: the model is not to be used so", plural(n, "thing is wrong", "things are wrong")))
		return
	}
	a.printf("Nothing is wrong.\n")
}
