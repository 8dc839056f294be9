// Package turn is what a host calls around a turn of talk: Before gives what is known that may matter for what the user says, as a block for the prompt; After
// keeps what was said, notes which memories were of use, and has memories drawn from the talk now and then.
//
// It owns the settings turn:…, one for each session: how many turns it had, and in which of them what was shown, so that nothing is shown twice within a few. They are kept in
// memory, written by After and when the file is closed; of what a crash leaves unwritten only that some memory may be shown again. The setting turns has when memories
// were drawn lately.
//
// It asks recall for memories, memory for what became of them and to note it, conversation to keep what was said, extract to draw memories from it.
//
// What bites: a prompt is another's text, and so are memories: the block is escaped and labelled as data; Turns.mu is taken for no call; a session is one of an agent's, so that
// two agents that name theirs alike share nothing.
package turn

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/setup"
)

// Turns follows the sessions of a file.
type Turns struct {
	file          *duck.File
	index         *index.Index
	memories      *memory.Store
	recaller      *recall.Recaller
	conversations *conversation.Store
	extractor     *extract.Extractor
	opts          setup.Options

	mu       sync.Mutex // innermost, held for no call
	sessions map[string]*session
}

// New gives the turns of a file, and has purges take along what is kept of a conversation's session.
func New(file *duck.File, x *index.Index, memories *memory.Store, recaller *recall.Recaller, talk *conversation.Store, extractor *extract.Extractor, o setup.Options) *Turns {
	t := &Turns{file: file, index: x, memories: memories, recaller: recaller, conversations: talk, extractor: extractor, opts: o, sessions: map[string]*session{}}
	talk.OnPurge(t.purge)
	return t
}

// Turn is what the user says, and for After what came of it.
type Turn struct {
	// Conversation is where After keeps what was said, by name or id; it is made when there is none of the name. Empty: nothing is kept, and nothing drawn
	// from it.
	Conversation string
	// Session is where nothing is shown twice within some turns. Default Conversation; both empty: every turn stands alone.
	Session string
	Agent   string   // on whose behalf; empty: an internal caller
	Scopes  []string // of the memories; nil: all that the agent may read, or without one that whom the session's key names (scope.AgentOf)
	Scope   string   // of a new conversation, and so of what is drawn from it; default as for conversation.AppendRequest
	// Prompt is what the user says, with or without what a host puts around it (text.SkipRecall).
	Prompt string

	// Answer is what the model said to it, and Messages are what After keeps, with keys where it may be called again. Default of Messages: Prompt of the user,
	// and Answer of the assistant.
	Answer   string
	Messages []conversation.Message
	// Used are the memories that were of use, by their whole ids; nil: After looks for that in Answer.
	Used []string
	// Rules has rules draw memories from the talk, also where there is a model.
	Rules bool
}

func (t *Turn) validate() error {
	if len(t.Session) > mostName || len(t.Conversation) > mostName {
		return fault.Invalid("session and conversation", fmt.Sprintf("%d bytes long", max(len(t.Session), len(t.Conversation))), fmt.Sprintf("at most %d", mostName))
	}
	return errors.Join(fault.CheckText("session", t.Session), fault.CheckText("conversation", t.Conversation), fault.CheckText("agent", t.Agent), fault.CheckText("prompt", t.Prompt),
		fault.CheckText("answer", t.Answer), fault.CheckTexts("used", t.Used))
}

// reader is on whose behalf memories are recalled.
func (t *Turn) reader() string {
	if t.Agent == "" && t.Scopes == nil {
		return scope.AgentOf(cmp.Or(t.Session, t.Conversation))
	}
	return t.Agent
}

// mostName is how many bytes the name of a session may have.
const mostName = 1000

// purge takes what is kept of the sessions of a conversation along.
func (t *Turns) purge(ctx context.Context, tx *duck.Write, conversationID string, messages []string) error {
	if messages != nil {
		return nil
	}
	names, err := duck.Column[string](ctx, tx.Conn, "turn_sessions_of", sql.Named("prefix", settingPrefix), sql.Named("conversation_id", conversationID))
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := t.file.DeleteSetting(ctx, tx, name); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, s := range t.sessions {
		if s.ConversationID == conversationID {
			delete(t.sessions, name)
		}
	}
	return nil
}
