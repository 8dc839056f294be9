package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/memory"
)

func newUpdateCommand(a *app) *cobra.Command {
	var text, l0, l1, l2, scope, category, tier, state, layer, trust, validUntil, factKey string
	var importance, confidence float64
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change a memory in place",
		Long: `Update changes the fields that you name and leaves the others; id and date of creation stay. A new text without levels of
its own is their default too. When something is true that was not true before, use supersede: it keeps the older statement.`,
		Example: `  memctl update k3f9x2ab --tier core --importance 0.95
  memctl update k3f9x2ab --text "Ines is allergic to penicillin and nuts"
  memctl update k3f9x2ab --valid-until never`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.memories, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !changes(cmd) {
				return usage("nothing to change: name at least one field")
			}
			r := memory.UpdateRequest{
				ID: args[0], Agent: a.agent, Text: given(cmd, "text", text), L0: given(cmd, "l0", l0), L1: given(cmd, "l1", l1),
				L2: given(cmd, "l2", l2), Scope: given(cmd, "scope", scope), Category: given(cmd, "category", memory.Category(category)),
				Tier: given(cmd, "tier", memory.Tier(tier)), State: given(cmd, "state", memory.State(state)),
				Layer: given(cmd, "layer", memory.Layer(layer)), Trust: given(cmd, "trust", memory.Trust(trust)), Importance: given(cmd, "importance", importance),
				Confidence: given(cmd, "confidence", confidence), FactKey: given(cmd, "fact-key", factKey),
			}
			if validUntil == "never" {
				r.ValidUntil = new(time.Time)
			} else if validUntil != "" {
				t, err := parseDate(validUntil)
				if err != nil {
					return usage("valid-until is %q; allowed: %s, or never", validUntil, allowedDates)
				}
				r.ValidUntil = &t
			}
			return a.with(cmd.Context(), canWrite|canEmbed, func(e *engine.Engine) error {
				if r.ValidUntil != nil {
					m, err := e.Get(cmd.Context(), memory.GetRequest{ID: r.ID, Agent: r.Agent})
					if err != nil {
						return err
					}
					if err := checkExpiry(*r.ValidUntil, m.ValidFrom); err != nil {
						return err
					}
				}
				m, err := e.Update(cmd.Context(), r)
				if err != nil {
					return err
				}
				document := struct {
					*memory.Memory
					VectorErr string `json:"vector_error,omitempty"`
				}{m.Memory, a.withoutVector("memory has", m.VectorErr)}
				return a.answer(document, func() { a.printf("Updated %s.\n", ids.Short(m.ID)) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&text, "text", "", "what it says")
	f.StringVar(&l0, "l0", "", "the memory in one line")
	f.StringVar(&l1, "l1", "", "an overview in Markdown")
	f.StringVar(&l2, "l2", "", "the full story")
	f.StringVar(&scope, "scope", "", "who shares it")
	f.StringVar(&category, "category", "", "profile, preference, entity, event, case or pattern")
	f.StringVar(&tier, "tier", "", "core, working or peripheral")
	f.StringVar(&state, "state", "", "pending, confirmed or archived")
	f.StringVar(&layer, "layer", "", "durable, working, reflection or archive")
	f.StringVar(&trust, "trust", "", "how far it is to be trusted: stated, extracted, imported or untrusted")
	f.Var(fractionOf(&importance), "importance", "0 to 1; confidence becomes the same unless it is given too")
	f.Var(fractionOf(&confidence), "confidence", "0 to 1")
	f.StringVar(&validUntil, "valid-until", "", "when it expires: a date, or never")
	f.StringVar(&factKey, "fact-key", "", "the slot that a newer memory would replace")
	complete(cmd, "category", memory.Categories())
	complete(cmd, "tier", memory.Tiers())
	complete(cmd, "state", memory.States())
	complete(cmd, "layer", memory.Layers())
	complete(cmd, "trust", memory.Trusts())
	return cmd
}

// changes reports whether a flag of the command itself was used.
func changes(cmd *cobra.Command) (any bool) {
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { any = any || f.Changed })
	return any
}
