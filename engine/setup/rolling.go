package setup

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Rolling says how conversations are compacted in the rolling way, and when they get checkpoints and prompts to write things down. Zero values are the defaults,
// but for the pointers, whose nil is. The names in the tags are those of the table [rolling] in a configuration file.
type Rolling struct {
	// Reserve is how many tokens of the budget are kept free. Default 4,000. MaxMessages in the context are reason enough to compact; 0: their number has
	// no say. Default 500.
	Reserve     *int `toml:"reserve_tokens"`
	MaxMessages *int `toml:"max_messages"`
	// KeepPercent of the messages stay, and MinMessages at least; EmergencyPercent where no summary could be written. Default 50, 20 and 70.
	KeepPercent      int `toml:"keep_percent"`
	MinMessages      int `toml:"min_messages"`
	EmergencyPercent int `toml:"emergency_percent"`
	// PreferCheckpoint takes a checkpoint that has read half of the context for its summary, and asks no model. Default true.
	PreferCheckpoint *bool `toml:"prefer_checkpoint"`
	// Async asks no model either: a line takes the place of the messages until RetryPending has written their summary. Default false.
	Async bool `toml:"async"`

	// FailureThreshold failures in a row have a model left out, as long as another one comes after it; FailureReset after its last attempt it is asked again.
	// Default 3 and 30 min.
	FailureThreshold int      `toml:"failure_threshold"`
	FailureReset     Duration `toml:"failure_reset"`
	// Cooldown says how models that fail are left alone: by that count (counter, the default), or each for a time that grows with its failures and depends on the
	// class of the last one (ladder).
	Cooldown string `toml:"cooldown"`

	// Checkpoints has MaybeCheckpoint make any. Default true.
	Checkpoints *bool `toml:"checkpoints"`
	// CheckpointThresholds of the budget, in per cent, call for one. Default 25, 50, 75. CheckpointTurns messages of the user do too; 0: their number has no
	// say. Default 10. In a context of fewer than CheckpointMinTokens there is none. Default 5,000.
	CheckpointThresholds []int `toml:"checkpoint_thresholds"`
	CheckpointTurns      *int  `toml:"checkpoint_turns"`
	CheckpointMinTokens  *int  `toml:"checkpoint_min_tokens"`
	// CheckpointDeadline is how long making one may take. Default 10 min.
	CheckpointDeadline Duration `toml:"checkpoint_deadline"`

	// FlushThresholds are when a model is asked to write down what it must not forget: each is a share of the budget in per cent, who says it (system or user),
	// repeat where that may come again before the next compaction, and the text; without a text the engine's own. In the text YYYY-MM-DD is the day.
	// Default "50 system" and "75 user".
	FlushThresholds []string `toml:"flush_thresholds"`
	// FlushCatchUp has the lower thresholds that were jumped over fire too, one after the other. Default false.
	FlushCatchUp bool `toml:"flush_catch_up"`
}

// Ways to leave failing models alone.
const (
	CooldownCounter = "counter"
	CooldownLadder  = "ladder"
)

// Cooldowns lists them all.
func Cooldowns() []string { return []string{CooldownCounter, CooldownLadder} }

// FlushThreshold is one of Rolling.FlushThresholds.
type FlushThreshold struct {
	Percent int
	As      string // system or user
	Repeat  bool
	Text    string // empty: the engine's own
}

func (o Rolling) withDefaults() Rolling {
	number := func(field **int, n int) { Preset(field, &n) }
	yes := true
	number(&o.Reserve, 4000)
	number(&o.MaxMessages, 500)
	Preset(&o.KeepPercent, 50)
	Preset(&o.MinMessages, 20)
	Preset(&o.EmergencyPercent, 70)
	Preset(&o.PreferCheckpoint, &yes)
	Preset(&o.FailureThreshold, 3)
	Preset(&o.FailureReset, Duration(30*time.Minute))
	Preset(&o.Cooldown, CooldownCounter)
	Preset(&o.Checkpoints, &yes)
	if o.CheckpointThresholds == nil {
		o.CheckpointThresholds = []int{25, 50, 75}
	}
	number(&o.CheckpointTurns, 10)
	number(&o.CheckpointMinTokens, 5000)
	Preset(&o.CheckpointDeadline, Duration(10*time.Minute))
	if o.FlushThresholds == nil {
		o.FlushThresholds = []string{"50 system", "75 user"}
	}
	return o
}

// validate names every field that is wrong; o has its defaults.
func (o Rolling) validate() error {
	const most = 1 << 30
	errs := []error{fault.Member("Rolling.Cooldown", o.Cooldown, Cooldowns())}
	for _, f := range []struct {
		name             string
		value, min, most int
	}{
		{"Reserve", *o.Reserve, 0, most}, {"MaxMessages", *o.MaxMessages, 0, most}, {"KeepPercent", o.KeepPercent, 1, 100},
		{"MinMessages", o.MinMessages, 1, most}, {"EmergencyPercent", o.EmergencyPercent, 1, 100}, {"FailureThreshold", o.FailureThreshold, 1, most},
		{"CheckpointTurns", *o.CheckpointTurns, 0, most}, {"CheckpointMinTokens", *o.CheckpointMinTokens, 0, most},
	} {
		if f.value < f.min || f.value > f.most {
			errs = append(errs, fault.Invalid("Rolling."+f.name, f.value, fmt.Sprintf("%d to %d", f.min, f.most)))
		}
	}
	for i, percent := range o.CheckpointThresholds {
		if percent < 1 || percent > 100 || i > 0 && percent <= o.CheckpointThresholds[i-1] {
			errs = append(errs, fault.Invalid("Rolling.CheckpointThresholds", o.CheckpointThresholds, "1 to 100 each, ascending"))
			break
		}
	}
	for _, f := range []struct {
		name  string
		value Duration
	}{{"FailureReset", o.FailureReset}, {"CheckpointDeadline", o.CheckpointDeadline}} {
		if f.value <= 0 {
			errs = append(errs, fault.Invalid("Rolling."+f.name, time.Duration(f.value), "a time such as 30m"))
		}
	}
	_, err := o.Flushes()
	return errors.Join(append(errs, err)...)
}

// Resolved is o with its defaults, and what is wrong with it.
func (o Rolling) Resolved() (Rolling, error) {
	o = o.withDefaults()
	return o, o.validate()
}

// Flushes reads FlushThresholds, and gives them ascending. Errors: ErrInvalid.
func (o Rolling) Flushes() (all []FlushThreshold, err error) {
	for _, said := range o.FlushThresholds {
		bad := fault.Invalid("Rolling.FlushThresholds", said, `a percentage of 1 to 100, each once, system or user, and if you like repeat and a text, such as "75 user Write it down."`)
		words := strings.Fields(said)
		if len(words) < 2 {
			return nil, bad
		}
		percent, err := strconv.Atoi(words[0])
		f := FlushThreshold{Percent: percent, As: words[1], Repeat: len(words) > 2 && words[2] == "repeat"}
		used := slices.ContainsFunc(all, func(other FlushThreshold) bool { return other.Percent == percent })
		if err != nil || percent < 1 || percent > 100 || used || f.As != "system" && f.As != "user" || fault.CheckText("Rolling.FlushThresholds", said) != nil {
			return nil, bad
		}
		rest := said
		for n := range 3 {
			if n < 2 || f.Repeat {
				rest = strings.TrimPrefix(strings.TrimSpace(rest), words[n])
			}
		}
		f.Text = strings.TrimSpace(rest)
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b FlushThreshold) int { return a.Percent - b.Percent })
	return all, nil
}
