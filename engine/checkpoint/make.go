package checkpoint

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/chain"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/prompts"
	"github.com/mallardmem/mallard/engine/text/extract"
	"github.com/mallardmem/mallard/engine/window"
)

// Request asks for a checkpoint of a conversation.
type Request struct {
	Conversation string // name or id; or as a host does:
	SessionKey   string
	SessionID    string
	Agent        string // empty: an internal caller
	// Budget is what the model's context holds, in tokens; 0: unknown, and no threshold says anything.
	Budget int
	// Live is how many tokens the host saw in its prompt; 0: what the provider counted last, if that is stored, or what the context has.
	Live         int
	Instructions string // for the model, beside those of the options
}

func (r Request) of() conversation.Reference {
	return conversation.Reference{Name: r.Conversation, Key: r.SessionKey, Session: r.SessionID}
}

func (r Request) validate() error {
	const most = 1 << 30
	switch {
	case r.Budget < 0 || r.Budget > most:
		return fault.Invalid("budget", r.Budget, fmt.Sprintf("0 to %d: what the model's context holds, in tokens", most))
	case r.Live < 0 || r.Live > most:
		return fault.Invalid("live", r.Live, fmt.Sprintf("0 to %d tokens", most))
	}
	return fault.CheckText("instructions", r.Instructions)
}

// Made is what became of a Request.
type Made struct {
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"` // nil: none was made
	Reason     string      `json:"reason"`               // why it was made, or not, in words for a person
	Tokens     int         `json:"tokens"`               // of the context
	Calls      int         `json:"calls"`                // of models
}

// Why no checkpoint was made.
const (
	reasonOff     = "checkpoints are off"
	reasonNotDue  = "none is due"
	reasonBusy    = "one is being made"
	reasonNothing = "nothing was said since the last one"
	reasonEmpty   = "there is nothing to say anything of"
	reasonAsked   = "asked for"
)

// Maybe makes a checkpoint if one is due: when the context reaches one of setup.Rolling.CheckpointThresholds that no checkpoint has covered since it was last compacted,
// or the user has said CheckpointTurns messages since the last one; never below CheckpointMinTokens. It waits for the model, up to CheckpointDeadline; hosts
// call it beside the talk. Errors: as those of Make.
func (cs *Checkpoints) Maybe(ctx context.Context, r Request) (*Made, error) {
	m, err := cs.make(ctx, r, true)
	if err != nil {
		return m, fmt.Errorf("maybe checkpoint: %w", err)
	}
	return m, nil
}

// Make makes a checkpoint now, of everything in the context. Models are asked one after the other; without any the sentences that tell most are its summary, and its
// lists are empty. When they fail nothing is stored. One of a conversation is made at a time: while it is, another call makes none. Errors: ErrNotFound,
// ErrInvalid, ErrScopeDenied, and those of the models.
func (cs *Checkpoints) Make(ctx context.Context, r Request) (*Made, error) {
	m, err := cs.make(ctx, r, false)
	if err != nil {
		return m, fmt.Errorf("checkpoint: %w", err)
	}
	return m, nil
}

func (cs *Checkpoints) make(ctx context.Context, r Request, ifDue bool) (m *Made, err error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	m = &Made{Reason: reasonOff}
	if ifDue && !*cs.opts.Rolling.Checkpoints {
		return m, nil
	}
	if cs.opts.ReadOnly {
		return nil, fault.ErrReadOnly
	}
	var v *conversation.Conversation
	var k *Checkpoint
	var in material
	err = cs.file.Read(ctx, "checkpoint", func(c *duck.Conn) error {
		if v, err = cs.talk.Writable(ctx, c, r.of(), r.Agent); err != nil {
			return err
		}
		if m.Tokens, err = conversation.Fullness(ctx, c, v, r.Live); err != nil {
			return err
		}
		if k, m.Reason, err = cs.due(ctx, c, v, r, m.Tokens, ifDue); err != nil || k == nil {
			return err
		}
		in, err = materialOf(ctx, c, v)
		return err
	})
	if err != nil || k == nil {
		return m, err
	}
	if len(in.said) == 0 && in.previous == "" {
		m.Reason = reasonEmpty
		return m, nil
	}
	if !cs.begin(v.ID) {
		m.Reason = reasonBusy
		return m, nil
	}
	defer cs.end(v.ID)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(cs.opts.Rolling.CheckpointDeadline))
	defer cancel()
	if m.Calls, err = cs.write(ctx, v, in, r, k); err != nil {
		return m, err
	}
	err = cs.file.Write(ctx, "checkpoint", func(tx *duck.Write) error {
		if _, err := cs.talk.Writable(ctx, tx.Conn, conversation.Reference{Name: v.ID}, r.Agent); err != nil {
			return err
		}
		if err := in.unchanged(ctx, tx.Conn, v); err != nil {
			return err
		}
		k.CreatedAt = cs.file.Now()
		return cs.insert(tx, k)
	})
	if err == nil {
		m.Checkpoint = k
	}
	return m, err
}

// due gives a checkpoint with what it will say of the conversation's size, and why it is made; nil: it is not.
func (cs *Checkpoints) due(ctx context.Context, c *duck.Conn, v *conversation.Conversation, r Request, tokens int, ifDue bool) (k *Checkpoint, why string, err error) {
	last, err := Latest(ctx, c, v.ID)
	if err != nil {
		return nil, "", err
	}
	k = &Checkpoint{ConversationID: v.ID, UpTo: v.NextSeq - 1, TokensAt: tokens, Cycle: v.Compactions, MessagesAt: v.Messages}
	since, covered := 0, 0
	if last != nil {
		since = last.UpTo
		if last.Covers(v) {
			covered = last.TokensAt
		}
	}
	users, err := conversation.UserTurns(ctx, c, v.ID, since, k.UpTo)
	if err != nil {
		return nil, "", err
	}
	if k.UsersAt, err = conversation.UserTurns(ctx, c, v.ID, 0, k.UpTo); err != nil {
		return nil, "", err
	}
	switch {
	case last.Covers(v) && last.UpTo >= k.UpTo:
		return nil, reasonNothing, nil
	case !ifDue:
		return k, reasonAsked, nil
	}
	o := cs.opts.Rolling
	why = window.Marks{Thresholds: o.CheckpointThresholds, Turns: *o.CheckpointTurns, Floor: *o.CheckpointMinTokens}.Due(k.TokensAt, r.Budget, users, covered)
	if why == "" {
		return nil, reasonNotDue, nil
	}
	return k, why, nil
}

// begin reports whether nobody else makes a checkpoint of the conversation; if so end has to be called.
func (cs *Checkpoints) begin(conversationID string) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.making[conversationID] {
		return false
	}
	cs.making[conversationID] = true
	return true
}

func (cs *Checkpoints) end(conversationID string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.making, conversationID)
}

// material is what a checkpoint is made of: the messages in the context, and what its summaries say.
type material struct {
	said      []*conversation.Message
	previous  string
	withdrawn int // messages of the conversation that were purged or retracted by then
}

func materialOf(ctx context.Context, c *duck.Conn, v *conversation.Conversation) (in material, err error) {
	var texts []string
	shown := map[int]bool{}
	first := v.NextSeq
	err = c.Each(ctx, "checkpoint_context", func(rows *sql.Rows) error {
		var position int
		var kind kinds.Kind
		var text string
		if err := rows.Scan(&position, &kind, &text); err != nil {
			return err
		}
		if kind == kinds.Summary {
			texts = append(texts, strings.TrimSpace(text))
		} else {
			shown[position], first = true, min(first, position)
		}
		return nil
	}, sql.Named("conversation_id", v.ID))
	in.previous = strings.Join(texts, "\n\n")
	if err == nil {
		in.withdrawn, err = withdrawn(ctx, c, v)
	}
	if err != nil || len(shown) == 0 {
		return in, err
	}
	said, err := conversation.Said(ctx, c, v.ID, first, v.NextSeq-1)
	for _, m := range said {
		if shown[m.Seq] {
			in.said = append(in.said, m)
		}
	}
	return in, err
}

// unchanged makes sure that nothing was purged or retracted while the model thought. Errors: ErrConflict.
func (in material) unchanged(ctx context.Context, c *duck.Conn, v *conversation.Conversation) error {
	now, err := withdrawn(ctx, c, v)
	if err == nil && now != in.withdrawn {
		err = fmt.Errorf("%w: what was read was purged, retracted or given back meanwhile", fault.ErrConflict)
	}
	return err
}

func withdrawn(ctx context.Context, c *duck.Conn, v *conversation.Conversation) (n int, err error) {
	_, err = c.One(ctx, "messages_withdrawn", []any{&n}, sql.Named("conversation_id", v.ID))
	return n, err
}

// write has a model, or without one the extractive summariser, fill in what the checkpoint says.
func (cs *Checkpoints) write(ctx context.Context, v *conversation.Conversation, in material, r Request, k *Checkpoint) (calls int, err error) {
	o := cs.opts.Conversation
	if cs.chain.Empty() {
		estimator, err := v.Tokenizer()
		if err != nil {
			return 0, err
		}
		var passages []extract.Passage
		if in.previous != "" {
			passages = append(passages, extract.Passage{Text: in.previous})
		}
		for _, m := range in.said {
			if said := m.Source(); said != "" {
				passages = append(passages, extract.Passage{Label: m.Label(o.Location()), Text: said})
			}
		}
		k.Summary = extract.Summary(cs.index.Analyzer, extract.Input{Passages: passages, Target: o.FallbackMaxTokens, Tokens: estimator.Tokens})
		if k.Summary == "" { // so short that nothing can be left out
			k.Summary = strings.TrimSpace(strings.Join(append([]string{in.previous}, sources(in.said)...), "\n"))
		}
		k.By = "extractive"
		return 0, nil
	}
	answer, err := cs.chain.Ask(ctx, chain.Question{ConversationID: v.ID, System: prompts.CheckpointSystem(), Limit: o.LeafChunkTokens, MaxTokens: o.LeafTargetTokens,
		Prompt: func(limit int) string {
			return prompts.Checkpoint(prompts.CheckpointInput{Source: prompts.Record(Lines(in.said), limit), Previous: in.previous,
				Instructions: strings.TrimSpace(o.Instructions + "\n" + r.Instructions)})
		}})
	if err != nil {
		return answer.Calls, err
	}
	parse(answer.Text, k)
	k.By = answer.Model
	return answer.Calls, nil
}

func sources(said []*conversation.Message) (all []string) {
	for _, m := range said {
		all = append(all, m.Source())
	}
	return all
}

// Lines gives messages as prompts.Record takes them.
func Lines(said []*conversation.Message) (all []prompts.Line) {
	for _, m := range said {
		l := prompts.Line{Role: m.Role, Text: m.Text}
		if m.Speaker != "" {
			l.Role += " (" + m.Speaker + ")"
		}
		if m.Caption != "" {
			l.Text += " [shown: " + m.Caption + "]"
		}
		for i := range m.Blocks {
			switch b := &m.Blocks[i]; b.Type {
			case conversation.ToolCallBlock:
				l.Text += " [calls " + toolOf(b) + "] " + b.Input
			case conversation.ToolResultBlock:
				l.Results = append(l.Results, toolOf(b))
			}
		}
		if len(l.Results) == 0 && m.Role == window.Tool {
			l.Results, l.Text = []string{"a tool"}, ""
		}
		all = append(all, l)
	}
	return all
}

func toolOf(b *conversation.Block) string {
	if b.Tool == "" {
		return "a tool"
	}
	return b.Tool
}
