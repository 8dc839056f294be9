package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/text"
)

// Injection is what a turn begins with.
type Injection struct {
	// Block stands in the prompt beside what the user says: escaped, and labelled as data that gives no orders. Empty: there is nothing to show.
	Block string       `json:"block"`
	Hits  []recall.Hit `json:"hits"` // what it shows, with the texts as they are shown there
	Turn  int          `json:"turn"` // of the session, from 1
	// Skipped says why nothing was recalled: off, small talk or timeout; empty: it was.
	Skipped string      `json:"skipped,omitempty"`
	Intent  text.Intent `json:"intent"`
	Held    []Held      `json:"held,omitempty"` // what was found and is not shown
	Notices []string    `json:"notices,omitempty"`
}

// Held is a memory that was found and not shown.
type Held struct {
	ID string `json:"id"`
	// Reason is confidence, state, layer, suppressed, repeated, items or chars.
	Reason string `json:"reason"`
}

// Why nothing was recalled.
const (
	SkippedOff       = "off"
	SkippedSmallTalk = "small talk"
	SkippedTimeout   = "timeout"
)

// boost is what the score of a memory is multiplied by whose category answers what the prompt wants to know.
const boost = 1.15

// Before gives what is known that may matter for what the user says. Nothing is recalled for small talk (text.SkipRecall). What the session was shown in its
// last turns is not shown again, nor what is held back for not having been of use; so many memories and characters are shown as setup.Turns says. What is shown counts as
// used and injected. A recall that takes too long shows nothing, which is no error. Errors: ErrInvalid, and those of Recall.
func (t *Turns) Before(ctx context.Context, of Turn) (*Injection, error) {
	done, err := t.before(ctx, &of)
	if err != nil {
		return nil, fmt.Errorf("before turn: %w", err)
	}
	return done, nil
}

func (t *Turns) before(ctx context.Context, of *Turn) (*Injection, error) {
	if err := of.validate(); err != nil {
		return nil, err
	}
	o, name := t.opts.Turns, of.name()
	done := &Injection{Hits: []recall.Hit{}}
	turn, shown, err := t.begin(ctx, name)
	if err != nil {
		return nil, err
	}
	done.Turn = turn
	prompt := recall.Unblock(of.Prompt)
	if done.Intent = (text.Intent{Depth: text.Sentence}); o.Recall == setup.RecallAdaptive {
		done.Intent = text.IntentOf(prompt)
	}
	switch {
	case o.Recall == setup.RecallOff:
		done.Skipped = SkippedOff
		return done, nil
	case text.SkipRecall(prompt, o.MinLength):
		done.Skipped = SkippedSmallTalk
		return done, nil
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(o.Timeout))
	defer cancel()
	found, standing, err := t.find(limited, of, end(prompt, o.MaxQuery), done.Intent, len(shown))
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		done.Skipped = SkippedTimeout
		return done, nil
	}
	if err != nil {
		return nil, err
	}
	done.Notices = found.Notices
	t.choose(done, found.Hits, standing, shown)
	ids := recall.IDs(done.Hits)
	t.memories.NoteInjected(ids...)
	t.show(name, turn, ids)
	done.Block = recall.Block(done.Hits)
	return done, nil
}

// find recalls twice as many memories as may be shown, and as many more as were shown lately, with how they stand.
func (t *Turns) find(ctx context.Context, of *Turn, prompt string, intent text.Intent, lately int) (*recall.Result, map[string]*memory.Memory, error) {
	o := t.opts.Turns
	q := recall.Query{Text: prompt, Agent: of.reader(), Scopes: of.Scopes, Limit: min(2*o.MaxItems+lately, recall.MaxLimit), Level: memory.Abstract}
	if o.Recall == setup.RecallFull || intent.Depth == text.Whole {
		q.Level = memory.Full
	}
	found, err := t.recaller.Recall(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	for i := range found.Hits {
		if h := &found.Hits[i]; slices.Contains(intent.Categories, string(h.Category)) {
			h.Score = min(h.Score*boost, 1)
		}
	}
	slices.SortStableFunc(found.Hits, func(a, b recall.Hit) int { return cmp.Compare(b.Score, a.Score) })
	all, err := t.memories.AsUsed(ctx, recall.IDs(found.Hits))
	standing := map[string]*memory.Memory{}
	for _, m := range all {
		standing[m.ID] = m
	}
	return found, standing, err
}

// choose takes what is shown from what was found.
func (t *Turns) choose(done *Injection, found []recall.Hit, standing map[string]*memory.Memory, shown map[string]int) {
	o, now := t.opts.Turns, t.file.Now()
	room := o.MaxChars
	for _, h := range found {
		m := standing[h.ID]
		_, again := shown[h.ID]
		body := t.shorten(h.Shown(), done.Intent.Depth)
		reason := ""
		switch {
		case m == nil || m.State != memory.Confirmed:
			reason = "state"
		case m.Layer == memory.ArchiveLayer || m.Layer == memory.ReflectionLayer:
			reason = "layer"
		case h.Confidence != nil && *h.Confidence < o.MinConfidence:
			reason = "confidence"
		case o.Repeat > 0 && m.SuppressedUntil.After(now):
			reason = "suppressed"
		case again:
			reason = "repeated"
		case len(done.Hits) >= o.MaxItems:
			reason = "items"
		case len([]rune(body)) > room:
			reason = "chars"
		}
		if reason != "" {
			done.Held = append(done.Held, Held{h.ID, reason})
			continue
		}
		room -= len([]rune(body))
		h.Text, h.Passage = body, nil
		done.Hits = append(done.Hits, h)
	}
}

// Bounds of what is shown of a memory, in characters.
const (
	mostSentence  = 80
	mostParagraph = 300
	mostWhole     = 1000
)

var firstSentence = regexp.MustCompile(`^.*?(?:[.!?](?:\s|$)|[。！？])`)

// shorten cuts a text to what is shown of it.
func (t *Turns) shorten(s string, depth text.Depth) string {
	s = strings.Join(strings.Fields(s), " ")
	o, most := t.opts.Turns, t.opts.Turns.ItemChars
	switch o.Recall {
	case setup.RecallSummary:
		most = min(most/2, mostSentence)
	case setup.RecallAdaptive:
		switch depth {
		case text.Sentence:
			if first := firstSentence.FindString(s); first != "" {
				s = strings.TrimSpace(first)
			}
			most = min(most, mostSentence)
		case text.Paragraph:
			most = min(most, mostParagraph)
		default:
			most = min(3*most, mostWhole)
		}
	}
	runes := []rune(s)
	if len(runes) > most {
		return strings.TrimRight(string(runes[:most-3]), " ") + "..."
	}
	return s
}

// end is at most so many characters of a text, from its end.
func end(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[len(runes)-most:])
	}
	return s
}
