package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/ids"
)

func newSessionListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the transcripts that were read, and how far",
		Long: `List shows every transcript with how far it was read, how many of its lines could not be, and when it last brought something new:
a session that goes on while its last ingest stays old is not being followed.`,
		Example: `  memctl session list
  memctl session list --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), 0, func(e *engine.Engine) error {
				all, err := e.Cursors(cmd.Context())
				if err != nil {
					return err
				}
				return a.answer(orEmpty(all), func() { a.printCursors(all) })
			})
		},
	}
}

func (a *app) printCursors(all []conversation.Cursor) {
	if len(all) == 0 {
		a.note("No transcripts were read yet; `memctl session import` reads them.")
		return
	}
	t := a.table("host", "conversation", "lines", "skipped", "bytes", "read", "last ingest", "path")
	right(t, "lines", "skipped", "bytes")
	for _, c := range all {
		conversation := ""
		if c.ConversationID != "" {
			conversation = ids.Short(c.ConversationID)
		}
		t.AppendRow([]any{c.Host, conversation, c.Lines, c.Skipped, c.Bytes, minute(c.ReadAt), minute(c.IngestedAt), printable(c.Path)})
	}
	t.Render()
}
