package checkpoint

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/prompts"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/window"
)

// Prompt asks a model to write down what it must not forget. The host adds it to the system prompt or says it as the user, as it is meant, and then calls AckFlush.
type Prompt struct {
	ConversationID string `json:"conversation_id"`
	Cycle          int    `json:"cycle"`   // how often the context was compacted
	Percent        int    `json:"percent"` // of the budget, the threshold that fires
	As             string `json:"as"`      // system or user
	Text           string `json:"text"`
	Tokens         int    `json:"tokens"` // of the context
}

// FlushPrompt gives the prompt whose time has come; nil: none. It comes again until AckFlush says that it was given, and then not before the context is compacted or
// falls below a quarter of the budget. When several thresholds are passed at once the highest comes, and counts for all of them
// (setup.Rolling.FlushCatchUp: the others follow). Errors: ErrNotFound, ErrScopeDenied, ErrInvalid for a budget of 0.
func (cs *Checkpoints) FlushPrompt(ctx context.Context, r Request) (p *Prompt, err error) {
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("flush prompt: %w", err)
	}
	if r.Budget == 0 {
		return nil, fmt.Errorf("flush prompt: %w", fault.Invalid("budget", r.Budget, "1 or more: what the model's context holds, in tokens"))
	}
	all, err := cs.opts.Rolling.Flushes()
	if err != nil {
		return nil, err
	}
	var v *conversation.Conversation
	var tokens int
	var fired []int
	err = cs.file.Read(ctx, "flush prompt", func(c *duck.Conn) error {
		if v, err = cs.talk.Writable(ctx, c, r.of(), r.Agent); err != nil {
			return err
		}
		if tokens, err = conversation.Fullness(ctx, c, v, r.Live); err != nil {
			return err
		}
		fired, err = duck.Column[int](ctx, c, "flush_fired", cycleOf(v)...)
		return err
	})
	if err != nil {
		return nil, err
	}
	if window.Cleared(tokens, r.Budget) {
		if len(fired) == 0 || cs.opts.ReadOnly {
			return nil, nil
		}
		return nil, cs.file.Write(ctx, "flush prompt", func(tx *duck.Write) error {
			_, err := tx.Exec(ctx, "flush_clear", cycleOf(v)...)
			return err
		})
	}
	var percents []int
	for _, f := range all {
		percents = append(percents, f.Percent)
	}
	percent := window.Flush(tokens, r.Budget, percents, func(percent int) bool { return slices.Contains(fired, percent) }, cs.opts.Rolling.FlushCatchUp)
	i := slices.IndexFunc(all, func(f setup.FlushThreshold) bool { return f.Percent == percent })
	if i < 0 {
		return nil, nil
	}
	p = &Prompt{ConversationID: v.ID, Cycle: v.Compactions, Percent: percent, As: all[i].As, Text: all[i].Text, Tokens: tokens}
	if p.Text == "" {
		p.Text = prompts.Flush(p.As)
	}
	day := cs.file.Now().In(cs.opts.Conversation.Location()).Format("2006-01-02")
	p.Text = strings.ReplaceAll(p.Text, "YYYY-MM-DD", day)
	return p, nil
}

// AckRequest says that a prompt was given to the model.
type AckRequest struct {
	Conversation string // id of it, as the prompt has it, or name
	Agent        string // empty: an internal caller
	Cycle        int    // the prompt's
	Percent      int    // likewise
}

// AckFlush notes that a prompt was given. Where the context was compacted meanwhile, or it is noted already, it changes nothing. Errors: ErrNotFound,
// ErrScopeDenied, ErrInvalid for a threshold that there is none of.
func (cs *Checkpoints) AckFlush(ctx context.Context, r AckRequest) (changed bool, err error) {
	all, err := cs.opts.Rolling.Flushes()
	if err != nil {
		return false, err
	}
	at := slices.IndexFunc(all, func(f setup.FlushThreshold) bool { return f.Percent == r.Percent })
	if at < 0 {
		return false, fmt.Errorf("ack flush: %w", fault.Invalid("percent", r.Percent, strings.Join(cs.opts.Rolling.FlushThresholds, ", ")))
	}
	err = cs.file.Write(ctx, "ack flush", func(tx *duck.Write) error {
		v, err := cs.talk.Writable(ctx, tx.Conn, conversation.Reference{Name: r.Conversation}, r.Agent)
		if err != nil || v.Compactions != r.Cycle {
			return err
		}
		fired, err := duck.Column[int](ctx, tx.Conn, "flush_fired", cycleOf(v)...)
		if err != nil {
			return err
		}
		var rows [][]driver.Value
		for i, f := range all {
			also := i < at && !cs.opts.Rolling.FlushCatchUp
			if (i == at || also) && !f.Repeat && !slices.Contains(fired, f.Percent) {
				rows = append(rows, []driver.Value{v.ID, int32(v.Compactions), int32(f.Percent), cs.file.Now()})
			}
		}
		changed = len(rows) > 0
		return tx.AppendRows("flush_state", rows)
	})
	return changed, err
}

func cycleOf(v *conversation.Conversation) []any {
	return []any{sql.Named("conversation_id", v.ID), sql.Named("cycle", int64(v.Compactions))}
}
