package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/ids"
)

func newContextCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "context",
		Short: "Build the context of a model's next call, explain it, and compare it with earlier ones",
		Long: `Context builds what a model is shown at its next call: what was said, what stands for it, what is remembered and what is said now, as a preset says: lcm, takobot, openboa,
goclaw, istota, or one of your own in the configuration file or --presets. Each context has a hash that the same file and preset give again; --snapshot keeps it, by ids
and hashes alone, so that it can be verified and compared. SNAPSHOT is the id of one that was kept, or its ending of six characters or more.`,
		Example: `  memctl context build standup --preset takobot --input "when does the crane come back?"
  memctl context explain standup --preset openboa --budget 4000`,
	}
	cmd.AddCommand(newContextBuildCommand(a), newContextExplainCommand(a), newContextVerifyCommand(a), newContextDiffCommand(a), newContextPruneCommand(a), newContextPresetsCommand(a))
	return cmd
}

// contextFlags are the flags that building and explaining have, and what they stand for.
type contextFlags struct {
	request       build.Request
	file          string
	texts, files  []string
	criteria      []string
	focus         float64
	input, prompt string
}

func (c *contextFlags) add(a *app, cmd *cobra.Command) {
	f, r := cmd.Flags(), &c.request
	f.StringVar(&r.Preset, "preset", build.DefaultPreset, "the preset by its name (memctl context presets)")
	f.StringVar(&c.file, "presets", "", "a file with presets of your own, beside those of the configuration file")
	f.IntVar(&r.Budget, "budget", 0, "in what the preset counts (default the preset's)")
	f.StringVar(&c.input, "input", "", `what is said now; "-": standard input`)
	f.StringVar(&r.InputID, "input-id", "", "the message that is said now, where it is stored already, by its id or key")
	f.StringVar(&r.ReplyTo, "reply-to", "", "the message that is answered, by its id or key")
	f.StringVar(&r.Quote, "quote", "", "what is quoted of it")
	f.StringVar(&r.Cursor, "cursor", "", "the message that the reader saw last, by its id or key")
	f.StringVar(&r.State, "state", "", "of the agent: what is pending, how its last run ended")
	f.StringArrayVar(&c.texts, "text", nil, "SECTION=TEXT: what the host says in a section; repeatable")
	f.StringArrayVar(&c.files, "file", nil, "SECTION=PATH: an excerpt of a file in a section; repeatable")
	f.StringVar(&r.Outcome.Title, "outcome", "", "what the agent works toward, for the hints of a preset")
	f.StringArrayVar(&c.criteria, "criterion", nil, "by which that is judged; repeatable")
	f.Float64Var(&c.focus, "focus", 0.5, "how focused the agent is, 0 to 1")
	f.StringVar(&r.Query, "query", "", "what is recalled for (default what is said now)")
	f.StringSliceVar(&r.Scopes, "scope", nil, "recall only memories of these scopes; repeatable")
	f.StringVar(&r.Timezone, "timezone", "", "of the times that are shown, such as Europe/Berlin (default the preset's)")
	f.StringVar(&r.Turn, "turn", "", "your own name of the turn, for the snapshot")
	f.BoolVar(&r.Snapshot, "snapshot", false, "keep it, by ids and hashes")
	f.BoolVar(&r.Strict, "strict", false, "fail where what must be shown is over the budget")
	f.StringVar(&c.prompt, "prompt", "", "with lcm: choose by how well it is answered")
	a.completeFlag(cmd, "preset", a.presetNames)
}

// build builds the context that the flags ask for.
func (c *contextFlags) build(a *app, cmd *cobra.Command, args []string) (*build.Built, error) {
	r := c.request
	var err error
	if r.Own, err = a.presets(c.file); err != nil {
		return nil, err
	}
	if err := notZero(cmd, "budget"); err != nil {
		return nil, err
	}
	if r.Input = c.input; c.input == "-" {
		if r.Input, err = a.text([]string{"-"}); err != nil {
			return nil, err
		}
	}
	if cmd.Flags().Changed("focus") {
		r.Focus = &c.focus
	}
	r.Conversation, r.Agent, r.Prompt, r.Outcome.Criteria = args[0], a.agent, c.prompt, c.criteria
	r.Texts = map[string]string{}
	for _, pair := range c.texts {
		section, text, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, usage("text is %q; allowed: SECTION=TEXT", pair)
		}
		r.Texts[section] = text
	}
	for _, pair := range c.files {
		section, path, ok := strings.Cut(pair, "=")
		if !ok || path == "" {
			return nil, usage("file is %q; allowed: SECTION=PATH", pair)
		}
		r.Files = append(r.Files, build.File{Section: section, Path: path})
	}
	need := canEmbed | canAsk
	all := append(slices.Clone(r.Own), build.Presets()...)
	if i := slices.IndexFunc(all, func(p build.Preset) bool { return p.Name == r.Preset }); r.Snapshot || i >= 0 && all[i].Snapshot == "always" {
		need |= canWrite
	}
	var b *build.Built
	err = a.with(cmd.Context(), need, func(e *engine.Engine) (err error) {
		b, err = e.Build(cmd.Context(), r)
		return err
	})
	return b, err
}

// presets are those of the configuration file and of another.
func (a *app) presets(file string) (all []build.Preset, err error) {
	c, err := loadConfig(a.config)
	if err != nil {
		return nil, err
	}
	if file == "" {
		return c.presets, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usageError{err}
	}
	own, err := build.ReadPresets(string(text))
	if err != nil {
		return nil, usage("%s: %w", file, err)
	}
	return append(own, c.presets...), nil
}

// presetNames are offered by a shell.
func (a *app) presetNames(context.Context, *engine.Engine) (names []string, err error) {
	own, err := a.presets("")
	for _, p := range append(own, build.Presets()...) {
		names = append(names, p.Name)
	}
	return names, err
}

func newContextBuildCommand(a *app) *cobra.Command {
	var c contextFlags
	as := textShape
	cmd := &cobra.Command{
		Use:   "build NAME",
		Short: "Print the context of a model's next call",
		Long: `Build prints the context of a conversation as plain text, section by section, or with --as as the messages that a provider takes. With --json in place of --as everything is
printed: each item that was considered with the reason why it is shown or not, counts, what had to give way, how much room is left, the hash.`,
		Example: `  memctl context build standup --preset takobot --input "when does the crane come back?" --file soul=SOUL.md
  memctl context build standup --preset istota --input-id msg_01k4x7… --as anthropic`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if as != textShape && as != openAIShape && as != anthropicShape {
				return usage("as is %q; allowed: text, openai, anthropic", string(as))
			}
			b, err := c.build(a, cmd, args)
			if err != nil {
				return err
			}
			switch as {
			case openAIShape:
				return a.printJSON(b.OpenAI())
			case anthropicShape:
				system, messages := b.Anthropic()
				return a.printJSON(map[string]any{"system": system, "messages": messages})
			}
			return a.answer(b, func() {
				a.printf("%s\n", printable(b.Text()))
				a.noteBuilt(b)
			})
		},
	}
	c.add(a, cmd)
	cmd.Flags().StringVar((*string)(&as), "as", string(as), "text, openai or anthropic")
	complete(cmd, "as", []shape{textShape, openAIShape, anthropicShape})
	return cmd
}

// noteBuilt says of a context what its text does not.
func (a *app) noteBuilt(b *build.Built) {
	for _, notice := range b.Notices {
		a.note("Note: %s.", notice)
	}
	unit := "tokens"
	if b.Config.Budget.Estimator == "chars" {
		unit = "characters"
	}
	budget := "no budget"
	if b.Counts.Budget > 0 {
		budget = fmt.Sprintf("a budget of %d", b.Counts.Budget)
		if b.Config.Budget.Of == build.OfHistory {
			budget += " for the history"
		}
	}
	a.note("%s by %s: %s, %d left out; %d %s, %s. %s", b.Hash, b.Preset, plural(b.Counts.Messages, "message", "messages"), b.Counts.MessagesLeft, b.Counts.Cost, unit, budget, pressed(b))
	if b.SnapshotID != "" {
		a.note("Kept as %s.", ids.Short(b.SnapshotID))
	}
}

func pressed(b *build.Built) string {
	text := "Pressure is " + b.Pressure.Level
	if len(b.Pressure.Reasons) > 0 {
		text += ": " + strings.Join(b.Pressure.Reasons, ", ")
	}
	if b.Trim.Note != "" {
		text += " (" + b.Trim.Note + ")"
	}
	return text + "."
}

func newContextExplainCommand(a *app) *cobra.Command {
	var c contextFlags
	cmd := &cobra.Command{
		Use:   "explain NAME",
		Short: "Print what is in a context, what is not, and why",
		Long: `Explain builds the same context as build and prints it as a table: each message, summary, memory and text that was considered, whether it is shown, why, and what it costs; below,
of what hints point at, the score, how many pieces of evidence there are, and what counted how much. What lies before the oldest message that was looked at is only counted.`,
		Example: `  memctl context explain standup --preset openboa --budget 2000 --input "when does the crane come back?"
  memctl context explain standup --preset istota --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.conversations, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := c.build(a, cmd, args)
			if err != nil {
				return err
			}
			return a.answer(b, func() { a.printExplained(b) })
		},
	}
	c.add(a, cmd)
	return cmd
}

func (a *app) printExplained(b *build.Built) {
	t := a.table("section", "what", "whose", "shown", "why", "cost", "text")
	right(t, "cost")
	var evidence []string
	for _, it := range b.Items {
		shown := "no"
		if it.Kept {
			shown = "yes"
		}
		what := it.Kind
		if it.Kind == "memory" {
			what += " " + ids.Short(it.ID)
		} else if it.ID != "" {
			what += " " + it.Name
		}
		if e := it.Evidence; e != nil {
			evidence = append(evidence, fmt.Sprintf("%s: score %d of %s, confidence %s: %s", what, e.Score, plural(e.Pieces, "piece", "pieces"), e.Confidence, strings.Join(e.Why, ", ")))
		}
		t.AppendRow([]any{it.Section, what, it.Role, shown, it.Reason, it.Cost, line(it.Text, a.width()-80)})
	}
	t.Render()
	for _, e := range evidence {
		a.printf("%s\n", printable(e))
	}
	if b.Counts.Earlier > 0 {
		a.note("%s before these were not looked at.", plural(b.Counts.Earlier, "message", "messages"))
	}
	if s := b.Selection; s != nil {
		a.note("Selection by %s: %s, %d of %d older ones.", s.By, s.Outcome, len(s.Chosen), s.Asked)
	}
	if b.Recall.Status != build.RecallOff {
		a.note("Recall: %s, %s of at most %d.", b.Recall.Status, plural(b.Recall.Hits, "hit", "hits"), b.Recall.Limit)
	}
	a.noteBuilt(b)
}
