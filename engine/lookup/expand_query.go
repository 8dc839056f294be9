package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/prompts"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/window"
)

// ExpandQueryRequest asks a question of what was said in a conversation.
type ExpandQueryRequest struct {
	Prompt string // the question to answer
	Query  string // what to look for; default Prompt
	// Conversation, by name or id, with all others of its session key. It may be empty with SummaryIDs.
	Conversation string
	SummaryIDs   []string // look only below these; default below all
	// InContext looks through what is in the context too, which a model that asks has before it and a person has not.
	InContext bool
	Limit     int    // of the excerpts; default 10 without a model that reads them, else as many as fit
	TokenCap  int    // of what is expanded; default Options.Conversation.MaxExpandTokens
	MaxTokens int    // how long a model's answer may be; default 2,000
	Agent     string // empty: an internal caller
	Grant     string // as for ExpandRequest
}

// QueryAnswer answers a question from what was said.
type QueryAnswer struct {
	// Answer is the model's, or without one the excerpts themselves, best first. Ids in square brackets are its sources.
	Answer string `json:"answer"`
	Model  string `json:"model,omitempty"` // that answered; empty: none
	// ModelErr says why the model did not answer; the excerpts are there.
	ModelErr error `json:"-"`
	// Excerpts are the messages that fit the question best, best first; none of the context, unless the request says InContext.
	Excerpts  []Excerpt `json:"excerpts"`
	Summaries []string  `json:"summaries"` // ids of those that stand for them, in the same order
	Tokens    int       `json:"tokens"`    // of the excerpts
	Truncated bool      `json:"truncated"` // more was found than fits, or than Limit
	// Route is how much work the question is: whether to answer it here, or to have somebody else read.
	Route window.RouteDecision `json:"route"`
}

// Excerpt is a message and where it stands.
type Excerpt struct {
	Message *conversation.Message `json:"message"`
	Summary string                `json:"summary,omitempty"` // the leaf that stands for it; empty: it was set aside, or is in the context
	Score   float64               `json:"score"`             // of the recall; 0: it stands beside one that was found, or below a summary that was
	// Passage is what is shown, and counted, of a long message that was found; nil: all of it is.
	Passage *recall.Passage `json:"passage,omitempty"`

	part string // that passage, as it is shown
}

// shown is what is read of an excerpt.
func (v Excerpt) shown() string {
	if v.Passage != nil {
		return v.part
	}
	return v.Message.Whole()
}

// ExpandQuery finds the messages that answer a question among those that only summaries stand for, or with InContext among all of the
// conversation, best first as Recall ranks them, and has the model answer from them, within setup.Conversation.SummaryTimeout. When nothing is found the answer says so. Errors: ErrInvalid, ErrNotFound, ErrAmbiguous, ErrGrant,
// ErrGrantSpent.
func (ts *Tools) ExpandQuery(ctx context.Context, r ExpandQueryRequest) (*QueryAnswer, error) {
	r.Query = cmp.Or(strings.TrimSpace(r.Query), r.Prompt)
	setup.Preset(&r.TokenCap, ts.opts.Conversation.MaxExpandTokens)
	setup.Preset(&r.MaxTokens, 2000)
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("expand query: %w", err)
	}
	if r.Limit == 0 && ts.opts.LLM == nil {
		r.Limit = 10
	}
	estimator, err := text.NewEstimator(ts.opts.Conversation.Estimator)
	if err != nil {
		return nil, fmt.Errorf("expand query: %w", err)
	}
	x := &inquiry{tools: ts, request: r, estimator: estimator, cap: r.TokenCap, agent: r.Agent, taken: map[string]bool{},
		result: &QueryAnswer{Excerpts: []Excerpt{}, Summaries: []string{}}}
	if err := x.gather(ctx); err != nil {
		return nil, fmt.Errorf("expand query: %w", err)
	}
	x.result.Route = window.Route(r.Prompt, len(x.result.Summaries), x.cap)
	if err := x.answer(ctx); err != nil {
		return nil, fmt.Errorf("expand query: %w", err)
	}
	return x.result, nil
}

func (r ExpandQueryRequest) validate() error {
	switch {
	case strings.TrimSpace(r.Prompt) == "":
		return fault.Invalid("prompt", r.Prompt, "a question")
	case len(r.Prompt) > recall.MaxQuery:
		return fault.Invalid("prompt", fmt.Sprintf("%d bytes long", len(r.Prompt)), fmt.Sprintf("at most %d", recall.MaxQuery))
	case len(r.Query) > recall.MaxQuery:
		return fault.Invalid("query", fmt.Sprintf("%d bytes long", len(r.Query)), fmt.Sprintf("at most %d", recall.MaxQuery))
	case r.Conversation == "" && len(r.SummaryIDs) == 0:
		return fault.Invalid("conversation", "", "a name or id, or ids of summaries")
	case r.Limit < 0 || r.Limit > recall.MaxLimit:
		return fault.Invalid("limit", r.Limit, "1 to 1000")
	case r.TokenCap < 0:
		return fault.Invalid("token_cap", r.TokenCap, "1 or more")
	case r.MaxTokens < 0:
		return fault.Invalid("max_tokens", r.MaxTokens, "1 or more")
	}
	return cmp.Or(fault.CheckText("prompt", r.Prompt), fault.CheckText("query", r.Query), fault.CheckText("conversation", r.Conversation), fault.CheckTexts("summary_ids", r.SummaryIDs))
}

// inquiry is one ExpandQuery on its way.
type inquiry struct {
	tools   *Tools
	request ExpandQueryRequest
	result  *QueryAnswer

	estimator     text.Estimator
	cap           int
	agent         string
	conversations []string // ids
	below         []*compact.Summary
	taken         map[string]bool // messages
}

// gather fills in the excerpts. A grant is held meanwhile.
func (x *inquiry) gather(ctx context.Context) error {
	ts := x.tools
	grant, err := ts.hold(ctx, x.request.Grant)
	if err != nil {
		return err
	}
	defer grant.release()
	if grant != nil {
		x.agent = grant.Issuer
	}
	if err := ts.file.Read(ctx, "read", func(c *duck.Conn) error { return x.settle(ctx, c, grant) }); err != nil {
		return err
	}
	if err := x.find(ctx); err != nil {
		return err
	}
	if grant != nil {
		grant.consume(x.result.Tokens)
	}
	return nil
}

// settle finds where to look.
func (x *inquiry) settle(ctx context.Context, c *duck.Conn, grant *heldGrant) error {
	ts, r := x.tools, x.request
	if r.Conversation != "" {
		g := grep{tools: ts, request: GrepRequest{Conversation: r.Conversation, Agent: x.agent}}
		if err := g.settle(ctx, c); err != nil {
			return err
		}
		x.conversations = g.conversations
	}
	if grant != nil {
		left, err := grant.room()
		if err != nil {
			return err
		}
		x.cap = min(x.cap, left)
		x.conversations = slices.DeleteFunc(x.conversations, func(id string) bool { return !slices.Contains(grant.Conversations, id) })
		if r.Conversation != "" && len(x.conversations) == 0 {
			return grant.lacks(r.Conversation)
		}
	}
	roots, err := x.roots(ctx, c, grant)
	if err != nil {
		return err
	}
	for _, n := range roots {
		s, _, err := compact.SummaryByID(ctx, c, n.id)
		if err != nil {
			return err
		}
		x.below = append(x.below, s)
		if r.Conversation == "" && !slices.Contains(x.conversations, n.conversationID) {
			x.conversations = append(x.conversations, n.conversationID)
		}
	}
	return nil
}

// roots finds the summaries to look below: those of the request, or else those of the grant that are of the conversation.
func (x *inquiry) roots(ctx context.Context, c *duck.Conn, grant *heldGrant) (roots []*named, err error) {
	r := x.request
	elsewhere := func(n *named) bool {
		return n.kind != kinds.Summary || r.Conversation != "" && !slices.Contains(x.conversations, n.conversationID)
	}
	for _, id := range r.SummaryIDs {
		n, err := x.tools.lookUp(ctx, c, id, x.agent)
		if err != nil {
			return nil, err
		}
		if elsewhere(n) {
			return nil, fault.Invalid("summary_ids", id, "summaries of the conversation")
		}
		roots = append(roots, n)
	}
	if grant == nil {
		return roots, nil
	}
	if len(roots) > 0 || len(grant.Summaries) == 0 {
		return roots, grant.covers(ctx, c, roots)
	}
	for _, id := range grant.Summaries {
		n, err := x.tools.lookUp(ctx, c, id, x.agent)
		if err != nil && !errors.Is(err, fault.ErrNotFound) { // it may have been purged
			return nil, err
		}
		if err == nil && !elsewhere(n) {
			roots = append(roots, n)
		}
	}
	if len(roots) == 0 {
		return nil, grant.lacks(r.Conversation)
	}
	return roots, nil
}

// nothingFound is the answer when there is no excerpt.
func (x *inquiry) nothingFound() string {
	switch {
	case x.result.Truncated:
		return fmt.Sprintf("What matches the question is longer than %s.", counted(x.cap, "token"))
	case x.request.InContext:
		return "Nothing that was said matches the question."
	}
	return "Nothing that was summarised or set aside matches the question."
}

// answer has the model answer, from the excerpts in the order of their time, or gives the excerpts, best first.
func (x *inquiry) answer(ctx context.Context) error {
	if len(x.result.Excerpts) == 0 {
		x.result.Answer = x.nothingFound()
		return nil
	}
	x.result.Answer = x.text()
	llm := x.tools.opts.LLM
	if llm == nil {
		return nil
	}
	input := prompts.AnswerInput{Question: x.request.Prompt, TargetTokens: x.request.MaxTokens}
	for _, excerpt := range x.inTime() {
		input.Excerpts = append(input.Excerpts, prompts.Excerpt{ID: excerpt.citation(), Text: fmt.Sprintf("%s, %s: %s",
			assemble.Byline(excerpt.Message.Speaker, excerpt.Message.Role), x.stamp(excerpt.Message.SaidAt), excerpt.shown())})
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(x.tools.opts.Conversation.SummaryTimeout))
	defer cancel()
	answer, err := llm.Complete(limited, prompts.AnswerSystem(), prompts.Answer(input), x.request.MaxTokens)
	switch answer = strings.TrimSpace(conversation.CleanText(answer)); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		x.result.ModelErr = fmt.Errorf("%s: %w", llm.Model(), err)
	case answer == "":
		x.result.ModelErr = fmt.Errorf("%s: %w", llm.Model(), errors.New("empty answer"))
	default:
		x.result.Answer, x.result.Model = answer, llm.Model()
	}
	return nil
}

// citation is what an excerpt is cited by: its summary, which can be expanded again, or else the message.
func (v Excerpt) citation() string { return cmp.Or(v.Summary, v.Message.ID) }

// inTime gives the excerpts as they were said.
func (x *inquiry) inTime() []Excerpt {
	return slices.SortedStableFunc(slices.Values(x.result.Excerpts), func(a, b Excerpt) int {
		return cmp.Or(cmp.Compare(slices.Index(x.conversations, a.Message.ConversationID), slices.Index(x.conversations, b.Message.ConversationID)),
			cmp.Compare(a.Message.Seq, b.Message.Seq))
	})
}

func (x *inquiry) stamp(t time.Time) string {
	return conversation.Moment(t, x.tools.opts.Conversation.Location())
}

// text is the excerpts for a reader.
func (x *inquiry) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s. %s", counted(len(x.result.Excerpts), "excerpt"), counted(x.result.Tokens, "token"), untrusted)
	for _, excerpt := range x.result.Excerpts {
		m := excerpt.Message
		fmt.Fprintf(&b, "\n%s, %s: %s [%s]\n", assemble.Byline(m.Speaker, m.Role), x.stamp(m.SaidAt), excerpt.shown(), excerpt.citation())
	}
	if x.result.Truncated {
		b.WriteString("\nMore was found than is shown.\n")
	}
	return b.String()
}
