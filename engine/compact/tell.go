package compact

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/chain"
	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/prompts"
	"github.com/mallardmem/mallard/engine/text/extract"
	"github.com/mallardmem/mallard/engine/window"
)

// owing is what a rolling summary is made from: what is told of the messages before, and ranges of messages that nothing tells of yet.
type owing struct {
	v          *conversation.Conversation
	base       string
	ranges     []pending // oldest first
	said       []*conversation.Message
	wanted     map[string]bool // messages that the summary stands for, or will
	summaries  *summaryInput   // what was read of older summaries, which must be so still when this is written
	checkpoint *checkpoint.Checkpoint
	items      []window.Item // that it replaces; none: it stands already
}

// end is the seq before which its ranges end.
func (in *owing) end() int { return in.ranges[len(in.ranges)-1].end }

// of gives the messages of a range.
func (in *owing) of(p pending) (said []*conversation.Message) {
	for _, m := range in.said {
		if p.from <= m.Seq && m.Seq < p.end && in.wanted[m.ID] {
			said = append(said, m)
		}
	}
	return said
}

// read reads what a leaf before the item of that index will stand for.
func (k *rolling) read(ctx context.Context, cut int) (*owing, error) {
	in := &owing{v: k.v, items: k.items[:cut], summaries: &summaryInput{}, wanted: map[string]bool{}}
	before := k.items[cut].Position
	err := k.compactor.file.Read(ctx, "read sources", func(c *duck.Conn) error {
		var texts []string
		for _, it := range in.items {
			if !it.Summary {
				in.wanted[it.Ref] = true
				continue
			}
			text, err := in.older(ctx, c, it.Ref)
			if err != nil {
				return err
			}
			texts = append(texts, text)
		}
		in.base = strings.TrimSpace(strings.Join(texts, "\n\n"))
		from, err := rangeFrom(ctx, c, k.v.ID, before)
		if err != nil {
			return err
		}
		in.ranges = append(in.ranges, pending{from: from, end: before})
		if in.said, err = conversation.Said(ctx, c, k.v.ID, in.ranges[0].from, before-1); err != nil {
			return err
		}
		in.checkpoint, err = checkpoint.Latest(ctx, c, k.v.ID)
		return err
	})
	return in, err
}

// older reads a summary that gives way: what it tells, and what it owes.
func (in *owing) older(ctx context.Context, c *duck.Conn, id string) (text string, err error) {
	s, _, err := SummaryByID(ctx, c, id)
	if err != nil {
		return "", err
	}
	if s == nil {
		return "", nil // check finds it
	}
	in.summaries.note(s)
	in.summaries.refer(s.FileIDs...)
	owed, err := pendingOf(ctx, c, []string{id})
	if err != nil || len(owed) == 0 {
		return s.Text, err
	}
	in.ranges = append(in.ranges, owed...)
	for _, source := range s.Sources {
		in.wanted[source.ID] = source.Kind == kinds.Message
	}
	return owed[0].carried, nil
}

// told is what a rolling summary will say.
type told struct {
	in           *owing
	text         string
	source       string
	level        Escalation
	model        string
	checkpointID string
	calls        int
	told, left   []pending
	carried      string // what the ranges that are left go on from
	failure      error
}

// tell finds a text for a leaf: a checkpoint's, a model's, that of an old checkpoint, or a line that says that there is none. Nil: nothing would be removed.
func (k *rolling) tell(ctx context.Context, in *owing) (t *told, err error) {
	cp, o, ck := k.compactor, k.compactor.opts.Rolling, in.checkpoint
	alone := len(in.ranges) == 1
	if *o.PreferCheckpoint && alone && ck.Covers(k.v) && ck.TokensAt >= k.result.TokensAfter/2 {
		if cut := window.CutUpTo(k.items, len(in.items), ck.UpTo); cut > 0 { // what it has not read stays
			k.shrink(in, cut)
			return k.fit(&told{in: in, text: ck.Text(), source: FromCheckpoint, level: Recalled, model: ck.By, checkpointID: ck.ID, told: in.ranges})
		}
	}
	if o.Async && !cp.chain.Empty() {
		return k.fit(&told{in: in, text: in.stub(in.base, in.ranges, cp, placeholderNote), source: FromNobody, level: Stub, model: FromNobody, left: in.ranges, carried: in.base})
	}
	if t, err = cp.fold(ctx, in, k.r.Instructions); err != nil {
		return nil, err
	}
	switch {
	case len(t.left) == 0:
	case alone && ck != nil && (ck.Covers(k.v) || in.base == ""):
		t.text, t.source, t.level, t.model, t.checkpointID = ck.Text(), FromOldCheckpoint, Recalled, ck.By, ck.ID
		if t.left[0].from = max(t.left[0].from, ck.UpTo+1); t.left[0].from >= t.left[0].end {
			t.told, t.left = in.ranges, nil
		}
		t.carried = t.text
	default:
		cut := k.cut(o.EmergencyPercent)
		if cut == 0 {
			return nil, nil
		}
		told := len(t.told)
		k.shrink(in, min(cut, len(in.items)))
		t.told, t.left = in.ranges[:told], slices.Clone(in.ranges[told:])
		t.text, t.source, t.level, t.model = in.stub(t.carried, t.left, cp, failureNote), FromStub, Stub, FromStub
	}
	return k.fit(t)
}

// shrink has fewer of the oldest items give way.
func (k *rolling) shrink(in *owing, cut int) {
	in.items = k.items[:cut]
	in.ranges = slices.Clone(in.ranges)
	last := &in.ranges[len(in.ranges)-1]
	last.end = k.items[cut].Position
	last.from = min(last.from, last.end)
}

// fit cuts a text to fewer tokens than it takes the place of. Nil: there is no room for any.
func (k *rolling) fit(t *told) (*told, error) {
	estimator, err := k.v.Tokenizer()
	if err != nil {
		return nil, err
	}
	most := window.Tokens(t.in.items) - 1
	if estimator.Tokens(t.text) > most {
		t.text = window.Cut(t.text, most, estimator.Tokens)
		if t.level == Normal {
			t.level = Truncated
		}
	}
	if t.text == "" {
		return nil, nil
	}
	return t, nil
}

// fold tells of one range after the other, each on from what is told before it, until all are told or no model answers; without any model the sentences that tell
// most are taken. A range in which nothing is said is told of at once.
func (cp *Compactor) fold(ctx context.Context, in *owing, instructions string) (*told, error) {
	t := &told{in: in, text: in.base, carried: in.base, source: FromModel, level: Normal, left: in.ranges}
	for len(t.left) > 0 {
		if said := in.of(t.left[0]); len(said) > 0 {
			text, err := cp.continued(ctx, in, t, said, instructions)
			if errors.Is(err, chain.ErrUnanswered) && ctx.Err() == nil {
				t.failure = err
				return t, nil
			}
			if err != nil {
				return nil, err
			}
			t.text, t.carried = text, text
		}
		t.told, t.left = in.ranges[:len(t.told)+1], t.left[1:]
	}
	return t, nil
}

// mostStretches is how many parts of a long range a model is shown, one after the other.
const mostStretches = 16

// continued makes the text that goes on from what is told with messages: of more than a model is shown at once part by part, each on from the text before it.
func (cp *Compactor) continued(ctx context.Context, in *owing, t *told, said []*conversation.Message, instructions string) (string, error) {
	o := cp.opts.Conversation
	estimator, err := in.v.Tokenizer()
	if err != nil {
		return "", err
	}
	if cp.chain.Empty() {
		t.source, t.level, t.model = FromExtract, Extractive, extractiveModel
		return cp.extracted(in.v, t.text, said, estimator.Tokens), nil
	}
	text, lines := t.text, checkpoint.Lines(said)
	stretches := prompts.Stretches(lines, o.LeafChunkTokens, mostStretches)
	before := ""
	if shown := len(slices.Concat(stretches...)); shown < len(lines) {
		before = prompts.Newest(shown, len(lines)) + "\n"
	}
	for _, stretch := range stretches {
		a, err := cp.chain.Ask(ctx, chain.Question{ConversationID: in.v.ID, System: prompts.System(), Limit: o.LeafChunkTokens, MaxTokens: o.LeafTargetTokens,
			Prompt: func(limit int) string {
				return prompts.Rolling(prompts.RollingInput{Source: before + prompts.Record(stretch, limit), Previous: text, TargetTokens: o.LeafTargetTokens,
					Instructions: strings.TrimSpace(o.Instructions + "\n" + instructions)})
			}})
		t.calls += a.Calls
		if err != nil {
			return "", err
		}
		if t.model = a.Model; a.Fallback {
			t.source = FromFallback
		}
		text, before = a.Text, ""
		if most := policyOf(o).Escalation(0, window.Leaf).Max(); estimator.Tokens(text) > most {
			text, t.level = window.Cut(text, most, estimator.Tokens), Truncated
		}
	}
	return text, nil
}

// extracted picks sentences of an older summary and of messages.
func (cp *Compactor) extracted(v *conversation.Conversation, previous string, said []*conversation.Message, count func(string) int) string {
	o := cp.opts.Conversation
	var passages []extract.Passage
	if previous != "" {
		passages = append(passages, extract.Passage{Text: previous})
	}
	tokens := count(previous)
	for _, m := range said {
		tokens += m.Tokens
		if source := m.Source(); source != "" {
			passages = append(passages, extract.Passage{Label: m.Label(o.Location()), Text: source})
		}
	}
	target := min(o.LeafTargetTokens, max(fewestExtracted, tokens*35/100))
	text := extract.Summary(cp.index.Analyzer, extract.Input{Passages: passages, Target: target, Tokens: count})
	if text == "" {
		whole := (&summaryInput{passages: passages}).source()
		text = window.Cut(whole, max(1, min(target, count(whole)-1)), count)
	}
	return text
}

// Notes stand in a summary for messages that it does not tell of: how many, how many of them the user's, and from when to when.
const (
	failureNote     = "[No summary is available of %d messages, %d of them the user's, %s. It is to be written later; until then they can be expanded.]"
	placeholderNote = "[The summary of %d messages, %d of them the user's, %s, is being written; until then they can be expanded.]"
)

// stub is what is told, and a note for each range that is not.
func (in *owing) stub(told string, left []pending, cp *Compactor, note string) string {
	parts := []string{told}
	for _, p := range left {
		said, users := in.of(p), 0
		for _, m := range said {
			if m.Role == window.User {
				users++
			}
		}
		if len(said) > 0 {
			parts = append(parts, fmt.Sprintf(note, len(said), users, timesOf(said, cp.opts.Conversation.Location())))
		}
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}

// standing makes sure that the context is as it was read. Errors: ErrConflict.
func standing(ctx context.Context, c *duck.Conn, conversationID string, items []window.Item) error {
	last := items[len(items)-1].Position
	now, err := duck.List(ctx, c, "context_range", func(rows *sql.Rows, i *window.Item) error {
		return rows.Scan(&i.Position, &i.Ref, &i.Tokens)
	}, sql.Named("conversation_id", conversationID), sql.Named("from", int64(0)), sql.Named("to", int64(last)))
	if err != nil {
		return err
	}
	return conflictOf(items, now)
}
