package setup

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/text"
)

// Conversation say how conversations are kept, compacted and shown. Zero values are the defaults, but for the pointers,
// whose nil is. The names in the tags are those of the table [conversation] in a configuration file, and with the prefix MEMCTL_, in
// upper case, of the environment.
type Conversation struct {
	// Session gates. In patterns * stands for any run of characters but ":", and ** for any run at all. Of a session that is
	// ignored nothing is stored; of a stateless one nothing is written, unless SkipStateless is false.
	IgnoreSessions    []string `toml:"ignore_session_patterns"`    // of session keys, or of ids where there is no key
	StatelessSessions []string `toml:"stateless_session_patterns"` // of session keys only
	SkipStateless     *bool    `toml:"skip_stateless_sessions"`    // default true

	// Policy is how conversations are compacted where a request does not say: dag (default) or rolling.
	Policy string `toml:"compaction_policy"`

	// Estimator counts the tokens of new conversations: chars4 (default) or weighted.
	Estimator string `toml:"estimator"`
	// Timezone of the times in summaries and in what is shown; storage is in UTC. Default UTC.
	Timezone string `toml:"timezone"`
	// Instructions of the operator for the summariser. Default none.
	Instructions string `toml:"custom_instructions"`

	// ContextThreshold is the share of the budget above which the context is compacted. Default 0.75.
	ContextThreshold float64 `toml:"context_threshold"`
	// FreshTailCount is how many of the newest messages are never compacted. Default 64; -1: none.
	FreshTailCount int `toml:"fresh_tail_count"`
	// FreshTailMaxTokens bounds the fresh tail. Default half the budget; -1: nothing but the count does.
	FreshTailMaxTokens int `toml:"fresh_tail_max_tokens"`
	// LeafChunkTokens is how much is summarised at once. Default 20,000.
	LeafChunkTokens int `toml:"leaf_chunk_tokens"`
	// LeafTargetTokens and CondensedTargetTokens are how long a summary is to be. Default 2,400 and 2,000.
	LeafTargetTokens      int `toml:"leaf_target_tokens"`
	CondensedTargetTokens int `toml:"condensed_target_tokens"`
	// LeafMinFanout is how many leaf summaries make one of depth 1, CondensedMinFanout how many of a greater depth make the next;
	// CondensedMinFanoutHard is enough for both under pressure. Default 8, 4 and 2.
	LeafMinFanout          int `toml:"leaf_min_fanout"`
	CondensedMinFanout     int `toml:"condensed_min_fanout"`
	CondensedMinFanoutHard int `toml:"condensed_min_fanout_hard"`
	// IncrementalMaxDepth is how deep an incremental compaction condenses. Default 1; -1: as deep as it can.
	IncrementalMaxDepth *int `toml:"incremental_max_depth"`
	// SummaryMaxOverage is how many times its target a summary may be long before it is cut. Default 3.
	SummaryMaxOverage float64 `toml:"summary_max_overage_factor"`
	// FallbackMaxTokens is the most that a summary made without the model that was asked may have. Default 512.
	FallbackMaxTokens int `toml:"fallback_max_tokens"`
	// SummaryTimeout is how long one call of the model may take. Default 60 s.
	SummaryTimeout Duration `toml:"summary_timeout"`
	// SweepMaxPasses and SweepDeadline bound a sweep, UntilUnderDeadline a whole Compact. Default 12, 120 s and 300 s.
	SweepMaxPasses     int      `toml:"max_sweep_iterations"`
	SweepDeadline      Duration `toml:"sweep_deadline"`
	UntilUnderDeadline Duration `toml:"compact_until_under_deadline"`
	// SummaryMaxCalls in a SummaryCallWindow is what a conversation may spend on the model; then it pauses for SummarySpendBackoff.
	// Default 24 in 10 min, and 30 min.
	SummaryMaxCalls     int      `toml:"summary_max_calls_per_window"`
	SummaryCallWindow   Duration `toml:"summary_call_window"`
	SummarySpendBackoff Duration `toml:"summary_spend_backoff"`
	// BreakerThreshold is after how many failed authentications in a row the model is left alone for BreakerCooldown. Default 5 and 30 min.
	BreakerThreshold int      `toml:"circuit_breaker_threshold"`
	BreakerCooldown  Duration `toml:"circuit_breaker_cooldown"`
	// Deferred makes Compact note what is to be done when the context is over its threshold, for CompactPending to do. Default false.
	Deferred bool `toml:"deferred_compaction"`

	// MaxAssemblyTokens bounds every budget of Assemble and Compact. Default none.
	MaxAssemblyTokens int `toml:"max_assembly_token_budget"`
	// MaxExpandTokens is how much Expand gives when the request does not say. Default 4,000.
	MaxExpandTokens int `toml:"max_expand_tokens"`
	// LargeFileTokens is from how many tokens on a file or a tool's output is kept apart, with a summary in its place. Default 25,000.
	LargeFileTokens int `toml:"large_file_token_threshold"`
	// SummarizeFiles lets the model say what a text that is kept apart holds. Default false: its beginning, end and headings do.
	SummarizeFiles bool `toml:"summarize_large_files"`
	// BootstrapMaxTokens bounds what the import of a transcript puts into the context. Default 0.3 of LeafChunkTokens, at least 6,000.
	BootstrapMaxTokens int `toml:"bootstrap_max_tokens"`
	// NewSessionRetainDepth is from which depth on summaries stay in the context when a new session begins. Default 2; -1: everything.
	NewSessionRetainDepth *int `toml:"new_session_retain_depth"`
	// PruneHeartbeats sets aside polls of the host that were answered with nothing but HEARTBEAT_OK. Default false.
	PruneHeartbeats bool `toml:"prune_heartbeat_ok"`

	zone *time.Location // that Timezone names, once that is checked
}

// Policies of compaction.
const (
	PolicyDAG     = "dag"     // summaries of messages, and summaries of summaries
	PolicyRolling = "rolling" // one summary before the newest messages
)

// Policies lists them all.
func Policies() []string { return []string{PolicyDAG, PolicyRolling} }

// Duration is a time.Duration that a configuration file writes as "60s".
type Duration time.Duration

// UnmarshalText reads what time.ParseDuration does.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// MarshalText writes it likewise.
func (d Duration) MarshalText() ([]byte, error) {
	return []byte(time.Duration(d).String()), nil
}

// DefaultBudget is the budget where a caller names none.
const DefaultBudget = 128_000

func (o Conversation) withDefaults() Conversation {
	yes, depth, retain := true, 1, 2
	Preset(&o.SkipStateless, &yes)
	Preset(&o.Policy, PolicyDAG)
	Preset(&o.Estimator, "chars4")
	Preset(&o.Timezone, "UTC")
	Preset(&o.ContextThreshold, 0.75)
	Preset(&o.FreshTailCount, 64)
	Preset(&o.LeafChunkTokens, 20_000)
	Preset(&o.LeafTargetTokens, 2400)
	Preset(&o.CondensedTargetTokens, 2000)
	Preset(&o.LeafMinFanout, 8)
	Preset(&o.CondensedMinFanout, 4)
	Preset(&o.CondensedMinFanoutHard, 2)
	Preset(&o.IncrementalMaxDepth, &depth)
	Preset(&o.SummaryMaxOverage, 3)
	Preset(&o.FallbackMaxTokens, 512)
	Preset(&o.SummaryTimeout, Duration(60*time.Second))
	Preset(&o.SweepMaxPasses, 12)
	Preset(&o.SweepDeadline, Duration(120*time.Second))
	Preset(&o.UntilUnderDeadline, Duration(300*time.Second))
	Preset(&o.SummaryMaxCalls, 24)
	Preset(&o.SummaryCallWindow, Duration(10*time.Minute))
	Preset(&o.SummarySpendBackoff, Duration(30*time.Minute))
	Preset(&o.BreakerThreshold, 5)
	Preset(&o.BreakerCooldown, Duration(30*time.Minute))
	Preset(&o.MaxExpandTokens, 4000)
	Preset(&o.LargeFileTokens, 25_000)
	Preset(&o.BootstrapMaxTokens, max(6000, int(math.Floor(0.3*float64(o.LeafChunkTokens)))))
	Preset(&o.NewSessionRetainDepth, &retain)
	o.zone, _ = time.LoadLocation(o.Timezone) // validate says what is wrong with it
	return o
}

// Preset gives a field its default where it is zero.
func Preset[T comparable](field *T, otherwise T) {
	var zero T
	if *field == zero {
		*field = otherwise
	}
}

// validate names every field that is wrong; o has its defaults.
func (o Conversation) validate() error {
	errs := []error{fault.Member("compaction_policy", o.Policy, Policies())}
	if _, err := text.NewEstimator(o.Estimator); err != nil {
		errs = append(errs, fault.Invalid("estimator", o.Estimator, strings.Join(text.Estimators(), ", ")))
	}
	if _, err := time.LoadLocation(o.Timezone); err != nil {
		errs = append(errs, fault.Invalid("timezone", o.Timezone, "a name such as Europe/Berlin, or UTC"))
	}
	if !(o.ContextThreshold > 0 && o.ContextThreshold <= 1) {
		errs = append(errs, fault.Invalid("context_threshold", o.ContextThreshold, "above 0, up to 1"))
	}
	if !(o.SummaryMaxOverage >= 1 && o.SummaryMaxOverage <= 1000) {
		errs = append(errs, fault.Invalid("summary_max_overage_factor", o.SummaryMaxOverage, "1 to 1000"))
	}
	const most = 1 << 30
	for _, f := range []struct {
		name       string
		value, min int
	}{
		{"fresh_tail_count", o.FreshTailCount, -1}, {"fresh_tail_max_tokens", o.FreshTailMaxTokens, -1}, {"leaf_chunk_tokens", o.LeafChunkTokens, 1},
		{"leaf_target_tokens", o.LeafTargetTokens, 1}, {"condensed_target_tokens", o.CondensedTargetTokens, 1},
		{"leaf_min_fanout", o.LeafMinFanout, 2}, {"condensed_min_fanout", o.CondensedMinFanout, 2}, {"condensed_min_fanout_hard", o.CondensedMinFanoutHard, 2},
		{"incremental_max_depth", *o.IncrementalMaxDepth, -1}, {"fallback_max_tokens", o.FallbackMaxTokens, 64},
		{"max_sweep_iterations", o.SweepMaxPasses, 1}, {"summary_max_calls_per_window", o.SummaryMaxCalls, 1},
		{"circuit_breaker_threshold", o.BreakerThreshold, 1}, {"max_assembly_token_budget", o.MaxAssemblyTokens, 0}, {"max_expand_tokens", o.MaxExpandTokens, 1},
		{"large_file_token_threshold", o.LargeFileTokens, 1}, {"bootstrap_max_tokens", o.BootstrapMaxTokens, 1},
		{"new_session_retain_depth", *o.NewSessionRetainDepth, -1},
	} {
		if f.value < f.min || f.value > most {
			errs = append(errs, fault.Invalid(f.name, f.value, fmt.Sprintf("%d to %d", f.min, most)))
		}
	}
	for _, f := range []struct {
		name  string
		value Duration
	}{
		{"summary_timeout", o.SummaryTimeout}, {"sweep_deadline", o.SweepDeadline}, {"compact_until_under_deadline", o.UntilUnderDeadline},
		{"summary_call_window", o.SummaryCallWindow}, {"summary_spend_backoff", o.SummarySpendBackoff}, {"circuit_breaker_cooldown", o.BreakerCooldown},
	} {
		if f.value <= 0 {
			errs = append(errs, fault.Invalid(f.name, time.Duration(f.value), "a time such as 60s"))
		}
	}
	return errors.Join(append(errs, fault.CheckTexts("ignore_session_patterns", o.IgnoreSessions),
		fault.CheckTexts("stateless_session_patterns", o.StatelessSessions), fault.CheckText("custom_instructions", o.Instructions))...)
}

// Location is where times are shown.
func (o Conversation) Location() *time.Location {
	return cmp.Or(o.zone, time.UTC)
}

// Resolved is o with its defaults, and what is wrong with it.
func (o Conversation) Resolved() (Conversation, error) {
	o = o.withDefaults()
	return o, o.validate()
}
