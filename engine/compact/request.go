package compact

import (
	"cmp"
	"fmt"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
)

// Policy says who chooses what is compacted.
type Policy string

// The policies.
const (
	DAG     Policy = setup.PolicyDAG     // summaries of messages, and summaries of summaries
	Rolling Policy = setup.PolicyRolling // one leaf before the newest messages, for all that came before them

	byHost Policy = "host" // of a compaction that was adopted
)

// Policies lists those that a request may name.
func Policies() []Policy { return []Policy{DAG, Rolling} }

// Mode is how much a Compact does.
type Mode string

// The modes.
const (
	// Sweep makes summaries until the context is at or below its threshold, if it is above; forced, until nothing is left to do.
	Sweep Mode = "sweep"
	// Under sweeps, up to ten times, until the context is at or below the whole budget, or Target.
	Under Mode = "under"
	// Leaf makes one leaf, if the messages before the fresh tail are enough for one or the context is above its threshold, and
	// condenses what that completes, down to setup.Conversation.IncrementalMaxDepth.
	Leaf Mode = "leaf"
)

// Modes of the policy Rolling, beside Sweep.
const (
	// Preflight is for the moment before a model is called: the context is also compacted when it has more than 95 % of the budget.
	Preflight Mode = "preflight"
	// Startup is for a conversation that is taken up again: when its context has more than half of the budget it is compacted, up to five times, until it has
	// at most 40 %, and no more than setup.Rolling.MaxMessages messages.
	Startup Mode = "startup"
)

// Modes are those that a policy has.
func (p Policy) Modes() []Mode {
	if p == Rolling {
		return []Mode{Sweep, Preflight, Startup}
	}
	return []Mode{Sweep, Under, Leaf}
}

// Request asks for a conversation's context to become smaller.
type Request struct {
	Conversation string // name or id; or as a host does:
	SessionKey   string
	SessionID    string
	Agent        string // empty: an internal caller
	Policy       Policy // default that of the options
	Mode         Mode   // default Sweep
	// Budget is what the model's context holds, in tokens. It is needed, but for a forced sweep; of the policy Rolling only for Preflight and Startup.
	Budget int
	// Live is how many tokens the host saw in its prompt; 0: unknown. What counts is the greater of this and what is stored; of the policy Rolling this, and where
	// it is unknown what the provider counted last, if messages say so (conversation.Fullness).
	Live int
	// Target of Under, in tokens; default Budget.
	Target int
	// Force compacts although the context is not above its threshold, and although the model paused or fails.
	Force bool
	// Instructions for the summariser beside those of the options.
	Instructions string

	now bool // although compaction is deferred
}

func (r *Request) validate(o setup.Conversation) error {
	r.Policy, r.Mode = cmp.Or(r.Policy, Policy(o.Policy)), cmp.Or(r.Mode, Sweep)
	if err := fault.Member("policy", r.Policy, Policies()); err != nil {
		return err
	}
	if err := cmp.Or(conversation.Reference{Name: r.Conversation, Key: r.SessionKey, Session: r.SessionID}.Validate(), fault.Member("mode", r.Mode, r.Policy.Modes()),
		fault.CheckText("instructions", r.Instructions)); err != nil {
		return err
	}
	const most = 1 << 30
	if r.Budget < 0 || r.Budget > most || r.Budget == 0 && !r.needsNone() {
		return fault.Invalid("budget", r.Budget, fmt.Sprintf("1 to %d: what the model's context holds, in tokens", most))
	}
	if r.Live < 0 || r.Live > most {
		return fault.Invalid("live", r.Live, fmt.Sprintf("0 to %d tokens", most))
	}
	if o.MaxAssemblyTokens > 0 && r.Budget > 0 {
		r.Budget = min(r.Budget, o.MaxAssemblyTokens)
	}
	if r.Target < 0 || r.Target > most || r.Target > 0 && r.Mode != Under {
		return fault.Invalid("target", r.Target, fmt.Sprintf("0 to %d, with the mode under", most))
	}
	if r.Target == 0 {
		r.Target = r.Budget
	}
	return nil
}

// needsNone reports whether a request says enough without a budget.
func (r *Request) needsNone() bool {
	if r.Policy == Rolling {
		return r.Mode == Sweep
	}
	return r.Force && r.Mode != Under
}
