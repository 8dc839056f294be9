package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/bench"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
)

func newBenchLocomoCommand(a *app) *cobra.Command {
	var c bench.LocomoConfig
	var save string
	var sets, reranks []string
	var ablate, folds bool
	cmd := &cobra.Command{
		Use:   "locomo --data FILE[,FILE…] [--ablate [SIGNAL…]]",
		Short: "Measure how well questions about long conversations are answered",
		Long: `Locomo reads a file in the format of the LoCoMo data set, appends its conversations, asks their questions and compares the turns
that are recalled with the evidence. Questions without usable evidence are not scored.

any@k: at least one piece of evidence is among the first k turns or sessions; all@k: every one is; recall@10: the share of them;
MRR@10: one over the rank of the first. A session ranks where its first turn does. In JSON all of them are 0 to 1.

Several files, each in a store of its own, make one table: a row for each, and their mean, to which each adds the same.

Times are of --queries recalls one after another, with the default limit, each within its conversation (recall_ms) and across
all of them (recall_all_ms). The resident index answers, and is waited for; with --by-sql the file's SQL does. --scale stores
every conversation so many times, under other names and ids; the questions that are scored are about the first copy. Of
several files, or sets of weights, no times are taken.

--weights is memory, transcript (the default) or a JSON file; what the file leaves out is as in transcript. Several sets are
compared with the first: differences with a 95 % interval by paired bootstrap. --ablate compares the set with itself without one
signal at a time: those that are named, each a weight or several joined by +, or else all that it has. --folds leaves out one
conversation at a time and measures on it the set that is best on the others. JSON has the categories of comparisons too.

--rerank compares each set with itself reranked in another way: features, light, none, or a reranker as memctl recall takes it, one at most. Of these times are
taken, of the same questions in turn. What is reranked are ten hits, from twenty texts, as a user gets them; what stands behind is as it was fused.`,
		Example: `  memctl bench locomo --data locomo10.json
  memctl bench locomo --data locomo10.json --model none --save answers.jsonl
  memctl bench locomo --data locomo10.json --scale 37 --json
  memctl bench locomo --data locomo10.json,realtalk.json,beam.json
  memctl bench locomo --data locomo10.json --ablate vector lexical
  memctl bench locomo --data locomo10.json --folds --weights transcript,mine.json
  memctl bench locomo --data locomo10.json --rerank light,features`,
		Args: func(cmd *cobra.Command, args []string) error {
			if ablate {
				return nil
			}
			return cobra.NoArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, signals []string) (err error) {
			if len(c.Data) == 0 {
				return usage("--data is missing: a file in the format of LoCoMo")
			}
			if c.Sets, err = a.benchWeights(sets); err != nil {
				return err
			}
			if ablate {
				if len(c.Sets) != 1 {
					return usage("--weights names %d sets; allowed with --ablate: one", len(c.Sets))
				}
				if c.Sets, err = bench.Ablations(c.Sets[0], signals); err != nil {
					return err
				}
			}
			if save != "" && (folds || len(c.Sets) > 1 || len(c.Data) > 1) {
				return usage("--save %s; allowed with one set of weights and one file", save)
			}
			ways, model, err := a.benchReranks(reranks)
			if err != nil {
				return err
			}
			defer model.Close()
			c.Sets, c.Reranker, c.Timed = bench.Reranked(c.Sets, ways), model.Reranker, ways != nil
			return a.measure(func(model setup.Embedder, progress func(string, int, int)) (_ figures, err error) {
				c.Embedder, c.Related, c.Progress = model, relatedWords, progress
				if save != "" {
					var out *os.File
					if out, err = os.Create(save); err != nil {
						return nil, err
					}
					defer func() { err = errors.Join(err, out.Close()) }()
					c.Save = out
				}
				return runBenchLocomo(cmd.Context(), c, folds)
			})
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&c.Data, "data", nil, "files with conversations and their questions")
	f.StringVar(&save, "save", "", "write how each question was answered to this file, as JSON Lines")
	f.IntVar(&c.Scale, "scale", 1, "how often every conversation is stored, 1 to 1000")
	f.IntVar(&c.Queries, "queries", 200, "recalls of each sort that are timed, at most one per question")
	f.BoolVar(&c.BySQL, "by-sql", false, "find by the file's SQL, without the resident index")
	f.StringSliceVar(&sets, "weights", []string{"transcript"}, "sets of weights, by name or as JSON files")
	f.BoolVar(&ablate, "ablate", false, "compare with the weights without one signal at a time")
	f.BoolVar(&folds, "folds", false, "choose among the weights on all conversations but one, and measure on that one")
	f.StringSliceVar(&reranks, "rerank", nil, "compare with this rerank: features, light, none, or a reranker; repeatable")
	cmd.MarkFlagsMutuallyExclusive("ablate", "folds")
	cmd.MarkFlagsMutuallyExclusive("ablate", "rerank")
	complete(cmd, "weights", []string{"memory", "transcript"})
	return cmd
}

// benchWeights reads the sets that --weights names.
func (a *app) benchWeights(names []string) (sets []bench.WeightSet, err error) {
	for _, name := range names {
		set := bench.WeightSet{Name: strings.TrimSuffix(filepath.Base(name), ".json"), Weights: recall.TranscriptWeights()}
		switch {
		case strings.HasSuffix(name, ".json"):
			err = a.readJSON(name, &set.Weights)
		case name == "memory":
			set.Weights = recall.MemoryWeights()
		case name != "transcript":
			err = usage("weights %q; allowed: memory, transcript or a .json file", name)
		}
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// benchReranks gives the ways to rerank that --rerank names, and the model that one of them may name.
func (a *app) benchReranks(names []string) (ways []bench.NamedRerank, model reranker, err error) {
	for _, name := range names {
		way := bench.NamedRerank{Name: name, Rerank: recall.Rerank(name)}
		if !slices.Contains(rerankWords, way.Rerank) {
			if model.Reranker != nil {
				return nil, model, errors.Join(usage("rerank %q beside %s; allowed: one reranker", name, model.Model()), model.Close())
			}
			if model, err = a.openReranker(name); err != nil {
				return nil, model, err
			}
			way = bench.NamedRerank{Name: model.Model(), Rerank: recall.ModelRerank}
		}
		ways = append(ways, way)
	}
	return ways, model, nil
}

// runBenchLocomo runs the bench that the sets of weights call for.
func runBenchLocomo(ctx context.Context, c bench.LocomoConfig, folds bool) (figures, error) {
	switch {
	case folds:
		return bench.RunFolds(ctx, c)
	case len(c.Sets) > 1 || len(c.Data) > 1:
		return bench.RunComparison(ctx, c)
	}
	return bench.RunLocomo(ctx, c)
}
