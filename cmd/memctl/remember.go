package main

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/memory"
)

func newRememberCommand(a *app) *cobra.Command {
	var r memory.RememberRequest
	var detail *detailFlags
	cmd := &cobra.Command{
		Use:   "remember TEXT…",
		Short: "Store a memory",
		Long: `Remember stores one statement: the arguments as one text, or standard input for "-". When it returns, the memory is on disk.

--key makes it idempotent: a second call with the same key and scope changes nothing and gives the id of the first.
--unique does the same for the same text and scope.

--fact-key names the slot that it fills: the current memory with that key in the scope is superseded by it.`,
		Example: `  memctl remember "Ines is allergic to penicillin" --scope user:ines --category profile --importance 0.9
  memctl remember "Release day is Thursday" --scope project:harbor --key release-day
  memctl remember "Ines uses Helix" --scope user:ines --fact-key preferences:editor
  echo "a longer text" | memctl remember - --l0 "one line for it"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if r.Text, err = a.text(args); err != nil {
				return err
			}
			r.Agent = a.agent
			if err := detail.fill(cmd, &r); err != nil {
				return err
			}
			return a.with(cmd.Context(), canWrite|canEmbed|canCreate, func(e *engine.Engine) error {
				result, err := e.Remember(cmd.Context(), r)
				if err != nil {
					return err
				}
				done := "Remembered as"
				if result.Superseded != "" {
					done = "Remembered in place of " + ids.Short(result.Superseded) + " as"
				}
				return a.printRemembered(result, done)
			})
		},
	}
	detail = newDetailFlags(cmd, &r)
	cmd.Flags().StringVar(&r.Key, "key", "", "your own key, for writes that may be repeated")
	cmd.Flags().BoolVar(&r.Unique, "unique", false, "do nothing when the scope has a memory of the same text")
	return cmd
}

// detailFlags are the flags of a new memory that can't be bound to a request, as it tells zero from absent.
type detailFlags struct{ importance, confidence float64 }

// newDetailFlags gives cmd the flags that describe a new memory.
func newDetailFlags(cmd *cobra.Command, r *memory.RememberRequest) *detailFlags {
	d := detailFlags{importance: 0.7, confidence: 0.7}
	f := cmd.Flags()
	f.StringVar(&r.Scope, "scope", "", "who shares it: global, user:x, project:x, agent:x, custom:x")
	f.StringVar((*string)(&r.Category), "category", "", "profile, preference, entity, event, case or pattern")
	f.StringVar((*string)(&r.Tier), "tier", "", "how slowly it fades: core, working (default) or peripheral")
	f.Var(fractionOf(&d.importance), "importance", "0 to 1")
	f.Var(fractionOf(&d.confidence), "confidence", "0 to 1")
	f.StringVar(&r.L0, "l0", "", "the memory in one line (default the text)")
	f.StringVar(&r.L1, "l1", "", "an overview in Markdown")
	f.StringVar(&r.L2, "l2", "", "the full story (default the text)")
	f.StringVar(&r.Source, "source", "", "where it comes from (default manual)")
	f.StringVar((*string)(&r.Trust), "trust", "", "how far it is to be trusted: stated, extracted, imported or untrusted (default by the source)")
	f.StringArrayVar(&r.Sources, "from", nil, "whole id of a message, summary, memory or import that it came from; repeatable")
	f.StringVar((*string)(&r.State), "state", "", "confirmed (default), pending or archived: recall passes over what is not confirmed")
	f.StringVar((*string)(&r.Layer), "layer", "", "durable, working, reflection or archive (default by source, state and category)")
	f.StringVar(&r.TemporalType, "temporal-type", "", "static (default) or dynamic: it fades three times as fast")
	f.StringVar(&r.SourceSession, "source-session", "", "the session that it was said in")
	f.StringVar(&r.FactKey, "fact-key", "", "the slot it fills, such as preferences:editor, in place of the current memory with that key")
	f.Var(dateOf(&r.CreatedAt), "created-at", "when it was noted (default now)")
	f.Var(dateOf(&r.ValidFrom), "valid-from", "since when it is true (default created-at)")
	f.Var(dateOf(&r.ValidUntil), "valid-until", "when it expires (default never)")
	complete(cmd, "category", memory.Categories())
	complete(cmd, "tier", memory.Tiers())
	complete(cmd, "source", memory.Sources())
	complete(cmd, "trust", memory.Trusts())
	complete(cmd, "state", memory.States())
	complete(cmd, "layer", memory.Layers())
	complete(cmd, "temporal-type", memory.TemporalTypes())
	return &d
}

func (d *detailFlags) fill(cmd *cobra.Command, r *memory.RememberRequest) error {
	r.Importance = given(cmd, "importance", d.importance)
	r.Confidence = given(cmd, "confidence", d.confidence)
	from := r.ValidFrom
	if from.IsZero() {
		from = r.CreatedAt
	}
	return checkExpiry(r.ValidUntil, from)
}

// checkExpiry refuses an end before the beginning: no recall could find such a memory, as of whatever day. Where no beginning is given it is now, and
// what has expired by then may be kept as history.
func checkExpiry(until, from time.Time) error {
	if until.IsZero() || from.IsZero() || !until.Before(from) {
		return nil
	}
	return usage("valid-until is %s; allowed: %s, from which on it is valid, or later", until.Format(time.RFC3339), from.Format(time.RFC3339))
}

// printRemembered says what became of a memory; with --quiet only its whole id, for scripts.
func (a *app) printRemembered(r memory.Remembered, done string) error {
	document := struct {
		ID         string `json:"id"`
		Created    bool   `json:"created"`
		Superseded string `json:"superseded,omitempty"`
		VectorErr  string `json:"vector_error,omitempty"`
	}{ID: r.ID, Created: r.Created, Superseded: r.Superseded, VectorErr: a.withoutVector("memory has", r.VectorErr)}
	return a.answer(document, func() {
		switch {
		case a.quiet:
			a.printf("%s\n", r.ID)
		case !r.Created:
			a.printf("Known already as %s.\n", ids.Short(r.ID))
		default:
			a.printf("%s %s.\n", done, ids.Short(r.ID))
		}
	})
}

// answerStored is answer for a verb that tells why something of what it stored has no vector: a notice says so, or vector_error in the document.
func (a *app) answerStored(document any, what string, err error, person func()) error {
	return a.answer(stored{document, a.withoutVector(what, err)}, person)
}

// stored is a document, an object, and why something of it has no vector.
type stored struct {
	document  any
	vectorErr string
}

// MarshalJSON is the document with one field more.
func (s stored) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(s.document)
	if err != nil || s.vectorErr == "" {
		return b, err
	}
	why, err := json.Marshal(s.vectorErr)
	b = append(bytes.TrimSuffix(b, []byte("}")), `,"vector_error":`...)
	return append(append(b, why...), '}'), err
}

// withoutVector says why what was stored has no vector; nothing where it has one.
func (a *app) withoutVector(what string, err error) string {
	if err == nil {
		return ""
	}
	a.note("The model failed, so the %s no vector until `memctl index rebuild`: %v", what, err)
	return err.Error()
}
