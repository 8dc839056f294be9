package main

import (
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/ids"
)

func newAppendCommand(a *app) *cobra.Command {
	var r conversation.AppendRequest
	var m conversation.Message
	cmd := &cobra.Command{
		Use:   "append CONVERSATION TEXT…",
		Short: "Add a message to a conversation",
		Long: `Append adds one message to the end of a conversation, which is made when there is none of that name. TEXT is the arguments as
one text, or standard input for "-". With --key, a message that the conversation has already is left out. Many messages at
once come in with import --messages.`,
		Example: `  memctl append standup "The gale took two cranes out of service" --speaker Ines --time 2026-03-24T09:10:00Z
  memctl append standup "Noted. Shall I move the Aldebaran?" --role assistant --speaker Scout`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if m.Text, err = a.text(args[1:]); err != nil {
				return err
			}
			r.Conversation, r.Agent, r.Messages = args[0], a.agent, []conversation.Message{m}
			return a.with(cmd.Context(), canWrite|canEmbed|canCreate|canExplore, func(e *engine.Engine) error {
				result, err := e.Append(cmd.Context(), r)
				if err != nil {
					return err
				}
				return a.printAppended(result)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Scope, "scope", "", "who shares a new conversation: global, user:x, project:x, agent:x, custom:x")
	f.StringVar(&m.Role, "role", "user", "user, assistant, system or tool")
	f.StringVar(&m.Speaker, "speaker", "", "who said it")
	f.StringVar(&m.Session, "session", "", "the session it was said in")
	f.StringVar(&m.Caption, "caption", "", "what a picture that came with it shows")
	f.StringVar(&m.Key, "key", "", "your own key, for writes that may be repeated")
	f.StringVar(&m.ReplyTo, "reply-to", "", "the message that it answers: its id or its key")
	f.StringVar(&m.SourceKind, "source-kind", "", "what brought it about, in a word such as email or scheduled")
	f.BoolVar(&m.Withheld, "withheld", false, "keep it from models")
	f.Var(dateOf(&m.SaidAt), "time", "when it was said (default now)")
	complete(cmd, "role", conversation.Roles())
	return cmd
}

func (a *app) printAppended(r *conversation.Appended) error {
	document := struct {
		ConversationID string   `json:"conversation_id"`
		IDs            []string `json:"ids"`
		Added          int      `json:"added"`
		Skipped        string   `json:"skipped,omitempty"`
		VectorErr      string   `json:"vector_error,omitempty"`
	}{ConversationID: r.ConversationID, IDs: orEmpty(r.IDs), Added: r.Added, Skipped: r.Skipped,
		VectorErr: a.withoutVector("message has", r.VectorErr)}
	return a.answer(document, func() {
		if r.Skipped != "" {
			a.printf("Nothing was stored: %s.\n", r.Skipped)
		}
		for _, id := range r.IDs {
			switch {
			case a.quiet:
				a.printf("%s\n", id)
			case r.Added == 0:
				a.printf("Known already as %s.\n", ids.Short(id))
			default:
				a.printf("Appended %s.\n", ids.Short(id))
			}
		}
	})
}
