package assemble

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/prompts"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/window"
)

// Request asks for what a model is to be shown of a conversation.
type Request struct {
	Conversation string // name or id
	Agent        string // empty: an internal caller
	// Budget in tokens. Default 128,000; never more than setup.Conversation.MaxAssemblyTokens.
	Budget int
	// PromptAware chooses what does not fit by how well it answers Prompt, not by how new it is. Default false. A prompt without a
	// word that the context has changes nothing; of a long one the first thousand words count.
	PromptAware bool
	Prompt      string
	// Chosen has exactly these items of the context shown before the fresh tail, by their positions: as they were chosen once. Default nil: Assemble chooses.
	Chosen []int
	// TailCount and TailTokens are the fresh tail's, in place of the options' FreshTailCount and FreshTailMaxTokens, with the same
	// -1. Default 0: the options'.
	TailCount, TailTokens int
	// Until leaves out what stands behind that position. Default 0: nothing.
	Until int
	// Live are the messages that the host has in its hands. They are shown as they are when the engine knows less: no conversation
	// of that name, or fewer messages and no summary. Default nil: an unknown conversation is ErrNotFound.
	Live []conversation.Message
	// Timezone of the times in summaries. Default that of the options.
	Timezone string
	// ToolNames are what the host calls the tools that the guidance speaks of.
	ToolNames ToolNames
}

// ToolNames are a host's names of the engine's tools. Default grep, describe and expand.
type ToolNames struct {
	Grep, Describe, Expand string
}

// Assembled is what a model is to be shown: as Messages, or by OpenAI, Anthropic and Text in the form that is wanted.
type Assembled struct {
	ConversationID string             `json:"conversation_id,omitempty"`
	Items          []AssembledItem    `json:"items"`    // of the context, in its order
	Messages       []AssembledMessage `json:"messages"` // in an order that models accept
	Tokens         int                `json:"tokens"`   // of Items; what a provider puts around them is not counted
	Budget         int                `json:"budget"`
	OverBudget     bool               `json:"over_budget"` // the messages of the fresh tail alone are more than the budget
	Tail           int                `json:"tail"`        // index in Items of the first of the fresh tail
	Total          ContextTotal       `json:"total"`       // before anything was left out
	Left           LeftOut            `json:"left"`
	// Guidance is for the system prompt: what summaries are, and how to look behind them. Empty without summaries.
	Guidance string `json:"guidance,omitempty"`
	// FromLive: Messages are the request's Live, and nothing was counted.
	FromLive bool `json:"from_live,omitempty"`
}

// ContextTotal is what a context holds, as stored.
type ContextTotal struct {
	Messages  int `json:"messages"`
	Summaries int `json:"summaries"`
	Tokens    int `json:"tokens"`
}

// LeftOut is what did not fit. It stays in the context, and can be found and expanded.
type LeftOut struct {
	Items   int `json:"items"`
	Tokens  int `json:"tokens"`            // as stored
	Results int `json:"results,omitempty"` // of tools in the fresh tail, shown as references
}

// AssembledItem is one item of the context that is shown: a message or a summary.
type AssembledItem struct {
	Kind     kinds.Kind `json:"kind"`
	ID       string     `json:"id"`
	Position int        `json:"position"` // seq of the first message that it stands for
	Tokens   int        `json:"tokens"`   // of a message those stored; of a summary those of Text, what stands around it too
	Score    float64    `json:"score,omitempty"`
	Text     string     `json:"text"` // as the model reads it
	// Message has ID, ConversationID, Seq, Role, Speaker, Text, Caption, SaidAt, Tokens, Fallback and Blocks, these without what the host wrote.
	Message *conversation.Message `json:"message,omitempty"`
	Summary *compact.Summary      `json:"summary,omitempty"`
}

// Assemble chooses from the context of a conversation what a model is shown within a budget, and renders it. The messages of the fresh tail
// are always shown, then the newest (or by the prompt the best) of the rest. A call of a tool and its result are shown together or not at
// all. If the messages of the fresh tail alone are more than the budget, results of tools in it become references, the largest first; if
// that is not enough, OverBudget is true and none is dropped. Errors: ErrNotFound, ErrInvalid.
func (am *Assembler) Assemble(ctx context.Context, r Request) (*Assembled, error) {
	a, err := am.assembly(r)
	if err != nil {
		return nil, fmt.Errorf("assemble: %w", err)
	}
	err = am.file.Read(ctx, "assemble", func(c *duck.Conn) error { return a.read(ctx, c) })
	if err != nil {
		return nil, err
	}
	return a.render(), nil
}

// Within is Assemble for who has found the conversation, in their transaction.
func (am *Assembler) Within(ctx context.Context, c *duck.Conn, v *conversation.Conversation, r Request) (*Assembled, error) {
	r.Conversation = v.ID
	a, err := am.assembly(r)
	if err != nil {
		return nil, err
	}
	a.conversation = v
	if err := a.read(ctx, c); err != nil {
		return nil, err
	}
	return a.render(), nil
}

// read finds, gathers and chooses.
func (a *assembly) read(ctx context.Context, c *duck.Conn) error {
	if known, err := a.find(ctx, c); err != nil || !known {
		return err
	}
	if err := a.gather(ctx, c); err != nil {
		return err
	}
	a.choose()
	return a.loadImages(ctx, c)
}

// assembly is one Assemble on its way: found, gathered, chosen, rendered.
type assembly struct {
	assembler    *Assembler
	request      Request
	policy       window.Policy // of which the fresh tail matters
	zone         *time.Location
	conversation *conversation.Conversation
	estimator    text.Estimator
	live         bool // show the request's Live
	totals       contextSpan
	contenders   []*contender // in the order of the context
	low          int          // all items from this position on are contenders
	tailAt       int          // position of the first item of the fresh tail
	depth        int          // of the deepest summary in the context
	condensed    int          // summaries of depth 1 or more in the context
	chosen       []*contender
	tail         int // index in chosen of the first item of the fresh tail
	result       Assembled
}

// contender is an item of the context that may be shown.
type contender struct {
	AssembledItem
	stored int // tokens
	plan   window.Item
}

// assembly validates a request and fills in what it leaves open.
func (am *Assembler) assembly(r Request) (*assembly, error) {
	o := am.opts.Conversation
	a := &assembly{assembler: am, request: r, zone: o.Location(), policy: window.Policy{TailCount: o.FreshTailCount, TailTokens: o.FreshTailMaxTokens}}
	const most = 1 << 30
	for _, f := range []struct {
		field      string
		value, min int
	}{{"budget", r.Budget, 0}, {"tail_count", r.TailCount, -1}, {"tail_tokens", r.TailTokens, -1}} {
		if f.value < f.min || f.value > most {
			return nil, fault.Invalid(f.field, f.value, fmt.Sprintf("%d to %d", f.min, most))
		}
	}
	if r.Timezone != "" {
		zone, err := time.LoadLocation(r.Timezone)
		if err != nil {
			return nil, fault.Invalid("timezone", r.Timezone, "a name such as Europe/Berlin, or UTC")
		}
		a.zone = zone
	}
	setup.Preset(&a.request.Budget, setup.DefaultBudget)
	if o.MaxAssemblyTokens > 0 {
		a.request.Budget = min(a.request.Budget, o.MaxAssemblyTokens)
	}
	if r.TailCount != 0 {
		a.policy.TailCount = r.TailCount
	}
	if r.TailTokens != 0 {
		a.policy.TailTokens = r.TailTokens
	}
	for i, m := range r.Live {
		if err := fault.Member("role", cmp.Or(m.Role, "user"), conversation.Roles()); err != nil {
			return nil, fmt.Errorf("live message %d: %w", i, err)
		}
	}
	return a, cmp.Or(conversation.Reference{Name: r.Conversation}.Validate(), fault.CheckText("prompt", r.Prompt))
}

// render makes the result of what was chosen. It needs no database.
func (a *assembly) render() *Assembled {
	r := &a.result
	r.Budget = a.request.Budget
	if a.live {
		r.FromLive, r.Items = true, []AssembledItem{}
		r.Messages = renderLive(a.request.Live, a.zone)
		return r
	}
	r.ConversationID, r.Tail = a.conversation.ID, a.tail
	r.Total = ContextTotal{a.totals.items - a.totals.summaries, a.totals.summaries, a.totals.tokens}
	r.Left.Items, r.Left.Tokens = a.totals.items-len(a.chosen), a.totals.tokens
	r.Items = make([]AssembledItem, len(a.chosen))
	shown := make([]shownMessage, len(a.chosen))
	for i, s := range a.chosen {
		if s.Summary != nil {
			shown[i] = shownMessage{role: window.User, message: &conversation.Message{ID: s.ID}, rest: []conversation.Block{{Type: conversation.TextBlock, Text: s.Text}}}
		} else {
			blocks := shownBlocks(s.Message)
			s.Text, shown[i] = plainText(blocks), showMessage(s.Message, blocks)
		}
		shown[i].old = i < a.tail
		r.Items[i] = s.AssembledItem
		r.Tokens += s.Tokens
		r.Left.Tokens -= s.stored
	}
	r.OverBudget = r.Tokens > r.Budget
	r.Messages = repaired(shown, a.zone)
	names := a.request.ToolNames
	r.Guidance = prompts.Guidance(prompts.GuidanceInput{MaxDepth: a.depth, Condensed: a.condensed, Summaries: a.totals.summaries,
		Grep: names.Grep, Describe: names.Describe, Expand: names.Expand})
	return r
}

// Text is what is shown as plain text: each message under a line that says whose it is.
func (a *Assembled) Text() string {
	var b strings.Builder
	for i, m := range a.Messages {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(m.heading())
		b.WriteByte('\n')
		b.WriteString(plainText(m.Blocks))
	}
	return b.String()
}
