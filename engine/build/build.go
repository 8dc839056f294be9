package build

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// ErrorClass is the class of every Error, as openboa names it.
const ErrorClass = "context_build_error"

// Stage is where a build failed.
type Stage string

// The stages that can fail for good. A selector or a recall that fails never ends a build.
const (
	StageLoad     Stage = "load"
	StageBudget   Stage = "budget"
	StageRender   Stage = "render"
	StageSnapshot Stage = "snapshot"
)

// What to do about a build that failed.
const (
	NextRetry  = "retry"         // it may pass
	NextRepair = "repair_import" // the conversation is damaged, or was imported by halves: memctl doctor says more
	NextRaise  = "raise_budget"
)

// Error is a build that failed. A row of it is kept where the conversation is known and the file can be written; messages are as they were.
type Error struct {
	Stage      Stage
	NextAction string
	Err        error
}

func (e *Error) Error() string { return fmt.Sprintf("build: %s: %v", e.Stage, e.Err) }

// Unwrap gives what it failed by.
func (e *Error) Unwrap() error { return e.Err }

// Build makes the context of the next call of a model, as the preset says. The same file, preset and request give the same hash, whenever and
// wherever they are asked for. Errors: ErrInvalid, ErrNotFound, ErrAmbiguous, and *Error, which wraps what it failed by: ErrBudget with Strict.
func (b *Builder) Build(ctx context.Context, r Request) (*Built, error) {
	return b.build(ctx, r, nil)
}

func (b *Builder) build(ctx context.Context, r Request, replay *Snapshot) (*Built, error) {
	p, err := r.effective(b.opts)
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	g := &building{builder: b, request: r, preset: p, replay: replay}
	g.zone, _ = time.LoadLocation(p.Timezone) // validate has tried it
	g.cost = estimators[p.Budget.Estimator]
	stage, err := g.run(ctx)
	if err == nil {
		return &g.built, nil
	}
	if g.conversation == nil || ctx.Err() != nil || errors.Is(err, fault.ErrInvalid) || errors.Is(err, fault.ErrClosed) {
		return nil, fmt.Errorf("build: %w", err)
	}
	failed := &Error{Stage: stage, NextAction: NextRetry, Err: err}
	switch {
	case errors.Is(err, fault.ErrBudget):
		failed.NextAction = NextRaise
	case errors.Is(err, fault.ErrCorrupt):
		failed.NextAction = NextRepair
	}
	if stage != StageSnapshot && replay == nil {
		if kept := b.keepFailure(ctx, g, failed); kept != nil && !errors.Is(kept, fault.ErrReadOnly) {
			failed.Err = errors.Join(err, kept)
		}
	}
	return nil, failed
}

// building is one Build on its way.
type building struct {
	builder      *Builder
	request      Request
	preset       Preset
	replay       *Snapshot // what is built again; nil: nothing
	zone         *time.Location
	cost         func(string) int
	conversation *conversation.Conversation

	rows    []*row // that were looked at, in their order
	units   []*unit
	answers *row // what the request answers
	alone   bool // and nothing else is shown
	input   string
	used    int // tokens that the provider counted; 0: nobody knows
	summary *Item
	system  string             // of a context: how a model expands summaries
	shown   []*row             // of the history, in the order that it is shown in
	parts   map[string][]*Item // by section, in their order
	built   Built
}

// run goes through the stages, and says which of them failed.
func (g *building) run(ctx context.Context) (Stage, error) {
	g.parts = map[string][]*Item{}
	g.built = Built{Preset: g.preset.Name, Config: g.preset, BuiltAt: g.at(), Items: []Item{}, Sections: []Section{}}
	if err := g.load(ctx); err != nil {
		return StageLoad, err
	}
	g.filter()
	g.guarantee()
	g.choose(ctx)
	if err := g.tell(); err != nil {
		return StageRender, err
	}
	if err := g.enrich(ctx); err != nil {
		return StageLoad, err
	}
	g.fit()
	if g.built.OverBudget && g.request.Strict {
		used := g.total()
		if g.preset.Budget.Of == OfHistory {
			used = g.sum(History)
		}
		return StageBudget, fmt.Errorf("%w: what must be shown costs %d, the budget is %d", fault.ErrBudget, used, g.room())
	}
	g.render()
	if err := g.seal(); err != nil {
		return StageRender, err
	}
	if g.replay == nil && (g.request.Snapshot || g.preset.Snapshot == "always") {
		return StageSnapshot, g.keep(ctx)
	}
	return "", nil
}

func (g *building) notice(format string, args ...any) {
	g.built.Notices = append(g.built.Notices, fmt.Sprintf(format, args...))
}

// row is a message that was looked at.
type row struct {
	message *conversation.Message
	event   bool // it tells what was done
	item    *Item
	tools   []*Item // snippets of what it did
	body    string  // what it says, as it costs where roles do
	actions []string
	summary bool
	tail    bool
}

// unit is what a window counts and a selector chooses: a row, or a pair of what the user said with all that was said to it.
type unit struct {
	rows    []*row
	kept    bool
	reason  string
	recent  bool // guaranteed
	answers bool
}

// at is when it was said first.
func (u *unit) at() time.Time { return u.rows[0].message.SaidAt }

// kind is what brought it about.
func (u *unit) kind() string {
	for _, r := range u.rows {
		if k := r.message.SourceKind; k != "" {
			return k
		}
	}
	return ""
}

// drop leaves a unit out.
func (u *unit) drop(reason string) { u.kept, u.reason = false, reason }

// name is the same in every copy of a conversation: an import gives new ids, and keys to what has none.
func name(m *conversation.Message) string { return fmt.Sprintf("#%d", m.Seq) }
