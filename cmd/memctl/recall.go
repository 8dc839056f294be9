package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/share"
)

func newRecallCommand(a *app) *cobra.Command {
	var q recall.Query
	var weights, rerank string
	var prompt, trace bool
	cmd := &cobra.Command{
		Use:   "recall QUERY…",
		Short: "Find what answers a question",
		Long: `Recall finds memories, or messages with --kind message, summaries with --kind summary, or lines of Markdown files with --kind note, best first: by words and by meaning
where there is a model. What has no word of the question, and means no more like it than random text does, is no hit. Finding nothing is no
failure. --min-confidence asks for more than that: of hits with a confidence of 0.5 about half are right. --min-score does too; scores are comparable from
question to question for memories, for messages within one answer.

--explain says why each hit is one: its words and how rare they are, who said it and when, what stands around it, and a bar for each
signal's share in the score. --why-not says what kept a document out, and at which stage. --trace shows all of it in numbers: the
signals, what was dropped where, and how long each stage took.
--lift session shows one hit for each session of the messages found, --lift summary the summaries above them.
--prompt prints one escaped block for a model's prompt instead, without what is hardly likely to be right.
--where, --role and --speaker say whose metadata, and which messages.
--rerank says who looks at the best hits once more. features: how the words of the question stand in each text, its names and date, and what stands around it, by the
weights feature_…; light: the plain cosine; none: nobody. Or a cross-encoder: its folder, its name under $MEMCTL_MODELS, onnx:FOLDER or hugot:FOLDER for what is to
run it, onnx or hugot alone for the folder of the configuration, and remote for the server of the configuration. Where [reranker] is configured, that is asked by default.
--weights is the name of a set (memctl weights list) or a JSON file; what the file leaves out is as in the default set.`,
		Example: `  memctl recall "what is Ines allergic to?" --scope user:ines
  memctl recall "what broke in the gale" --kind message --conversation standup --explain
  memctl recall "release day" --where ticket=HB-455
  memctl recall "what hurt the dog" --kind message --role user --speaker Ines
  memctl recall "release day" --why-not 7h4k2m9q
  memctl recall "release day" --min-score 0.4
  memctl recall "release day" --min-confidence 0.2
  memctl recall "release day" --as-of 2026-05-01
  memctl recall "where did the crane stand" --kind message --lift summary
  memctl recall "release day" --rerank features --explain
  memctl recall "release day" --rerank models/ms-marco-MiniLM-L-6-v2
  memctl recall "release day" --prompt --limit 5`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if q.Text, err = a.text(args); err != nil {
				return err
			}
			if q.Limit == 0 {
				return usage("limit is 0; allowed: 1 to 1000")
			}
			if err := a.chooseWeights(weights, &q); err != nil {
				return err
			}
			q.Agent = a.agent
			explain := q.Explain
			q.Explain = explain || trace
			how := canEmbed
			if q.Mode == recall.LexicalMode {
				how = 0
			}
			var o engine.Options
			switch {
			case rerank == "":
				c, err := loadConfig(a.config)
				if err != nil {
					return err
				}
				if c.Reranker.named() {
					how, q.Rerank = how|canRerank, recall.ModelRerank
				}
			case slices.Contains(rerankWords, recall.Rerank(rerank)):
				q.Rerank = recall.Rerank(rerank)
			default:
				model, err := a.openReranker(rerank)
				if err != nil {
					return err
				}
				defer model.Close()
				o.Reranker, q.Rerank = model.Reranker, recall.ModelRerank
			}
			return a.askingWith(cmd.Context(), how, o, func(r *share.Reader) error {
				result, err := share.Recall.Do(cmd.Context(), r, q)
				if err != nil {
					return err
				}
				if prompt {
					least := recall.PromptConfidence
					if cmd.Flags().Changed("min-confidence") {
						least = q.MinConfidence
					}
					block := result.PromptFrom(least)
					return a.answer(map[string]string{"prompt": block}, func() { a.printPrompt(block, result, least) })
				}
				result.Hits = orEmpty(result.Hits)
				return a.answer(result, func() { a.printRecall(result, q, explain, trace) })
			})
		},
	}
	f := cmd.Flags()
	f.Var(wordsOf(&q.Kinds), "kind", "memory (default), message, summary or note; repeatable")
	f.Var(wordsOf(&q.Scopes), "scope", "only these scopes; repeatable")
	f.StringArrayVar(&q.Conversations, "conversation", nil, "only this conversation, by name or id; repeatable")
	f.Var(wordsOf(&q.Categories), "category", "only these categories; repeatable")
	f.Var(wordsOf(&q.Tiers), "tier", "only these tiers; repeatable")
	f.Var(wordsOf(&q.States), "state", "only memories of these states, pending and archived ones too; repeatable (default confirmed)")
	f.Var(wordsOf(&q.Layers), "layer", "only memories of these layers; repeatable (default all but archive)")
	f.Var(pairsOf(&q.Where), "where", "only memories with this metadata, as KEY=VALUE; repeatable: all of it")
	f.Var(wordsOf(&q.Sources), "source", "only memories of these sources, such as manual or auto-capture; repeatable")
	f.Var(wordsOf(&q.Trust), "trust", "only memories of this trust: stated, extracted, imported, untrusted; repeatable")
	f.Var(wordsOf(&q.Roles), "role", "only messages of these roles: user, assistant, system, tool; repeatable")
	f.StringArrayVar(&q.Speakers, "speaker", nil, "only messages said by this speaker, in any case of letters; repeatable")
	f.Var(wordsOf(&q.SourceKinds), "source-kind", "only messages that this brought about, such as web, cron or talk; repeatable")
	f.Var(wordsOf(&q.NotSourceKinds), "not-source-kind", "no messages that this brought about; repeatable")
	f.StringVar(&q.RelatedTo, "related-to", "", "count what is related to this memory, in place of what is related to the candidates; with weights that have relation")
	f.Var(dateOf(&q.Since), "since", "noted or said from then on")
	f.Var(dateOf(&q.Until), "until", "noted or said before")
	momentFlags(cmd, &q.AsOf, &q.KnownAt)
	f.IntVar(&q.Limit, "limit", 10, "at most so many, 1 to 1000")
	f.Var(fractionOf(&q.MinScore), "min-score", "only hits of this score or more, 0 to 1")
	f.Var(fractionOf(&q.MinConfidence), "min-confidence", "only hits that are right with this likelihood or more, 0 to 1 (0.02 with --prompt)")
	f.StringVar((*string)(&q.Mode), "mode", "", "hybrid (default with a model), vector or lexical")
	f.StringVar((*string)(&q.Level), "level", string(memory.Abstract), "how much of each text: l0, l1 or full")
	f.StringVar(&weights, "weights", "", "a set of weights, by name or as a JSON file")
	f.StringVar(&rerank, "rerank", "", "who looks at the best once more: features, light, none, onnx, hugot, remote, or the folder or name of a cross-encoder (default as configured, else as the weights say)")
	f.BoolVar(&q.Expand, "expand", false, "look for synonyms too")
	f.BoolVar(&q.Adaptive, "adaptive", false, "skip the recall when the text asks for nothing, such as a greeting")
	f.StringVar((*string)(&q.Lift), "lift", "", "show messages as what is above them: session or summary")
	f.BoolVar(&q.Explain, "explain", false, "say why each hit is one")
	f.StringVar(&q.WhyNot, "why-not", "", "say what kept this memory or message out, by its id or the ending of it")
	f.BoolVar(&trace, "trace", false, "show the ranking in numbers, stage by stage")
	f.BoolVar(&prompt, "prompt", false, "print a block for a model's prompt")
	cmd.MarkFlagsMutuallyExclusive("explain", "prompt")
	cmd.MarkFlagsMutuallyExclusive("why-not", "prompt")
	cmd.MarkFlagsMutuallyExclusive("trace", "prompt")
	complete(cmd, "kind", kinds.All())
	complete(cmd, "category", memory.Categories())
	complete(cmd, "source", memory.Sources())
	complete(cmd, "trust", memory.Trusts())
	complete(cmd, "tier", memory.Tiers())
	complete(cmd, "state", memory.States())
	complete(cmd, "layer", memory.Layers())
	complete(cmd, "role", kinds.Roles())
	complete(cmd, "mode", recall.Modes())
	complete(cmd, "rerank", rerankWords)
	complete(cmd, "level", memory.Levels())
	complete(cmd, "lift", recall.Lifts())
	a.completeFlag(cmd, "weights", a.weightSets)
	return cmd
}

// chooseWeights fills in the set that a query names, or the weights of a file.
func (a *app) chooseWeights(name string, q *recall.Query) error {
	if !isFile(name) {
		q.WeightSet = name
		return nil
	}
	w := recall.MemoryWeights()
	if len(q.Kinds) == 1 && q.Kinds[0] == kinds.Message {
		w = recall.TranscriptWeights()
	}
	if len(q.Kinds) == 1 && q.Kinds[0] == kinds.Note {
		w = recall.NoteWeights()
	}
	q.Weights = &w
	return a.readJSON(name, &w)
}

// printPrompt prints a block for a prompt, or why there is none.
func (a *app) printPrompt(block string, r *recall.Result, least float64) {
	if a.printf("%s", block); block == "" && len(r.Hits) > 0 {
		a.note("Nothing found: no hit has a confidence of %g; --min-confidence 0 prints all.", least)
	}
}

func (a *app) printRecall(r *recall.Result, q recall.Query, explain, trace bool) {
	for _, notice := range r.Notices {
		a.note("Note: %s.", notice)
	}
	switch {
	case r.Skipped:
		a.note("The text asks for nothing, so nothing was recalled.")
	case explain || trace || q.WhyNot != "":
		a.printReasons(r, explain, trace)
	case len(r.Hits) == 0 && len(r.Trace.Drops) > 0:
		a.note("Nothing found: %s. --explain shows what came near.", whyNothing(r.Trace.Drops[len(r.Trace.Drops)-1].Stage, q.MinScore))
	case len(r.Hits) == 0:
		a.note("Nothing found.")
	case q.Level == memory.Abstract:
		a.printHits(r.Hits)
	default:
		for i, h := range r.Hits {
			a.printf("%d  %.3f  %s  %s  %s\n%s", i+1, h.Score, ids.Short(h.ID), day(h.CreatedAt), printable(from(h)), indent(h.Text, "   ", a.width()))
		}
	}
}

// whyNothing says what the stage that left nothing wants.
func whyNothing(stage string, minScore float64) string {
	switch {
	case stage == "chance":
		return "nothing has a word of the question, or is nearer to it in meaning than any text is"
	case stage == "hard_min_score" && minScore > 0: // the higher of the two is what counted
		return "nothing scores as much as --min-score, or hard_min_score of the weights"
	case stage == "min_score" || stage == "hard_min_score":
		return "nothing scores as much as " + stage + " of the weights"
	case stage == "min_confidence":
		return "nothing is as likely to be right as --min-confidence"
	case stage == "expired":
		return "what fits has expired"
	case stage == "noise":
		return "what fits is small talk"
	}
	return "all that fits was dropped at " + stage
}

// printReasons shows what was asked of the ranking, in place of a list of hits.
func (a *app) printReasons(r *recall.Result, explain, trace bool) {
	if explain {
		a.printExplanation(r)
	}
	if r.WhyNot != nil {
		a.apart(explain)
		a.printWhyNot(r)
	}
	if trace {
		a.apart(explain || r.WhyNot != nil)
		a.printTables(r)
	}
}

// apart leaves a line free after what was printed before.
func (a *app) apart(printed bool) {
	if printed {
		a.printf("\n")
	}
}

func (a *app) printHits(hits []recall.Hit) {
	t := a.table("", "score", "id", "date", "from", "text")
	used := 0
	for _, h := range hits {
		used = max(used, len(from(h)))
	}
	for i, h := range hits {
		text := line(h.Shown(), a.width()-used-38)
		if h.Lifted != nil && len(h.Lifted.From) > 0 {
			text = line(fmt.Sprintf("[%s of %d–%d] %s", plural(len(h.Lifted.From), "message", "messages"), h.Lifted.FirstSeq, h.Lifted.LastSeq, h.Shown()), a.width()-used-38)
		}
		t.AppendRow([]any{i + 1, number(&h.Score, 3), ids.Short(h.ID), day(h.CreatedAt), printable(from(h)), text})
	}
	t.Render()
}

// from says where a hit is from: a memory's scope, who said a message, or the lines of a note.
func from(h recall.Hit) string {
	switch h.Kind {
	case kinds.Message:
		return byline(h.Speaker, h.Role)
	case kinds.Note:
		return place(h.Path, h.FirstLine, h.LastLine)
	}
	return h.Scope
}
