package extract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/memory"
)

// Request says what to extract from: messages of a conversation, or a text.
type Request struct {
	// Conversation is a name or id. From and To are messages of it by their seq; without them it is read on from where the last extraction stopped. Only what
	// users say is read.
	Conversation string
	From, To     int
	// Text is what to read in place of a conversation; At is when it was said (default now), and Session a name for where.
	Text    string
	At      time.Time
	Session string
	// Scope is what the memories are for. Default the conversation's, for a text that of the agent.
	Scope string
	Agent string // on whose behalf; empty: an internal caller
	// Trust of the memories. Default memory.Extracted.
	Trust memory.Trust
	// Rules has rules find the statements and judge them, also where there is a model.
	Rules bool
	// DryRun finds and judges, and stores nothing.
	DryRun bool
}

// Report says what an extraction found and did.
type Report struct {
	Conversation   string `json:"conversation,omitempty"`
	ConversationID string `json:"conversation_id,omitempty"`
	From           int    `json:"from,omitempty"` // what was read, by seq
	To             int    `json:"to,omitempty"`
	Messages       int    `json:"messages"` // that were read
	// Known are drafts that these messages gave before.
	Known  int     `json:"known,omitempty"`
	Drafts []Draft `json:"drafts"`
	// Counts has how often each verdict was reached; Stored are the memories that were made.
	Counts map[Verdict]int `json:"counts"`
	Stored int             `json:"stored"`
	// Model is the one that was asked; Calls how often. Fallback says why rules took its place.
	Model    string `json:"model,omitempty"`
	Calls    int    `json:"calls,omitempty"`
	Fallback string `json:"fallback,omitempty"`
	DryRun   bool   `json:"dry_run,omitempty"`
	// VectorErr: memories are stored that have no vector until RebuildIndex, for the model failed or took too long.
	VectorErr error `json:"-"`
}

// windowMessages is how many messages are read and written at once.
const windowMessages = 500

// Extract draws memories from talk: statements become drafts, each gets a verdict by what is known in the scope, and memories, drafts and the place up to
// which the conversation was read are written in one transaction for each window of the talk. What was read before gives nothing twice. With a model it
// finds and judges; where that fails, and without one, rules do. Errors: ErrNotFound, ErrInvalid, ErrBadScope, ErrScopeDenied; what was written by then stays.
func (ex *Extractor) Extract(ctx context.Context, r Request) (*Report, error) {
	done := &Report{Drafts: []Draft{}, Counts: map[Verdict]int{}, DryRun: r.DryRun}
	if err := ex.extract(ctx, r, done); err != nil {
		return done, fmt.Errorf("extract: %w", err)
	}
	return done, nil
}

func (r Request) validate() error {
	switch {
	case (r.Conversation == "") == (r.Text == ""):
		return fault.Invalid("conversation and text", r.Conversation, "one of them")
	case r.Text != "" && (r.From != 0 || r.To != 0):
		return fault.Invalid("from and to", fmt.Sprint(r.From, " ", r.To), "those of a conversation")
	case r.From < 0 || r.To < 0 || r.To > 0 && r.To < max(r.From, 1):
		return fault.Invalid("from and to", fmt.Sprint(r.From, " ", r.To), "seqs from 1, the first no greater than the last")
	}
	return cmp.Or(fault.Member("trust", cmp.Or(r.Trust, memory.Extracted), memory.Trusts()), fault.CheckText("conversation", r.Conversation), fault.CheckText("text", r.Text), fault.CheckText("session", r.Session), fault.CheckText("scope", r.Scope),
		fault.CheckTime("at", r.At))
}

func (ex *Extractor) extract(ctx context.Context, r Request, done *Report) error {
	if err := r.validate(); err != nil {
		return err
	}
	if !r.DryRun {
		if err := ex.file.Well(); err != nil {
			return err
		}
	}
	run := &run{Extractor: ex, request: r, report: done, ended: map[string]bool{}}
	if r.Text != "" {
		return run.text(ctx)
	}
	return run.conversation(ctx)
}

// run is one extraction on its way.
type run struct {
	*Extractor
	request Request
	report  *Report
	scope   string
	said    string // all of the window that is read
	called  string // the last call of the model

	// planned are the proposals that later drafts are held against: those of the window, and with DryRun of all windows before. ended are the memories that
	// some of them supersede.
	planned []*candidate
	ended   map[string]bool
}

// turn is a message as it is read.
type turn struct {
	id, session, speaker, text string
	seq                        int
	at                         time.Time
}

// window is what is read at once.
type window struct {
	conversationID string
	from, to       int // seqs; 0: a text
	cursor         int // up to where the conversation was read before; -1: this window leaves the cursor alone
	turns          []turn
}

func (x *run) text(ctx context.Context) (err error) {
	if x.scope, err = x.scopes.Now().ForWriting(x.request.Agent, x.request.Scope); err != nil {
		return err
	}
	at := duck.OrTime(duck.UTC(x.request.At), x.file.Now())
	x.report.Messages = 1
	return x.window(ctx, &window{cursor: -1, turns: []turn{{text: x.request.Text, session: x.request.Session, at: at}}})
}

// errMoved: somebody else was faster. What was decided is decided anew.
var errMoved = errors.New("what was compared has changed")

// mostTries is how often a window is decided on anew.
const mostTries = 10

// window finds, judges and writes the drafts of a window.
func (x *run) window(ctx context.Context, w *window) error {
	var said strings.Builder
	for _, t := range w.turns {
		said.WriteString(t.text + "\n")
	}
	x.said = said.String()
	for try := 1; ; try++ {
		drafts, proposals, err := x.propose(ctx, w)
		if err != nil {
			return err
		}
		planned, ended := len(x.planned), maps.Clone(x.ended)
		candidates, edits, err := x.judgeAll(ctx, drafts, proposals)
		if err == nil && !x.request.DryRun {
			err = x.write(ctx, w, drafts, candidates, edits)
		}
		if errors.Is(err, errMoved) && try < mostTries {
			x.planned, x.ended = x.planned[:planned], ended
			continue
		}
		if err != nil {
			return err
		}
		x.note(drafts, candidates)
		return nil
	}
}

// note counts what was decided.
func (x *run) note(drafts []*Draft, candidates []*candidate) {
	for _, d := range drafts {
		x.report.Counts[d.Verdict]++
		x.report.Drafts = append(x.report.Drafts, *d)
	}
	for _, c := range candidates {
		if c.stored {
			x.report.Stored++
			x.report.VectorErr = cmp.Or(x.report.VectorErr, c.proposal.VectorErr())
		}
	}
	if !x.request.DryRun { // they are in the file now
		x.planned, x.ended = nil, map[string]bool{}
	}
}

// propose gives the drafts of a window and the memories that they might become; the latter is nil where a draft can't be one.
func (x *run) propose(ctx context.Context, w *window) ([]*Draft, []*memory.Proposal, error) {
	drafts, err := x.find(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	requests := make([]memory.RememberRequest, len(drafts))
	for i, d := range drafts {
		requests[i] = x.remembering(d, w.turns[d.at])
	}
	proposals, errs, err := x.memories.Propose(ctx, requests)
	for i, d := range drafts {
		if errs != nil {
			d.failed = errs[i]
		}
	}
	return drafts, proposals, err
}

// remembering is the memory that a draft would be.
func (x *run) remembering(d *Draft, of turn) memory.RememberRequest {
	r := memory.RememberRequest{Text: d.Text, L1: d.Overview, L2: d.Content, Scope: d.Scope, Agent: x.request.Agent, Category: d.Category,
		Importance: &d.Importance, Confidence: &d.Confidence, Layer: memory.WorkingLayer, FactKey: d.FactKey, CreatedAt: d.SaidAt, Source: "auto-capture",
		SourceSession: cmp.Or(of.session, d.ConversationID), Trust: x.request.Trust}
	if d.Context != "" {
		r.Contexts = []string{d.Context}
	}
	x.date(&r, d)
	return r
}
