package compact

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/prompts"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/extract"
	"github.com/mallardmem/mallard/engine/window"
)

// extractiveModel stands where a summary was made without a language model.
const extractiveModel = "extractive"

// summarised is what came of asking for a summary. A blank text: nothing shorter could be made.
type summarised struct {
	text     string
	tokens   int
	level    Escalation
	model    string
	fallback bool
	calls    int
}

// summarise writes the text of a summary, without any lock: with the model, normally, then aggressively; then, or without a model, with
// sentences of the source; at last by cutting. Rarity is that of earlier summaries of the conversation, if any.
func (cp *Compactor) summarise(ctx context.Context, in *summaryInput, rarity *rarities) (made summarised, err error) {
	estimator, err := text.NewEstimator(in.conversation.Estimator)
	if err != nil {
		return made, fmt.Errorf("%w: conversation %s: %w", fault.ErrCorrupt, in.conversation.ID, err)
	}
	source := in.source()
	if source == "" {
		return made, nil
	}
	policy := policyOf(cp.opts.Conversation)
	s := &summariser{compactor: cp, in: in, rarity: rarity, source: source, estimator: estimator, policy: policy, escalation: policy.Escalation(in.stored, in.kind)}
	if cp.opts.LLM == nil {
		return s.extract(ctx, min(s.escalation.Target, max(fewestExtracted, in.stored*35/100)), summarised{})
	}
	for _, level := range []window.Level{window.Normal, window.Aggressive} {
		answer, err := s.ask(ctx, level == window.Aggressive)
		made.calls += s.asked()
		if err != nil {
			if ctx.Err() != nil || conversation.Unauthorized(err) || !in.lastResort {
				return made, err
			}
			break
		}
		tokens := estimator.Tokens(answer)
		switch s.escalation.Judge(level, window.Answer{Tokens: tokens, Blank: answer == "", Echo: echoes(answer, source)}) {
		case window.Accept:
			made.text, made.tokens, made.level, made.model = answer, tokens, Escalation(level), cp.opts.LLM.Model()
			return made, nil
		case window.CutToMax:
			made.text = window.Cut(answer, min(s.escalation.Max(), in.stored-1), estimator.Tokens)
			made.tokens, made.level, made.model = estimator.Tokens(made.text), Truncated, cp.opts.LLM.Model()
			return made, nil
		}
	}
	made.fallback = true
	return s.extract(ctx, min(s.escalation.Target, cp.opts.Conversation.FallbackMaxTokens), made)
}

// fewestExtracted is how long an extract may be, however short its source.
const fewestExtracted = 64

// summariser is the making of one summary.
type summariser struct {
	compactor  *Compactor
	in         *summaryInput
	rarity     *rarities
	source     string
	estimator  text.Estimator
	policy     window.Policy
	escalation window.Escalation
	calls      int
}

// asked gives the calls since it was last asked.
func (s *summariser) asked() (n int) {
	n, s.calls = s.calls, 0
	return n
}

// length is how long a summary is to be.
func (s *summariser) length(aggressive bool) int {
	switch {
	case s.in.kind == window.Leaf:
		return s.policy.LeafLength(s.in.stored, aggressive)
	case aggressive:
		return s.policy.CondensedLength() / 2
	}
	return s.policy.CondensedLength()
}

// errSpent: the conversation has had as many calls of the model as it may.
var errSpent = errors.New(conversation.ReasonSpent)

// ask calls the model once.
func (s *summariser) ask(ctx context.Context, aggressive bool) (string, error) {
	if !s.compactor.conversations.Guard.Spend(s.in.conversation.ID) {
		return "", errSpent
	}
	s.calls++
	length := s.length(aggressive)
	instructions := strings.TrimSpace(s.compactor.opts.Conversation.Instructions + "\n" + s.in.instructions)
	prompt := prompts.Leaf(prompts.LeafInput{Source: s.source, Previous: s.in.previous, Instructions: instructions, TargetTokens: length, Aggressive: aggressive})
	if s.in.kind == window.Condensed {
		prompt = prompts.Condensed(prompts.CondensedInput{Source: s.source, Previous: s.in.previous, Instructions: instructions, TargetTokens: length,
			Depth: s.in.depth})
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(s.compactor.opts.Conversation.SummaryTimeout))
	defer cancel()
	answer, err := s.compactor.opts.LLM.Complete(ctx, prompts.System(), prompt, length)
	s.compactor.conversations.Guard.Answered(err)
	if err != nil {
		return "", fmt.Errorf("summarise with %s: %w", s.compactor.opts.LLM.Model(), err)
	}
	return strings.TrimSpace(conversation.CleanText(answer)), nil
}

// extract picks sentences of the source up to a target, or cuts it.
func (s *summariser) extract(ctx context.Context, target int, made summarised) (summarised, error) {
	rarity, err := s.rarity.of(ctx, s.compactor.file, s.in)
	if err != nil {
		return made, err
	}
	target = min(target, s.in.stored-1)
	made.model, made.level = extractiveModel, Extractive
	made.text = extract.Summary(s.compactor.index.Analyzer, extract.Input{Passages: s.in.passages, Target: target, Tokens: s.estimator.Tokens, Rarity: rarity})
	if made.text == "" {
		made.level, made.text = Truncated, window.Cut(s.source, target, s.estimator.Tokens)
	}
	made.tokens = s.estimator.Tokens(made.text)
	return made, nil
}

// echoes reports whether an answer gives back its source: nothing in it is the model's own, and there is nearly all of the source.
func echoes(answer, source string) bool {
	a, s := strings.Join(strings.Fields(answer), " "), strings.Join(strings.Fields(source), " ")
	return a != "" && (a == s || len(a) > len(s)/2 && strings.Contains(s, a))
}
