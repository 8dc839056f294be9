package turn

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/text/capture"
)

// Outcome is what became of a turn.
type Outcome struct {
	ConversationID string   `json:"conversation_id,omitempty"`
	MessageIDs     []string `json:"message_ids,omitempty"` // of what was kept
	Added          int      `json:"added"`                 // of these, that were not known before
	// Used and Unused are the memories that the turn was shown, by whether they were of use.
	Used   []string `json:"used,omitempty"`
	Unused []string `json:"unused,omitempty"`
	// Extraction is what was drawn from the talk; nil: nothing was read, and Waiting says why.
	Extraction *extract.Report `json:"extraction,omitempty"`
	Waiting    string          `json:"waiting,omitempty"`
	// VectorErr: the messages, and what was drawn from them, are stored, but the model failed or took too long, so some has no vector until RebuildIndex.
	VectorErr error `json:"-"`
}

// After keeps what was said in a turn, notes which of the memories that Before showed were of use, and has memories drawn from the conversation when enough of it was not
// read yet (setup.Turns), by the model where there is one: a host that doesn't want to wait for that calls After beside the next turn. What is in a prompt by Before is not
// kept. What was done before an error stays. Errors: those of Append and Extract.
func (t *Turns) After(ctx context.Context, of Turn) (*Outcome, error) {
	done := &Outcome{}
	if err := t.after(ctx, &of, done); err != nil {
		return done, fmt.Errorf("after turn: %w", err)
	}
	return done, nil
}

func (t *Turns) after(ctx context.Context, of *Turn, done *Outcome) error {
	if err := of.validate(); err != nil {
		return err
	}
	name := of.name()
	if name != "" {
		if err := t.load(ctx, name); err != nil {
			return err
		}
	}
	if err := t.keep(ctx, of, name, done); err != nil {
		return err
	}
	if err := t.feedBack(ctx, of, name, done); err != nil {
		return err
	}
	if err := t.draw(ctx, of, done); err != nil {
		return err
	}
	if done.Extraction != nil {
		done.VectorErr = cmp.Or(done.VectorErr, done.Extraction.VectorErr)
	}
	return t.save(ctx)
}

// keep stores what was said.
func (t *Turns) keep(ctx context.Context, of *Turn, name string, done *Outcome) error {
	messages := slices.Clone(of.Messages)
	if messages == nil {
		for _, m := range []conversation.Message{{Role: "user", Text: of.Prompt}, {Role: "assistant", Text: of.Answer}} {
			if strings.TrimSpace(m.Text) != "" {
				messages = append(messages, m)
			}
		}
	}
	if of.Conversation == "" || len(messages) == 0 {
		return nil
	}
	for i := range messages {
		m := &messages[i]
		m.Text, m.Blocks = recall.Unblock(m.Text), slices.Clone(m.Blocks)
		for j := range m.Blocks {
			m.Blocks[j].Text = recall.Unblock(m.Blocks[j].Text)
		}
	}
	kept, err := t.conversations.Append(ctx, conversation.AppendRequest{Conversation: of.Conversation, Scope: of.Scope, Agent: of.Agent, Messages: messages})
	if err != nil {
		return err
	}
	done.ConversationID, done.MessageIDs, done.Added, done.VectorErr = kept.ConversationID, kept.IDs, kept.Added, kept.VectorErr
	if kept.Skipped != "" {
		done.Waiting = kept.Skipped
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.session(name); s.ConversationID != kept.ConversationID {
		s.ConversationID, s.Last, s.dirty = kept.ConversationID, t.file.Now(), true
	}
	return nil
}

// feedBack notes which memories were of use: those that the host names, or else those that the answer shows use of. Without an answer nobody can tell.
func (t *Turns) feedBack(ctx context.Context, of *Turn, name string, done *Outcome) error {
	if strings.TrimSpace(of.Answer) == "" && of.Used == nil {
		return nil
	}
	shown := t.judge(name)
	if len(shown) == 0 {
		return nil
	}
	all, err := t.memories.AsUsed(ctx, shown)
	if err != nil {
		return err
	}
	for _, m := range all {
		used := slices.Contains(of.Used, m.ID)
		if of.Used == nil {
			used = t.showsUse(of, m)
		}
		if used {
			done.Used = append(done.Used, m.ID)
		} else {
			done.Unused = append(done.Unused, m.ID)
		}
	}
	t.memories.NoteFeedback(true, done.Used...)
	t.memories.NoteFeedback(false, done.Unused...)
	return nil
}

// fewestAnswered is how many characters an answer has more than that can show use of anything.
const fewestAnswered = 24

// recalls are words by which an answer says that it goes by what it remembers.
var recalls = regexp.MustCompile(`(?i)\b(?:as you (?:mentioned|said|told me|noted)|you (?:mentioned|told me|said (?:that|before|earlier))|I (?:remember|recall) (?:that|you|your)|based on (?:what you|your (?:preference|earlier)|our (?:previous|earlier|last))|from (?:our|your) (?:previous|earlier|last)|last time (?:you|we)|since you (?:prefer|like|use|live|work)|wie du (?:gesagt|erwähnt)|du hast (?:mir )?(?:gesagt|erzählt|erwähnt)|ich erinnere mich|da du (?:lieber|gern))\b|你(?:之前|以前|上次)(?:说|提|讲)|你(?:提到|说过|告诉过)|我记得|根据你的`)

// leastUsed is the share of the words of a memory that an answer has which uses it; words of the prompt do not count.
const leastUsed = 0.5

// showsUse reports whether an answer shows use of a memory: it says that it remembers, or has half of the words that the memory has and the prompt has not, two at least.
func (t *Turns) showsUse(of *Turn, m *memory.Memory) bool {
	if utf8.RuneCountInString(strings.TrimSpace(of.Answer)) <= fewestAnswered {
		return false
	}
	if recalls.MatchString(of.Answer) {
		return true
	}
	asked, answered := t.terms(of.Prompt), t.terms(of.Answer)
	news, met := 0, 0
	for term := range t.terms(m.Text) {
		if !asked[term] {
			if news++; answered[term] {
				met++
			}
		}
	}
	return met >= min(2, news) && met > 0 && float64(met) >= leastUsed*float64(news)
}

func (t *Turns) terms(said string) map[string]bool {
	terms := map[string]bool{}
	for _, token := range t.index.Analyzer.Tokens(said) {
		if !t.index.Analyzer.IsStop(token.Surface) {
			terms[token.Term] = true
		}
	}
	return terms
}

// draw has memories drawn from a conversation when enough of it was not read yet, and it is worth that.
func (t *Turns) draw(ctx context.Context, of *Turn, done *Outcome) error {
	if done.ConversationID == "" {
		return nil
	}
	unread, err := t.extractor.Unread(ctx, done.ConversationID, of.Agent)
	if err != nil {
		return err
	}
	if done.Waiting = t.waits(unread); done.Waiting != "" {
		return nil
	}
	if free, err := t.reserve(ctx); err != nil || !free {
		done.Waiting = fmt.Sprintf("%d extractions within %v", t.opts.Turns.MaxExtractions, time.Duration(t.opts.Turns.ExtractionWindow))
		return err
	}
	done.Extraction, err = t.extractor.Extract(ctx, extract.Request{Conversation: done.ConversationID, Agent: of.Agent, Rules: of.Rules})
	return err
}

// waits says why messages are not read yet; empty: they are to be.
func (t *Turns) waits(unread []*conversation.Message) string {
	o := t.opts.Turns
	messages, characters := 0, 0
	var said []capture.Said
	for _, m := range unread {
		for _, b := range m.Blocks {
			if b.Tool != "" {
				said = append(said, capture.Said{Tool: true})
			}
		}
		if strings.TrimSpace(m.Text) == "" || m.Role == "tool" {
			continue
		}
		said = append(said, capture.Said{Text: m.Text})
		if m.Role == "user" {
			messages++
			characters += utf8.RuneCountInString(m.Text)
		}
	}
	byMessages := o.ExtractMessages > 0 && messages >= o.ExtractMessages
	byCharacters := o.ExtractChars > 0 && characters >= o.ExtractChars
	switch value := capture.Value(said); {
	case messages == 0 || !byMessages && !byCharacters:
		return fmt.Sprintf("unread: %d of %d messages, %d of %d characters", messages, max(o.ExtractMessages, 0), characters, max(o.ExtractChars, 0))
	case value < o.MinValue:
		return fmt.Sprintf("what was said is worth %.1f of %.1f", value, o.MinValue)
	}
	return ""
}

// reserve counts an extraction, or finds that there were too many lately. That is in the file before it begins.
func (t *Turns) reserve(ctx context.Context) (free bool, err error) {
	o, now := t.opts.Turns, t.file.Now()
	err = t.file.Write(ctx, "turn", func(tx *duck.Write) error {
		var drawn []time.Time
		if _, err := t.file.Setting(ctx, tx.Conn, drawnSetting, &drawn); err != nil {
			return err
		}
		drawn = slices.DeleteFunc(drawn, func(at time.Time) bool { return now.Sub(at) >= time.Duration(o.ExtractionWindow) })
		if free = len(drawn) < o.MaxExtractions; !free {
			return nil
		}
		return t.file.PutSetting(ctx, tx, drawnSetting, append(drawn, now))
	})
	return free, err
}
