package extract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/prompts"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/capture"
)

const (
	mostByModel     = 5 // drafts of one window
	mostShown       = 3 // memories that a model compares a draft with
	fewestAbstract  = 5 // characters
	answerTokens    = 2000
	mergedConfident = 0.8
)

// modelled reports whether a model finds and judges.
func (x *run) modelled() bool { return x.opts.LLM != nil && !x.request.Rules }

// find gives the drafts of a window: those of the model, or where that fails, or there is none, those of the rules.
func (x *run) find(ctx context.Context, w *window) ([]*Draft, error) {
	if !x.modelled() || len(w.turns) == 0 {
		return x.byRules(ctx, w)
	}
	x.report.Model = x.opts.LLM.Model()
	part, places := x.shown(ctx, w)
	if len(part.turns) == 0 {
		return nil, ctx.Err()
	}
	drafts, err := x.byModel(ctx, part)
	for _, d := range drafts {
		d.at = places[d.at]
	}
	if err == nil && len(drafts) == 0 {
		x.learnNoise(ctx, x.said)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		x.report.Fallback = err.Error()
		return x.byRules(ctx, w)
	}
	return drafts, nil
}

// proposedByModel is a memory as a model answers it.
type proposedByModel struct {
	Category string `json:"category"`
	Abstract string `json:"abstract"`
	Overview string `json:"overview"`
	Content  string `json:"content"`
	Turns    []int  `json:"turns"`
}

// byModel asks the model what is worth remembering of a window.
func (x *run) byModel(ctx context.Context, w *window) ([]*Draft, error) {
	in := prompts.ExtractInput{Most: mostByModel}
	var all strings.Builder
	for i, t := range w.turns {
		in.Turns = append(in.Turns, prompts.Turn{Number: i + 1, Speaker: t.speaker, Text: tailOf(t.text, x.opts.Extraction.MaxChars)})
		all.WriteString(t.text + "\n")
	}
	language := capture.Language(all.String())
	in.Language = capture.LanguageName(language)
	var drafts []*Draft
	err := x.ask(ctx, w.conversationID, "extract-candidates", prompts.Extract(in), func(answer string) error {
		var got struct {
			Memories []proposedByModel `json:"memories"`
		}
		if err := decode(answer, &got, "memories"); err != nil {
			return err
		}
		drafts = nil
		for _, p := range got.Memories {
			d := x.ofModel(p, w)
			if d == nil || len(drafts) >= mostByModel {
				continue
			}
			if said := capture.Language(d.Text + ". " + d.Content); language != "" && said != "" && said != language {
				return fmt.Errorf("a memory is in the language %s, the talk in %s", said, language)
			}
			drafts = append(drafts, d)
		}
		return nil
	})
	for _, d := range drafts {
		d.callID = x.called
	}
	return drafts, err
}

// ofModel is the draft of a model's memory; nil where that is not usable.
func (x *run) ofModel(p proposedByModel, w *window) *Draft {
	category, ok := memory.ParseCategory(p.Category)
	abstract := strings.Join(strings.Fields(p.Abstract), " ")
	if !ok || utf8.RuneCountInString(abstract) < fewestAbstract || text.IsRecallNoise(abstract) || !utf8.ValidString(abstract+p.Overview+p.Content) {
		return nil
	}
	last := len(w.turns) - 1
	d := &Draft{ConversationID: w.conversationID, Scope: x.scope, Category: category, Rule: "model", Model: x.opts.LLM.Model(), Text: abstract,
		Overview: strings.TrimSpace(p.Overview), Content: strings.TrimSpace(p.Content), FactKey: memory.FactKey(category, abstract),
		Importance: importanceOf(category), Confidence: 0.7, MadeAt: x.file.Now()}
	d.found.topicKey = d.FactKey
	slot := capture.SlotOf(d.Content)
	d.found.slotBrand, d.found.slotItem = slot.Brand, slot.Item
	turns := slices.DeleteFunc(slices.Clone(p.Turns), func(n int) bool { return n < 1 || n > len(w.turns) })
	if len(turns) == 0 {
		for n := range w.turns {
			turns = append(turns, n+1)
		}
	} else {
		last = slices.Max(turns) - 1
	}
	slices.Sort(turns)
	for _, n := range slices.Compact(turns) {
		if t := w.turns[n-1]; t.id != "" {
			d.MessageIDs = append(d.MessageIDs, t.id)
			if d.FirstSeq == 0 {
				d.FirstSeq = t.seq
			}
			d.LastSeq = t.seq
		}
	}
	d.at, d.SaidAt = last, w.turns[last].at
	return d
}

// tailOf is the end of a text that is too long.
func tailOf(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[len(s)-most:], "")
}

// verdict decides on a draft: the model about its own, rules about theirs.
func (x *run) verdict(ctx context.Context, c *candidate, near []*candidate) (decision, error) {
	if c.draft.Model == "" {
		return byLikeness(c, near), nil
	}
	decided, err := x.byJudgement(ctx, c, near)
	if ctx.Err() != nil {
		return decision{}, ctx.Err()
	}
	if err != nil {
		x.report.Fallback = err.Error()
		return decision{verdict: Create, action: Create, reason: "the model gave no verdict"}, nil
	}
	return decided, nil
}

// byJudgement asks the model for a verdict, and holds it to what its category allows.
func (x *run) byJudgement(ctx context.Context, c *candidate, near []*candidate) (decision, error) {
	d := c.draft
	if d.Category == memory.Profile {
		for _, n := range near {
			if n.memory.Category == memory.Profile && n.similarity >= leastNear {
				return x.merge(ctx, c, decision{verdict: Merge, action: Create, reason: "a profile is one", match: n})
			}
		}
		return decision{verdict: Create, action: Create, reason: "nothing says so yet"}, nil
	}
	var alike []*candidate
	for _, n := range near {
		if n.similarity >= leastNear && len(alike) < mostNear {
			alike = append(alike, n)
		}
	}
	switch {
	case len(alike) == 0:
		return decision{verdict: Create, action: Create, reason: "nothing says so yet"}, nil
	case d.Category == memory.Preference && anotherItem(d, alike):
		return decision{verdict: Create, action: Create, reason: "another thing of the same maker"}, nil
	}
	shown := alike[:min(len(alike), mostShown)]
	in := prompts.VerdictInput{Draft: statementOf(c.memory), Contexts: capture.Contexts()}
	for _, n := range shown {
		s := statementOf(n.memory)
		s.Similarity = n.similarity
		in.Near = append(in.Near, s)
	}
	var got struct {
		Decision string `json:"decision"`
		Match    int    `json:"match_index"`
		Reason   string `json:"reason"`
		Context  string `json:"context_label"`
	}
	err := x.ask(ctx, d.ConversationID, "dedup-decision", prompts.Verdict(in), func(answer string) error {
		got.Decision = ""
		if err := decode(answer, &got, "decision"); err != nil {
			return err
		}
		got.Decision = strings.ToLower(strings.TrimSpace(got.Decision))
		if !slices.Contains(Verdicts(), Verdict(got.Decision)) || Verdict(got.Decision) == Reject {
			return fmt.Errorf("the decision %q is none", got.Decision)
		}
		return nil
	})
	if err != nil {
		return decision{}, err
	}
	decided := decision{verdict: Verdict(got.Decision), reason: oneLine(got.Reason), context: got.Context}
	if got.Match >= 1 && got.Match <= len(shown) {
		decided.match = shown[got.Match-1]
	}
	decided = allowed(d, decided, shown[0])
	if decided.verdict == Merge && decided.action == Merge {
		return x.merge(ctx, c, decided)
	}
	return decided, nil
}

// allowed holds a model's verdict to its conditions; first is the memory that is most alike.
func allowed(d *Draft, decided decision, first *candidate) decision {
	label := capture.NormaliseContext(decided.context)
	named := strings.TrimSpace(decided.context) != ""
	create := decided.to(Create)
	if appendOnly(d.Category) && decided.verdict != Skip {
		return create
	}
	if decided.match == nil && (decided.verdict == Merge || decided.verdict == Support || decided.verdict == Contextualize) {
		decided.match = first
	}
	decided.context = label
	switch decided.verdict {
	case Skip:
		return decided.to(Skip)
	case Merge, Support, Contextualize:
		if decided.verdict == Contextualize {
			d.Context = label
		}
		return decided.to(decided.verdict)
	case Supersede:
		if decided.match != nil && versioned(d.Category) {
			return decided.to(Supersede)
		}
	case Contradict:
		switch {
		case decided.match == nil:
		case versioned(d.Category) && named && label == capture.General:
			return decided.to(Supersede)
		default:
			return decided.to(Contradict)
		}
	}
	return create
}

// merge asks the model for one memory in the place of two; where it fails, the draft is created beside the other. The older text stays, as that of a memory
// that was superseded.
func (x *run) merge(ctx context.Context, c *candidate, decided decision) (decision, error) {
	n := decided.match
	var got proposedByModel
	err := x.ask(ctx, c.draft.ConversationID, "merge-memory", prompts.Merge(prompts.MergeInput{Old: statementOf(n.memory), New: statementOf(c.memory)}), func(answer string) error {
		got = proposedByModel{}
		if err := decode(answer, &got, "abstract"); err != nil {
			return err
		}
		got.Abstract = oneLine(got.Abstract)
		if utf8.RuneCountInString(got.Abstract) < fewestAbstract {
			return errors.New("the abstract is empty")
		}
		return nil
	})
	if err != nil {
		if ctx.Err() != nil {
			return decision{}, ctx.Err()
		}
		x.report.Fallback = err.Error()
		decided.reason = "merging failed"
		return decided.to(Create), nil
	}
	confident, important := mergedConfident, n.memory.Importance
	r := memory.RememberRequest{Text: got.Abstract, L1: strings.TrimSpace(got.Overview), L2: strings.TrimSpace(got.Content), Scope: n.memory.Scope, Agent: x.request.Agent,
		Category: c.draft.Category, Importance: &important, Confidence: &confident, Layer: n.memory.Layer, FactKey: n.memory.FactKey, CreatedAt: c.memory.CreatedAt,
		Contexts: n.memory.Contexts, Source: "auto-capture", SourceSession: c.memory.SourceSession, Trust: x.request.Trust, TemporalType: capture.Temporal(got.Content)}
	merged, errs, err := x.memories.Propose(ctx, []memory.RememberRequest{r})
	if err != nil {
		return decision{}, err
	}
	if errs[0] != nil {
		decided.reason = "what was merged can't be stored"
		return decided.to(Create), nil
	}
	merged[0].From(memory.Source{How: memory.Asked, Kind: memory.CallKind, ID: x.called})
	*c = *x.proposed(c.draft, merged[0])
	return decided.to(Merge), nil
}

func statementOf(m *memory.Memory) prompts.Statement {
	s := prompts.Statement{Category: string(m.Category), Abstract: m.Level(memory.Abstract), Overview: m.L1}
	if full := m.Level(memory.Full); full != s.Abstract {
		s.Content = full
	}
	return s
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if runes := []rune(s); len(runes) > 300 {
		s = string(runes[:300])
	}
	return s
}
