package compact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/window"
)

// Compacted says what became of a Request: truthfully, so that a host which calls again only when Changed comes to an end.
type Compacted struct {
	ConversationID string `json:"conversation_id,omitempty"`
	Reached        bool   `json:"reached"`          // the context is no larger than it should be
	Changed        bool   `json:"changed"`          // something was written
	Reason         string `json:"reason"`           // why it ended, in words for a person
	TokensBefore   int    `json:"tokens_before"`    // the greater of what is stored and Live
	TokensAfter    int    `json:"tokens_after"`     // likewise, as if Live had fallen by as much as what is stored
	Target         int    `json:"target"`           // tokens that the context should have at most
	Rounds         int    `json:"rounds,omitempty"` // sweeps of Under
	Passes         []Pass `json:"passes,omitempty"` // those written
	Calls          int    `json:"calls"`            // of the model
	// VectorErr: the summaries are written, but the model failed or took too long, so some have no vector until RebuildIndex.
	VectorErr error `json:"-"`
}

// Pass is one summary that was made.
type Pass struct {
	SummaryID string     `json:"summary_id"`
	Kind      string     `json:"kind"` // leaf or condensed
	Depth     int        `json:"depth"`
	Level     Escalation `json:"level"`
	Fallback  bool       `json:"fallback,omitempty"`
	Items     int        `json:"items"` // that it replaced
	// Of the policy Rolling: where the text came from, the checkpoint where that is one, and the seq of the first message that stays.
	Source       string `json:"source,omitempty"`
	CheckpointID string `json:"checkpoint_id,omitempty"`
	FirstKept    int    `json:"first_kept_seq,omitempty"`
	TokensBefore int    `json:"tokens_before"`
	TokensAfter  int    `json:"tokens_after"`
}

// Reasons of Compacted beside those of sweeps.
const (
	reasonNone     = "no conversation found for session"
	reasonAuth     = "provider auth failure"
	reasonPartly   = "provider auth failure after partial compaction"
	reasonDeferred = "deferred"
	reasonTime     = "out of time"
	reasonGaveUp   = "cancelled"
	reasonConflict = "the context changed again and again"
	reasonFailed   = "the summariser failed"
)

// Compact replaces old messages of the context by summaries, and old summaries by fewer: no message is lost, all can be expanded again. The
// model is asked outside of any lock, and each summary is written in one transaction that leaves the file consistent, without a model
// with up to fifteen others, so cancelling ctx at any moment keeps what was done before. One compaction of a conversation runs at a time;
// Append never waits for it.
//
// The policy Rolling replaces all but the newest messages, and the older summary, by one leaf. When its models fail a checkpoint or a line takes the place of the summary, Pass.Source
// says which, and RetryPending has it written later: that is no error. docs/conversations.md has its rules.
//
// Of the policy DAG: when the model fails, what was done stays and the error comes with the result. Where the context is over its whole budget, or with
// Force, summaries are then made without the model, marked as fallback, and RetryFallbacks makes them anew. Errors: ErrInvalid,
// ErrScopeDenied, ErrConflict, and those of the model.
func (cp *Compactor) Compact(ctx context.Context, r Request) (*Compacted, error) {
	if err := r.validate(cp.opts.Conversation); err != nil {
		return nil, fmt.Errorf("compact: %w", err)
	}
	of := conversation.Reference{Name: r.Conversation, Key: r.SessionKey, Session: r.SessionID}
	if gate := cp.conversations.Gate(of); gate != "" {
		return &Compacted{Reached: true, Reason: gate}, nil
	}
	v, err := cp.compactable(ctx, of, r.Agent)
	if err != nil {
		return nil, fmt.Errorf("compact: %w", err)
	}
	if v == nil {
		return &Compacted{Reached: true, Reason: reasonNone}, nil
	}
	if gate := cp.conversations.GateOf(v); gate != "" {
		return &Compacted{Reached: true, Reason: gate}, nil
	}
	release, err := cp.compacting.take(ctx, v.ID)
	if err != nil {
		return nil, fmt.Errorf("compact: %w", err)
	}
	defer release()
	if r.Policy == Rolling {
		k := &rolling{compactor: cp, v: v, r: r, policy: rollingOf(cp.opts.Rolling), result: &Compacted{ConversationID: v.ID}}
		if err := k.run(ctx); err != nil {
			return k.result, fmt.Errorf("compact: %w", err)
		}
		return k.result, nil
	}
	k := &compaction{compactor: cp, v: v, r: r, policy: policyOf(cp.opts.Conversation), result: &Compacted{ConversationID: v.ID}}
	if err := k.run(ctx); err != nil {
		return k.result, fmt.Errorf("compact: %w", err)
	}
	return k.result, nil
}

// compactable finds the conversation; nil when there is none.
func (cp *Compactor) compactable(ctx context.Context, of conversation.Reference, agent string) (v *conversation.Conversation, err error) {
	if cp.opts.ReadOnly {
		return nil, fault.ErrReadOnly
	}
	err = cp.file.Read(ctx, "find conversation", func(c *duck.Conn) error {
		if v, err = conversation.ResolveConversation(ctx, c, of); err != nil || v == nil {
			return err
		}
		if !cp.scopes.Now().Sees(agent, v.Scope) {
			return fmt.Errorf("%w: agent %q may not use %s", fault.ErrScopeDenied, agent, v.Scope)
		}
		return nil
	})
	return v, err
}

// compaction is one Compact under way.
type compaction struct {
	compactor *Compactor
	v         *conversation.Conversation
	r         Request
	policy    window.Policy
	result    *Compacted
	unseen    int          // tokens that the host saw beside those stored
	stored    int          // tokens of the context, as last seen
	oldest    int          // how many of the oldest messages planning reads
	known     *contextView // the context as it is, from before or from the last pass; nil: it has to be read
	made      []*madePass  // since the last write
	sweeping  *window.Sweep
	written   window.Sweep // sweeping as it was at the last write, to go back to
	rarity    rarities

	describing sync.WaitGroup // documents of what was made
}

// So many of the oldest messages are read at first, or as many of fewTokens as make a leaf, and window.TailMargin more. What passes have used up
// is read anew, sixteen times as many up to manyOldest.
const (
	fewOldest  = 64
	fewTokens  = 20
	manyOldest = 16384
)

func (k *compaction) run(ctx context.Context) error {
	k.oldest = max(fewOldest, k.policy.LeafChunkTokens/fewTokens) + window.TailMargin
	view, err := k.view(ctx)
	if err != nil {
		return err
	}
	k.known, k.stored, k.unseen = view, view.tokens, max(0, k.r.Live-view.tokens)
	over, current, threshold := k.policy.Over(view.tokens, k.r.Live, k.r.Budget)
	k.result.TokensBefore, k.result.TokensAfter, k.result.Target = current, current, threshold
	room := k.r.Budget // of a debt, for what is stored
	due := over || view.outside >= k.policy.LeafChunkTokens
	if k.r.Mode == Under {
		k.result.Target, due = k.r.Target, current >= k.r.Target
		room = max(1, k.r.Target-k.unseen)
	}
	switch {
	case k.compactor.opts.Conversation.Deferred && !k.r.now && !k.r.Force && due:
		k.result.Reason = reasonDeferred
		return k.compactor.putDebt(ctx, k.v.ID, room)
	case due || k.r.Force:
		reason := k.compactor.conversations.Guard.Closed(k.v.ID, k.r.Force)
		if reason == conversation.ReasonOpen || reason == conversation.ReasonSpent && current <= k.r.Budget {
			k.result.Reason = reason
			return nil
		}
	}
	if k.r.Force {
		k.compactor.forgetVain(k.v.ID)
	}
	if k.r.Mode == Under {
		err = k.under(ctx)
	} else {
		err = k.once(ctx)
	}
	k.result.TokensAfter = k.stored + k.unseen
	switch {
	case conversation.Unauthorized(err):
		k.result.Reason = reasonAuth
		if k.result.Changed {
			k.result.Reason = reasonPartly
		}
		k.result.Reached = false
	case errors.Is(err, errSpent):
		k.result.Reason, k.result.Reached, err = conversation.ReasonSpent, false, nil
	case err != nil && ctx.Err() != nil:
		k.result.Reason, k.result.Reached = reasonGaveUp, false
	case errors.Is(err, fault.ErrConflict):
		k.result.Reason, k.result.Reached = reasonConflict, false
	case err != nil:
		k.result.Reason, k.result.Reached = reasonFailed, false
	}
	return err
}

// once makes one sweep.
func (k *compaction) once(ctx context.Context) error {
	mode := window.Full
	if k.r.Mode == Leaf {
		mode = window.Incremental
	}
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(k.compactor.opts.Conversation.SweepDeadline), errOutOfTime)
	defer cancel()
	sweep := window.NewSweep(k.policy, window.SweepOptions{Mode: mode, Budget: k.r.Budget, Stored: k.stored, Forced: k.r.Force, Avoid: k.compactor.vain(k.v.ID)})
	err := k.sweep(ctx, sweep)
	storedOver, _, _ := k.policy.Over(k.stored, 0, k.r.Budget)
	overStill, _, _ := k.policy.Over(k.stored, k.stored+k.unseen, k.r.Budget)
	k.result.Reached = !overStill
	switch {
	case outOfTime(ctx, err):
		err, k.result.Reason = nil, reasonTime
	case k.result.Changed:
		k.result.Reason = window.ReasonCompacted
	case overStill && !storedOver: // only by what the host saw
		k.result.Reason = window.ReasonLive
	default:
		k.result.Reason = cmp.Or(string(sweep.Stopped()), string(window.Spent))
	}
	return err
}

// under sweeps until the context is small enough.
func (k *compaction) under(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(k.compactor.opts.Conversation.UntilUnderDeadline), errOutOfTime)
	defer cancel()
	rounds := window.NewRounds(k.r.Target, k.stored, k.r.Live)
	var late bool
	var err error
	for rounds.Next() && err == nil {
		written := len(k.result.Passes)
		late, err = k.round(ctx)
		rounds.Done(k.stored, len(k.result.Passes) > written)
	}
	outcome := rounds.Outcome()
	k.result.Reached, k.result.Reason, k.result.Rounds = outcome.Reached, outcome.Reason, outcome.Rounds
	if late = late || outOfTime(ctx, err); late && !k.result.Reached {
		k.result.Reason = reasonTime
	}
	if outOfTime(ctx, err) {
		err = nil
	}
	return err
}

// round is one sweep of Under. late: it came to its deadline.
func (k *compaction) round(ctx context.Context) (late bool, err error) {
	within, cancel := context.WithTimeoutCause(ctx, time.Duration(k.compactor.opts.Conversation.SweepDeadline), errOutOfTime)
	defer cancel()
	target := max(1, k.r.Target-k.unseen) // of what is stored
	err = k.sweep(within, window.NewSweep(k.policy, window.SweepOptions{Stored: k.stored, Forced: true, Target: target, Avoid: k.compactor.vain(k.v.ID)}))
	if late = outOfTime(within, err) && ctx.Err() == nil; late {
		err = nil
	}
	return late, err
}

// mostConflicts is how often a pass is planned anew because the context changed under it.
const mostConflicts = 5

// sweep makes the passes that the sweep plans.
func (k *compaction) sweep(ctx context.Context, sweep *window.Sweep) error {
	defer func() { k.made = nil; k.describing.Wait(); k.compactor.remember(k.v.ID, sweep.Vain()) }()
	k.sweeping = sweep
	for conflicts := 0; ; {
		if len(k.made) == 0 {
			k.written = *sweep
		}
		more, err := k.next(ctx, sweep)
		switch {
		case errors.Is(err, fault.ErrConflict) && conflicts < mostConflicts:
			*sweep, k.made, k.known = k.written, nil, nil
			conflicts++
		case err != nil && ctx.Err() != nil && !errors.Is(err, fault.ErrConflict):
			return errors.Join(err, k.write(context.WithoutCancel(ctx))) // what is made already takes no more time
		case err != nil || !more:
			return err
		default:
			k.compactor.opts.Progress("summaries", len(k.result.Passes)+len(k.made), 0)
		}
	}
}

// next makes the pass that the sweep plans next; false, with all written, when there is none.
func (k *compaction) next(ctx context.Context, sweep *window.Sweep) (more bool, err error) {
	view, step, ok, err := k.plan(ctx, sweep)
	if err != nil {
		return false, err
	}
	if !ok {
		return false, k.write(ctx)
	}
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	p, err := k.pass(ctx, view, step)
	if err != nil {
		return false, err
	}
	sweep.Done(p.TokensBefore, p.TokensAfter, p.SummaryID != "")
	k.stored = p.TokensAfter
	return true, nil
}

// plan reads as much of the context as the next pass needs.
func (k *compaction) plan(ctx context.Context, sweep *window.Sweep) (*contextView, window.Step, bool, error) {
	if sweep.Stopped() != "" || k.policy.MaxPasses > 0 && sweep.Passes() >= k.policy.MaxPasses {
		return nil, window.Step{}, false, nil
	}
	if len(sweep.Vain()) > 0 && k.oldest < lastPosition {
		k.oldest, k.known = lastPosition, nil // what is left to try may lie anywhere
	}
	for {
		view, used := k.known, k.known != nil
		if k.known = nil; !used {
			err := k.write(ctx)
			if err == nil {
				view, err = k.view(ctx)
			}
			if err != nil {
				return nil, window.Step{}, false, err
			}
		}
		whole := view.complete == lastPosition
		if whole || k.policy.RawOutside(view.oldest, len(view.oldest)) >= k.policy.LeafChunkTokens { // else too few to see whether a leaf is due
			step, ok := sweep.Next(view.oldest, len(view.oldest))
			if !ok || whole || step.Kind == window.Condensed || step.Hi+window.TailMargin <= len(view.oldest) { // the results of its calls were seen
				return view, step, ok, nil
			}
		}
		if used {
			k.oldest = max(k.oldest, min(16*k.oldest, manyOldest))
		} else {
			k.oldest = min(4*k.oldest, lastPosition)
		}
	}
}

// view reads the context as far as planning needs it.
func (k *compaction) view(ctx context.Context) (view *contextView, err error) {
	err = k.compactor.file.Read(ctx, "read context", func(c *duck.Conn) error {
		view, err = k.compactor.view(ctx, c, k.v.ID, k.policy, k.r.Budget, k.oldest)
		return err
	})
	return view, err
}

// policyOf is what the options say of planning.
func policyOf(o setup.Conversation) window.Policy {
	return window.Policy{
		Threshold: o.ContextThreshold, LeafChunkTokens: o.LeafChunkTokens, LeafTargetTokens: o.LeafTargetTokens,
		CondensedTargetTokens: o.CondensedTargetTokens, TailCount: o.FreshTailCount, TailTokens: o.FreshTailMaxTokens,
		LeafMinFanout: o.LeafMinFanout, CondensedMinFanout: o.CondensedMinFanout, CondensedMinFanoutHard: o.CondensedMinFanoutHard,
		IncrementalMaxDepth: *o.IncrementalMaxDepth, OverageFactor: o.SummaryMaxOverage, MaxPasses: o.SweepMaxPasses,
	}
}

// Need says whether a context wants to be compacted.
type Need struct {
	Stored      int  `json:"stored"`      // tokens of the context
	Current     int  `json:"current"`     // the greater of this and what the host saw
	Threshold   int  `json:"threshold"`   // share of the budget
	Over        bool `json:"over"`        // Current is above Threshold: time for Sweep
	RawOutside  int  `json:"raw_outside"` // tokens of the messages before the fresh tail
	LeafDue     bool `json:"leaf_due"`    // these are enough for a leaf: time for Leaf
	Items       int  `json:"items"`
	RawMessages int  `json:"raw_messages"`
}

// NeedsCompaction looks whether Compact would find something to do. Errors: ErrNotFound, ErrInvalid.
func (cp *Compactor) NeedsCompaction(ctx context.Context, r Request) (n Need, err error) {
	if err := r.validate(cp.opts.Conversation); err != nil {
		return n, fmt.Errorf("needs compaction: %w", err)
	}
	policy := policyOf(cp.opts.Conversation)
	err = cp.file.Read(ctx, "needs compaction", func(c *duck.Conn) error {
		v, err := conversation.ResolveConversation(ctx, c, conversation.Reference{Name: r.Conversation, Key: r.SessionKey, Session: r.SessionID})
		if err != nil {
			return err
		}
		if v == nil || !cp.scopes.Now().Sees(r.Agent, v.Scope) {
			return fmt.Errorf("%w: conversation %s", fault.ErrNotFound, fault.Quote(cmp.Or(r.Conversation, cmp.Or(r.SessionKey, r.SessionID))))
		}
		if r.Policy == Rolling {
			n, err = cp.needsRolling(ctx, c, v, r)
			return err
		}
		view, err := cp.view(ctx, c, v.ID, policy, r.Budget, 1)
		if err != nil {
			return err
		}
		n = Need{Stored: view.tokens, RawOutside: view.outside, Items: view.items, RawMessages: view.messages, LeafDue: view.outside >= policy.LeafChunkTokens}
		n.Over, n.Current, n.Threshold = policy.Over(view.tokens, r.Live, r.Budget)
		return nil
	})
	return n, err
}
