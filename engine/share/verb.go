package share

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/lineage"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/scope"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// Verb is one thing that a file can be asked for: a method of the engine, by a name.
type Verb[Q, A any] struct {
	name string
	do   func(*engine.Engine, context.Context, Q) (A, error)
	bind bound[Q]
}

// bound makes a request its caller's, or refuses it: who asks through a holder gets what he would with an engine of his own, or an error.
type bound[Q any] func(context.Context, *Q, Caller, *engine.Engine) error

// The verbs.
var (
	Recall       = Verb[recall.Query, *recall.Result]{"recall", (*engine.Engine).Recall, bindRecall}
	List         = Verb[memory.ListRequest, []*memory.Memory]{"list", (*engine.Engine).List, byAgent(func(r *memory.ListRequest) *string { return &r.Agent })}
	Get          = Verb[memory.GetRequest, *memory.Memory]{"get", (*engine.Engine).Get, byAgent(func(r *memory.GetRequest) *string { return &r.Agent })}
	History      = Verb[memory.HistoryRequest, *memory.History]{"history", (*engine.Engine).History, byAgent(func(r *memory.HistoryRequest) *string { return &r.Agent })}
	Lineage      = Verb[lineage.Request, *lineage.Lineage]{"lineage", (*engine.Engine).Lineage, byAgent(func(r *lineage.Request) *string { return &r.Agent })}
	Grep         = Verb[lookup.GrepRequest, *lookup.GrepResult]{"grep", (*engine.Engine).Grep, byAgent(func(r *lookup.GrepRequest) *string { return &r.Agent })}
	Search       = Verb[lookup.SearchRequest, *lookup.SearchResult]{"search", (*engine.Engine).Search, bindSearch}
	Gaps         = Verb[lookup.GapsRequest, []lookup.Gap]{"gaps", (*engine.Engine).Gaps, byAgent(func(r *lookup.GapsRequest) *string { return &r.Agent })}
	Tally        = Verb[lookup.TallyRequest, []lookup.Tallied]{"tally", (*engine.Engine).Tally, byAgent(func(r *lookup.TallyRequest) *string { return &r.Agent })}
	Stats        = Verb[None, *upkeep.Stats]{"stats", stats, byOwner[None]}
	Snapshot     = Verb[string, None]{"snapshot", snapshot, bindSnapshot}
	Scopes       = Verb[None, scope.Scopes]{"scopes", scopes, byAnyone[None]}
	UnusedScopes = Verb[[]string, []string]{"unused_scopes", (*engine.Engine).UnusedScopes, byAnyone[[]string]}
)

// verbs are all of them, as the holder of a file answers them.
var verbs = []interface {
	called() string
	answer(ctx context.Context, e *engine.Engine, c Caller, request json.RawMessage) (any, error)
}{Recall, List, Get, History, Lineage, Grep, Search, Gaps, Tally, Stats, Snapshot, Scopes, UnusedScopes}

// None is a request or an answer that says nothing.
type None struct{}

func stats(e *engine.Engine, ctx context.Context, _ None) (*upkeep.Stats, error) { return e.Stats(ctx) }

func snapshot(e *engine.Engine, ctx context.Context, out string) (None, error) {
	return None{}, e.Snapshot(ctx, out)
}

func scopes(e *engine.Engine, _ context.Context, _ None) (scope.Scopes, error) {
	return e.Scopes(), nil
}

// Do asks the file.
func (v Verb[Q, A]) Do(ctx context.Context, r *Reader, q Q) (a A, err error) {
	if r.Engine != nil {
		return v.do(r.Engine, ctx, q)
	}
	err = r.holder.ask(ctx, v.name, q, &a)
	return a, err
}

func (v Verb[Q, A]) called() string { return v.name }

// answer is Do in the holder, for a request as it came.
func (v Verb[Q, A]) answer(ctx context.Context, e *engine.Engine, c Caller, request json.RawMessage) (any, error) {
	var q Q
	if err := decode(request, &q); err != nil {
		return nil, fmt.Errorf("%s: %w", v.name, err)
	}
	if err := v.bind(ctx, &q, c, e); err != nil {
		return nil, err
	}
	return v.do(e, ctx, q)
}

// Caller says who asks, and with what it would have opened the file.
type Caller struct {
	Agent       string               `json:"agent,omitempty"` // for whom all of it is; empty: the owner, whose requests may name one
	Model       string               `json:"model,omitempty"` // of the vectors it counts on, and its fingerprint; empty: none
	Fingerprint string               `json:"fingerprint,omitempty"`
	Lexical     setup.LexicalBackend `json:"lexical,omitempty"` // empty: any
}

// byAgent has the caller's agent in the field that agent gives.
func byAgent[Q any](agent func(*Q) *string) bound[Q] {
	return func(_ context.Context, q *Q, c Caller, _ *engine.Engine) error {
		if c.Agent != "" {
			*agent(q) = c.Agent
		}
		return nil
	}
}

// byAnyone is for what tells of no memory.
func byAnyone[Q any](context.Context, *Q, Caller, *engine.Engine) error { return nil }

// byOwner is for what is about the whole file.
func byOwner[Q any](_ context.Context, _ *Q, c Caller, _ *engine.Engine) error {
	if c.Agent != "" {
		return fmt.Errorf("%w: agent is %q; what is about the whole file is allowed without one", engine.ErrScopeDenied, c.Agent)
	}
	return nil
}

// bindSnapshot is for the owner, who may be in another folder than the process that has the file.
func bindSnapshot(ctx context.Context, out *string, c Caller, e *engine.Engine) error {
	if *out != "" && !filepath.IsAbs(*out) {
		return fmt.Errorf("snapshot: %w: out is %q; allowed: a whole path, of what another process makes", engine.ErrInvalid, *out)
	}
	return byOwner(ctx, out, c, e)
}

// bindRecall has words looked up and questions embedded as the caller would, or by nobody.
func bindRecall(ctx context.Context, q *recall.Query, c Caller, e *engine.Engine) error {
	if c.Agent != "" {
		q.Agent = c.Agent
	}
	switch {
	case c.Fingerprint == "" && q.Mode == "":
		q.Mode = recall.LexicalMode
	case c.Fingerprint == "" && (q.Mode == recall.Hybrid || q.Mode == recall.VectorMode):
		return fmt.Errorf("recall: %w: mode %s needs one; open with Options.Embedder, or ask for mode lexical", engine.ErrNoEmbedder, q.Mode)
	}
	return bindModel(ctx, c, e, "mode lexical")
}

// bindSearch is bindRecall for what is searched.
func bindSearch(ctx context.Context, r *lookup.SearchRequest, c Caller, e *engine.Engine) error {
	if c.Agent != "" {
		r.Agent = c.Agent
	}
	switch {
	case r.Match == lookup.ExactMatch || r.Match == lookup.RecentMatch:
		return nil
	case c.Fingerprint == "" && r.Match == lookup.SemanticMatch:
		return fmt.Errorf("search: recall: %w: mode %s needs one; open with Options.Embedder, or ask for mode lexical", engine.ErrNoEmbedder, recall.VectorMode)
	case c.Fingerprint == "":
		r.WordsOnly = true
	}
	return bindModel(ctx, c, e, "match exact")
}

// bindModel refuses a caller who would look words up otherwise than the holder, or counts on vectors of another model; instead is what needs none.
func bindModel(ctx context.Context, c Caller, e *engine.Engine, instead string) error {
	o := e.Options()
	by := e.Embedder()
	if by == nil {
		by = o.Embedder
	}
	switch {
	case c.Lexical != "" && c.Lexical != o.Lexical:
		return fmt.Errorf("%w: Lexical is %q; allowed: %s, as in the process that has the file", engine.ErrInvalid, c.Lexical, o.Lexical)
	case c.Fingerprint == "" || by != nil && c.Fingerprint == by.Fingerprint():
	case by != nil:
		return fmt.Errorf("%w: the process that has the file brings %s, this program %s; use the former", engine.ErrModelMismatch, by.Model(), c.Model)
	default:
		v, err := e.Stats(ctx)
		if err == nil && v.Model != "" {
			err = fmt.Errorf("%w: the process that has the file brings none for its vectors; ask for %s", engine.ErrNoEmbedder, instead)
		}
		return err
	}
	return nil
}
