package build

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/prompts"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/text"
)

// Selector chooses which older parts of a conversation matter for what is said now. It must be safe for concurrent use, and return soon after ctx is over.
type Selector interface {
	// Select gives the indexes of t.Older that matter; none is an answer. What is out of range does not count.
	Select(ctx context.Context, t Triage) ([]int, error)
}

// Triage is what a selector is asked.
type Triage struct {
	Conversation string // its id
	Agent        string
	Input        string      // what is said now
	Older        []Candidate // oldest first
	Recent       int         // how many newer ones are shown in any case
	Most         int         // how many a selector without a model chooses
}

// Candidate is a message, or a pair of what the user said with all that was said to it.
type Candidate struct {
	IDs   []string // of its messages
	At    time.Time
	Lines []string // each with whose it is
}

var errNoSelector = fmt.Errorf("%w: the selector llm needs one", fault.ErrNoLLM)

// selector is the one that the request brings, or the preset names; nil: there is none.
func (g *building) selector() Selector {
	b := g.builder
	switch {
	case g.request.Selector != nil:
		return g.request.Selector
	case g.preset.Select.By == SelectLLM && b.opts.LLM != nil:
		return modelSelector{b.opts.LLM, b.conversations, g.preset, g.request.Counted}
	case g.preset.Select.By == SelectLexical:
		return lexicalSelector{b.index}
	case g.preset.Select.By == SelectRecall:
		return recallSelector{b.recaller}
	}
	return nil
}

// modelSelector asks the model.
type modelSelector struct {
	llm     setup.LLM
	talk    *conversation.Store
	preset  Preset
	counted func(promptTokens, answerTokens int) error
}

// Select asks once. The breaker of the engine's models holds for it as well.
func (s modelSelector) Select(ctx context.Context, t Triage) ([]int, error) {
	if why := s.talk.Guard.Closed(t.Conversation, false); why != "" {
		return nil, errors.New(why)
	}
	in := prompts.SelectInput{Request: t.Input, Recent: t.Recent}
	zone, _ := time.LoadLocation(s.preset.Timezone)
	for _, c := range t.Older {
		in.Older = append(in.Older, c.At.In(zone).Format("2006-01-02 15:04")+"\n"+cutDots(strings.Join(c.Lines, "\n"), s.preset.Select.Chars))
	}
	system, prompt := prompts.SelectSystem(), prompts.Select(in)
	answer, asked, answered, err := s.complete(ctx, system, prompt, 16+8*len(t.Older))
	s.talk.Guard.Answered(err)
	if s.counted != nil {
		e := text.Estimator{}
		_ = s.counted(cmp.Or(asked, e.Tokens(system+prompt)), cmp.Or(answered, e.Tokens(answer))) // who can't count it is no reason to choose otherwise
	}
	if err != nil {
		return nil, err
	}
	return parseSelection(answer, len(t.Older))
}

func (s modelSelector) complete(ctx context.Context, system, prompt string, maxTokens int) (answer string, asked, answered int, err error) {
	if c, ok := s.llm.(setup.Counting); ok {
		return c.CompleteCounted(ctx, system, prompt, maxTokens)
	}
	answer, err = s.llm.Complete(ctx, system, prompt, maxTokens)
	return answer, 0, 0, err
}

var fenced = regexp.MustCompile("(?s)```(?:[jJ][sS][oO][nN])?\\s*\n?(.*?)```")

// parseSelection reads an object with a list relevant_ids out of an answer: in a fence, or from the first { to the last }, or the whole. Of the list whole
// numbers below n count, each once; true and false are none. A list in which nothing counts is an answer: nothing matters.
func parseSelection(answer string, n int) ([]int, error) {
	if strings.TrimSpace(answer) == "" {
		return nil, errors.New("the model answered nothing")
	}
	object := answer
	first, last := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
	if m := fenced.FindStringSubmatch(answer); m != nil {
		object = m[1]
	} else if first >= 0 && last > first {
		object = answer[first : last+1]
	}
	var parsed struct {
		IDs *[]any `json:"relevant_ids"`
	}
	if err := json.Unmarshal([]byte(object), &parsed); err != nil || parsed.IDs == nil {
		return nil, errors.New("the model's answer has no list relevant_ids")
	}
	var chosen []int
	for _, v := range *parsed.IDs {
		if x, ok := v.(float64); ok && x >= 0 && x < float64(n) && x == math.Trunc(x) {
			chosen = append(chosen, int(x))
		}
	}
	slices.Sort(chosen)
	return slices.Compact(chosen), nil
}

// lexicalSelector chooses what shares words with the input, those with the rarest ones among the candidates first.
type lexicalSelector struct{ index *index.Index }

// Select never fails.
func (s lexicalSelector) Select(_ context.Context, t Triage) ([]int, error) {
	asked := map[string]bool{}
	for _, token := range s.index.Analyzer.QueryTokens(t.Input) {
		asked[token.Term] = true
	}
	has := make([]map[string]bool, len(t.Older))
	frequency := map[string]int{}
	for i, c := range t.Older {
		has[i] = map[string]bool{}
		for _, token := range s.index.Analyzer.Tokens(strings.Join(c.Lines, "\n")) {
			if asked[token.Term] && !has[i][token.Term] {
				has[i][token.Term] = true
				frequency[token.Term]++
			}
		}
	}
	scores := make([]float64, len(t.Older))
	var chosen []int
	for i := range has {
		terms := slices.Sorted(maps.Keys(has[i])) // sums of the same terms are the same
		for _, term := range terms {
			scores[i] += math.Log1p(float64(len(t.Older)) / float64(frequency[term]))
		}
		if scores[i] > 0 {
			chosen = append(chosen, i)
		}
	}
	slices.SortStableFunc(chosen, func(i, j int) int { return cmp.Or(cmp.Compare(scores[j], scores[i]), j-i) })
	return chosen[:min(len(chosen), max(t.Most, 1))], nil
}

// recallSelector chooses what a recall among the conversation's messages finds.
type recallSelector struct{ recaller *recall.Recaller }

// Select fails where the recall does.
func (s recallSelector) Select(ctx context.Context, t Triage) ([]int, error) {
	if strings.TrimSpace(t.Input) == "" {
		return nil, nil
	}
	of := map[string]int{}
	for i, c := range t.Older {
		for _, id := range c.IDs {
			of[id] = i
		}
	}
	found, err := s.recaller.Recall(ctx, recall.Query{Text: t.Input, Agent: t.Agent, Kinds: []kinds.Kind{kinds.Message}, Conversations: []string{t.Conversation},
		Limit: min(recall.MaxLimit, 10*max(t.Most, 1))})
	if err != nil {
		return nil, err
	}
	var chosen []int
	for _, h := range found.Hits {
		if i, ok := of[h.ID]; ok && !slices.Contains(chosen, i) && len(chosen) < max(t.Most, 1) {
			chosen = append(chosen, i)
		}
	}
	return chosen, nil
}
