package compact

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/window"
)

// Per cent of the budget above which Preflight and Startup compact, and below which Startup ends; and how many rounds that takes at most.
const (
	preflightAbove = 95
	startupAbove   = 50
	startupUntil   = 40
	startupRounds  = 5
)

// fewestForced is how many messages a context has to have for a forced compaction.
const fewestForced = 4

// Reasons of Compacted of the policy Rolling, beside those of window.Rolling.
const (
	reasonNotDue    = "below the reserve"
	reasonNothing   = "no message would be removed"
	reasonTooFew    = "fewer than 4 messages"
	reasonPreflight = "more than 95 % of the budget"
	reasonStartup   = "more than half of the budget at the start"
	reasonForced    = "asked for"
)

// rollingOf is what the options say of planning.
func rollingOf(o setup.Rolling) window.Rolling {
	return window.Rolling{Reserve: *o.Reserve, MaxMessages: *o.MaxMessages, KeepPercent: o.KeepPercent, MinMessages: o.MinMessages}
}

// rolling is one Compact of the policy Rolling under way.
type rolling struct {
	compactor *Compactor
	v         *conversation.Conversation
	r         Request
	policy    window.Rolling
	result    *Compacted
	items     []window.Item // the whole context
	unseen    int           // tokens beside those of the items: what the host or the provider saw in the prompt
}

// run compacts once, or at a start round after round.
func (k *rolling) run(ctx context.Context) error {
	rounds := 1
	if k.r.Mode == Startup {
		rounds = startupRounds
	}
	for round := range rounds {
		tokens, err := k.look(ctx, round == 0)
		if err != nil {
			return err
		}
		why := k.due(tokens, round)
		if k.result.Reached = why == ""; why == "" {
			if !k.result.Changed {
				k.result.Reason = reasonNotDue
			}
			return nil
		}
		if k.r.Force && k.messages() < fewestForced {
			k.result.Reason, k.result.Reached = reasonTooFew, false
			return nil
		}
		if k.r.Force {
			k.compactor.conversations.Guard.Closed(k.v.ID, true) // what was spent is forgotten
		}
		k.result.Rounds = round + 1
		written, err := k.round(ctx)
		switch {
		case errors.Is(err, fault.ErrConflict):
			k.result.Reason = reasonConflict
		case err != nil && ctx.Err() != nil:
			k.result.Reason = reasonGaveUp
		case err == nil && !written && !k.result.Changed:
			k.result.Reason = reasonNothing
		}
		if err != nil || !written {
			return err
		}
		k.result.Changed, k.result.Reason = true, why
	}
	tokens, err := k.look(ctx, false)
	k.result.Reached = err == nil && (k.r.Force || k.due(tokens, rounds) == "")
	return err
}

// look reads the context, and gives its tokens: at first as the host or the provider counted them, then less by what was removed.
func (k *rolling) look(ctx context.Context, first bool) (tokens int, err error) {
	err = k.compactor.file.Read(ctx, "read context", func(c *duck.Conn) error {
		if k.items, err = itemsBetween(ctx, c, k.v.ID, 0, lastPosition); err != nil || !first {
			return err
		}
		tokens, err = conversation.Fullness(ctx, c, k.v, k.r.Live)
		return err
	})
	stored := window.Tokens(k.items)
	if first {
		k.unseen = tokens - stored
		k.result.TokensBefore = tokens
		if k.r.Budget > 0 {
			k.result.Target = max(0, k.r.Budget-k.policy.Reserve)
		}
	}
	k.result.TokensAfter = max(0, stored+k.unseen)
	return k.result.TokensAfter, err
}

func (k *rolling) messages() (n int) {
	for _, it := range k.items {
		if !it.Summary {
			n++
		}
	}
	return n
}

// due says why it is time; empty: it is not. A start that has begun goes on until there is room.
func (k *rolling) due(tokens, round int) string {
	messages := k.messages()
	why := k.policy.Due(tokens, k.r.Budget, messages)
	switch {
	case k.r.Force && round == 0:
		return reasonForced
	case k.r.Mode == Startup && round > 0 && (window.Exceeds(tokens, k.r.Budget, startupUntil) || k.policy.MaxMessages > 0 && messages > k.policy.MaxMessages),
		k.r.Mode == Startup && round == 0 && window.Exceeds(tokens, k.r.Budget, startupAbove):
		return reasonStartup
	case k.r.Mode == Startup && round > 0:
		return ""
	case why == "" && k.r.Mode == Preflight && window.Exceeds(tokens, k.r.Budget, preflightAbove):
		return reasonPreflight
	}
	return why
}

// round replaces what the policy says by one leaf. written is false where it says nothing.
func (k *rolling) round(ctx context.Context) (written bool, err error) {
	for conflicts := 0; ; conflicts++ {
		if conflicts > 0 {
			if _, err := k.look(ctx, false); err != nil {
				return false, err
			}
		}
		written, err = k.once(ctx)
		if !errors.Is(err, fault.ErrConflict) || conflicts == mostConflicts {
			return written, err
		}
	}
}

// cut gives the index of the first item that stays; 0: none would be removed.
func (k *rolling) cut(percent int) int {
	if cut := k.policy.Cut(k.items, percent); cut > 0 {
		return cut
	}
	return k.policy.CutPairs(k.items, percent)
}

// once makes and writes one leaf.
func (k *rolling) once(ctx context.Context) (written bool, err error) {
	cut := k.cut(k.policy.KeepPercent)
	if cut == 0 {
		return false, nil
	}
	started := k.compactor.file.Now()
	in, err := k.read(ctx, cut)
	if err != nil {
		return false, err
	}
	t, err := k.tell(ctx, in)
	if err != nil || t == nil {
		return false, err
	}
	k.result.Calls += t.calls
	return true, k.write(ctx, t, started)
}

// needsRolling is NeedsCompaction of the policy Rolling.
func (cp *Compactor) needsRolling(ctx context.Context, c *duck.Conn, v *conversation.Conversation, r Request) (n Need, err error) {
	k := &rolling{compactor: cp, v: v, r: r, policy: rollingOf(cp.opts.Rolling)}
	k.r.Force = false
	if k.items, err = itemsBetween(ctx, c, v.ID, 0, lastPosition); err != nil {
		return n, err
	}
	if n.Current, err = conversation.Fullness(ctx, c, v, r.Live); err != nil {
		return n, err
	}
	n.Stored, n.Items, n.RawMessages = window.Tokens(k.items), len(k.items), k.messages()
	if r.Budget > 0 {
		n.Threshold = max(0, r.Budget-k.policy.Reserve)
	}
	n.Over = k.due(n.Current, 0) != ""
	if cut := k.cut(k.policy.KeepPercent); cut > 0 {
		for _, it := range k.items[:cut] {
			if !it.Summary {
				n.RawOutside += it.Tokens
			}
		}
	}
	return n, nil
}

// timesOf is how a range is named in a summary that does not tell of it.
func timesOf(said []*conversation.Message, at *time.Location) string {
	if len(said) == 0 {
		return ""
	}
	return fmt.Sprintf("%s to %s", conversation.Moment(said[0].SaidAt, at), conversation.Moment(said[len(said)-1].SaidAt, at))
}
