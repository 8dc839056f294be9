package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Retention is a policy: which memories are not kept for ever.
type Retention struct {
	Rules []RetentionRule `json:"rules"`
}

// RetentionRule takes the memories for which all that it says is so; what it leaves out is any.
type RetentionRule struct {
	Name       string     `json:"name"` // for reports, and the reason that a memory is forgotten for
	Categories []Category `json:"categories,omitempty"`
	Tiers      []Tier     `json:"tiers,omitempty"`
	Layers     []Layer    `json:"layers,omitempty"`
	Scopes     []string   `json:"scopes,omitempty"`
	Sources    []string   `json:"sources,omitempty"`
	// UnusedDays are the days without any use, OlderDays those since it was made. One of them is required.
	UnusedDays float64 `json:"unused_days,omitempty"`
	OlderDays  float64 `json:"older_days,omitempty"`
	// LessImportant than this, 0 to 1.
	LessImportant float64 `json:"less_important,omitempty"`
	// Action is forget or archive.
	Action string `json:"action"`
}

// What a rule does with a memory.
const (
	ForgetAction  = "forget"
	ArchiveAction = "archive"
)

// Retained says what a rule took, or would take, and what it would have taken had it always been there.
type Retained struct {
	Rule   string   `json:"rule"`
	Action string   `json:"action"`
	Taken  []string `json:"taken"`
	// Simulated is how many memories, forgotten ones too, would have met the rule at some time, and Missed how many of these were surely used after that. A memory has its last use
	// and how many there were: where their mean distance is longer than the rule allows, one of the gaps was. It may be more.
	Simulated int `json:"simulated"`
	Missed    int `json:"missed"`
}

const retentionSetting = "retention"

// validate names what is wrong.
func (r Retention) validate() error {
	var errs []error
	names := map[string]bool{}
	for i, rule := range r.Rules {
		of := fmt.Sprintf("rules[%d].", i)
		if rule.Name == "" || names[rule.Name] {
			errs = append(errs, fault.Invalid(of+"name", rule.Name, "a name that no other rule has"))
		}
		names[rule.Name] = true
		if rule.UnusedDays <= 0 && rule.OlderDays <= 0 {
			errs = append(errs, fault.Invalid(of+"unused_days and older_days", max(rule.UnusedDays, rule.OlderDays), "days, in one of them at least"))
		}
		if !(rule.UnusedDays >= 0 && rule.UnusedDays <= 36500 && rule.OlderDays >= 0 && rule.OlderDays <= 36500) {
			errs = append(errs, fault.Invalid(of+"unused_days and older_days", max(rule.UnusedDays, rule.OlderDays), "0 to 36500"))
		}
		if !(rule.LessImportant >= 0 && rule.LessImportant <= 1) {
			errs = append(errs, fault.Invalid(of+"less_important", rule.LessImportant, "0 to 1"))
		}
		errs = append(errs, fault.CheckText(of+"name", rule.Name), fault.Member(of+"action", rule.Action, []string{ForgetAction, ArchiveAction}),
			fault.Members(of+"categories", rule.Categories, Categories()), fault.Members(of+"tiers", rule.Tiers, Tiers()), fault.Members(of+"layers", rule.Layers, Layers()),
			fault.Members(of+"sources", rule.Sources, Sources()), fault.CheckTexts(of+"scopes", rule.Scopes))
	}
	return errors.Join(errs...)
}

// SetRetention stores the file's policy, which Maintain does by; one without rules removes it. Errors: ErrInvalid.
func (ms *Store) SetRetention(ctx context.Context, r Retention) error {
	if err := r.validate(); err != nil {
		return fmt.Errorf("set retention: %w", err)
	}
	return ms.file.Write(ctx, "set retention", func(tx *duck.Write) error {
		if len(r.Rules) == 0 {
			_, err := ms.file.DeleteSetting(ctx, tx, retentionSetting)
			return err
		}
		return ms.file.PutSetting(ctx, tx, retentionSetting, r)
	})
}

// Retention gives the file's policy; without rules there is none.
func (ms *Store) Retention(ctx context.Context) (r Retention, err error) {
	err = ms.file.Read(ctx, "retention", func(c *duck.Conn) error {
		_, err := ms.file.Setting(ctx, c, retentionSetting, &r)
		return err
	})
	return r, err
}

// retainable is a memory as rules look at it.
type retainable struct {
	id            string
	category      Category
	tier          Tier
	layer         Layer
	scope, source string
	importance    float64
	made, used    time.Time // used: last, or made where it never was
	uses          int
	stands        bool
}

// retain does what the policy says, rule by rule; the first that takes a memory has it.
func (ms *Store) retain(ctx context.Context, r MaintainRequest) (all []Retained, err error) {
	var policy Retention
	if r.Retention != nil {
		policy = *r.Retention
		err = policy.validate()
	} else {
		policy, err = ms.Retention(ctx)
	}
	if err != nil || len(policy.Rules) == 0 {
		return nil, err
	}
	var memories []retainable
	err = ms.file.Read(ctx, "maintain", func(c *duck.Conn) error {
		memories, err = duck.List(ctx, c, "memory_retainable", func(rows *sql.Rows, m *retainable) error {
			return rows.Scan(&m.id, &m.category, &m.tier, &m.layer, &m.scope, &m.source, &m.importance, &m.made, &m.used, &m.uses, &m.stands)
		}, sql.Named("at", ms.file.Now()))
		return err
	})
	if err != nil {
		return nil, err
	}
	now, taken := ms.file.Now(), map[string]bool{}
	for _, rule := range policy.Rules {
		of := Retained{Rule: rule.Name, Action: rule.Action, Taken: []string{}}
		for _, m := range memories {
			if !rule.concerns(m) {
				continue
			}
			met, missed := rule.simulate(m, now)
			if met {
				of.Simulated++
			}
			if missed {
				of.Missed++
			}
			if m.stands && !taken[m.id] && rule.meets(m, now) && !(rule.Action == ArchiveAction && m.layer == ArchiveLayer) {
				taken[m.id] = true
				of.Taken = append(of.Taken, m.id)
			}
		}
		if !r.DryRun {
			of.Taken, err = ms.takeBy(ctx, rule, of.Taken)
		}
		if all = append(all, of); err != nil {
			return all, err
		}
	}
	return all, nil
}

// takeBy does what a rule says with memories, and gives those that it was done with: whoever forgets one meanwhile, or uses it, is first.
func (ms *Store) takeBy(ctx context.Context, rule RetentionRule, ids []string) (taken []string, err error) {
	taken = []string{}
	for i, id := range ids {
		if rule.Action == ForgetAction {
			_, err = ms.Forget(ctx, ForgetRequest{ID: id, Reason: "retention: " + rule.Name})
		} else {
			state, layer := Archived, ArchiveLayer
			_, err = ms.Update(ctx, UpdateRequest{ID: id, State: &state, Layer: &layer, Extra: map[string]any{"archive_reason": "retention: " + rule.Name}})
		}
		switch {
		case err == nil:
			taken = append(taken, id)
		case !errors.Is(err, fault.ErrNotFound):
			return taken, err
		}
		if len(ids) > 100 {
			ms.opts.Progress("retention", i+1, len(ids))
		}
	}
	return taken, nil
}

func days(n float64) time.Duration { return time.Duration(n * 24 * float64(time.Hour)) }

// concerns reports whether a memory is one that a rule is about, whatever its age.
func (r RetentionRule) concerns(m retainable) bool {
	return within(r.Categories, m.category) && within(r.Tiers, m.tier) && within(r.Layers, m.layer) && within(r.Scopes, m.scope) && within(r.Sources, m.source) &&
		(r.LessImportant == 0 || m.importance < r.LessImportant)
}

func within[T comparable](allowed []T, v T) bool {
	return allowed == nil || slices.Contains(allowed, v)
}

// meets reports whether a rule takes a memory now.
func (r RetentionRule) meets(m retainable, now time.Time) bool {
	return now.Sub(m.made) >= days(r.OlderDays) && now.Sub(m.used) >= days(r.UnusedDays)
}

// simulate reports whether a rule would have taken a memory at any time until now, and whether the memory was surely used after that.
func (r RetentionRule) simulate(m retainable, now time.Time) (met, missed bool) {
	gap, age := days(r.UnusedDays), days(r.OlderDays)
	if lived := m.used.Sub(m.made); m.uses > 0 && lived > max(age, gap) {
		// One of several gaps is at least as long as the mean; the memory may have been too young at the end of that one.
		missed = gap == 0 || m.uses == 1 || age <= gap && lived/time.Duration(m.uses) > gap
	}
	return missed || r.meets(m, now), missed
}
