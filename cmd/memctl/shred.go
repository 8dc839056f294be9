package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// shredFlag adds --shred to a command that purges.
func shredFlag(cmd *cobra.Command, shred *bool) {
	cmd.Flags().BoolVar(shred, "shred", false, "then write the file anew, without the bytes of what was purged")
}

// answerShredding shreds, if that is asked, and answers what the command did before, and what became of the file.
func (a *app) answerShredding(ctx context.Context, e *engine.Engine, shred bool, v any, print func()) error {
	if !shred {
		return a.answer(v, print)
	}
	done, err := e.Shred(ctx)
	if err != nil {
		a.note("What was purged is in no row; `memctl doctor --shred` tries again to remove its bytes.")
		return err
	}
	document, err := withShredded(v, done)
	if err != nil {
		return err
	}
	return a.answer(document, func() {
		print()
		a.printf("The file is written anew: %s, before %s.\n", size(done.BytesAfter), size(done.BytesBefore))
		for _, name := range done.Removed {
			a.printf("Removed %s.\n", name)
		}
	})
}

// withShredded adds to an answer what became of the file.
func withShredded(v any, done *upkeep.Shredded) (map[string]any, error) {
	b, err := json.Marshal(v)
	document := map[string]any{}
	if err == nil {
		err = json.Unmarshal(b, &document)
	}
	document["shredded"] = done
	return document, err
}
