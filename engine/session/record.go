package session

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
)

// Record is one thing that a transcript says. One of Message, Blocks, Summary and Checkpoint is there.
type Record struct {
	Thread       int    // index into Threads
	Line, Offset int64  // where it is; Offset is that of the line's end
	Key          string // of the message, or of the message that Blocks belong to, or of the summary
	// Twins are the keys in the parent's transcript of what this would be a copy of: the message, and the blocks that came later.
	Twins  []string
	Unique bool // no other transcript of the host has the key for anything else

	Message    *conversation.Message
	Blocks     []conversation.Block // more of an earlier message
	Summary    *Summary
	Checkpoint *Checkpoint
}

// Checkpoint is what a host noted of a conversation, up to a message.
type Checkpoint struct {
	Summary                      string
	Topics, Decisions, Questions []string
	Tokens, Messages             int // in the context then; 0: it does not say
	At                           time.Time
	After                        string // the key of the last message before it; empty: there is none
}

// checkpointing is a format whose lines may be checkpoints.
type checkpointing interface {
	checkpoint(i int, raw []byte) *Checkpoint
}

// Summary stands for every message of its thread before FirstKept.
type Summary struct {
	Text      string
	At        time.Time
	FirstKept string // the key of the first message that stays; empty: none of those before it
	Next      string // the key of the first message after it; empty: there is none yet
	Messages  int    // of the active branch before it in this file; none, where the host began another file
}

// Records gives what the last Read brought, in the order of the lines, or where the host orders by time in that; of one time as the lines are.
func (t *Transcript) Records(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, i := range t.order() {
			err := ctx.Err()
			var records []Record
			if err == nil {
				records, err = t.recordsOf(i)
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			for _, r := range records {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// order gives the entries of the last Read in the order that their records have.
func (t *Transcript) order() []int {
	var all []int
	for i := t.since; i < len(t.entries); i++ {
		all = append(all, i)
	}
	if t.byTime {
		slices.SortStableFunc(all, func(a, b int) int { return t.entries[a].at.Compare(t.entries[b].at) })
	}
	return all
}

// recordsOf gives what an entry says.
func (t *Transcript) recordsOf(i int) ([]Record, error) {
	e := t.entries[i]
	if e.head != i && e.head >= t.since {
		return nil, nil // its message has it already
	}
	raw, err := t.text(e)
	if err != nil {
		return nil, err
	}
	messages, err := t.messagesOf(i, raw)
	if err != nil {
		return nil, err
	}
	record := Record{Thread: e.thread, Line: e.line, Offset: e.offset + e.size, Key: e.key, Unique: e.unique}
	if e.head != i {
		head := t.entries[e.head]
		record.Thread, record.Key, record.Unique, record.Blocks = head.thread, head.key, head.unique, further(e, messages, raw)
		return []Record{record}, nil
	}
	var records []Record
	for n := range messages {
		r := record
		r.Message, r.Key, r.Twins = &messages[n], messages[n].Key, t.twins(i, n)
		records = append(records, r)
	}
	if f, ok := t.format.(checkpointing); ok {
		if k := f.checkpoint(i, raw); k != nil {
			k.At = e.at
			if last := t.talkUntil(i); last != none {
				k.After = t.entries[last].key
			}
			r := record
			r.Checkpoint, r.Twins = k, t.twins(i, 0)
			records = append(records, r)
		}
	}
	if e.kind == compaction && e.inForce {
		if said := t.format.summary(e, raw); said != "" {
			record.Summary = &Summary{Text: said, At: e.at, Messages: t.talkBefore(i)}
			if e.firstKept != none {
				record.Summary.FirstKept = t.entries[e.firstKept].key
			}
			if next := t.talkAfter(i); next != none {
				record.Summary.Next = t.entries[next].key
			}
			records = append(records, record)
		}
	}
	return records, nil
}

// twins gives the keys of what the nth message of an entry may be a copy of.
func (t *Transcript) twins(i, n int) []string {
	e := t.entries[i]
	if e.twin == "" {
		return nil
	}
	all := []string{piece(e.twin, n)}
	for _, j := range t.more[i] {
		all = append(all, t.entries[j].twin)
	}
	return all
}

// talkBefore counts the messages on the active branch of a thread before an entry.
func (t *Transcript) talkBefore(i int) (n int) {
	for j, e := range t.entries[:i] {
		if e.thread == t.entries[i].thread && e.head == j && e.talk() {
			n++
		}
	}
	return n
}

// talkUntil gives the last message on the active branch of a thread before an entry, or none.
func (t *Transcript) talkUntil(i int) int {
	for j := i - 1; j >= 0; j-- {
		if e := t.entries[j]; e.thread == t.entries[i].thread && e.head == j && e.talk() {
			return j
		}
	}
	return none
}

// talkAfter gives the first message on the active branch of a thread after an entry, or none.
func (t *Transcript) talkAfter(i int) int {
	for j := i + 1; j < len(t.entries); j++ {
		if e := t.entries[j]; e.thread == t.entries[i].thread && e.head == j && e.talk() {
			return j
		}
	}
	return none
}

// messagesOf gives the messages that begin with an entry, complete as far as the file was read.
func (t *Transcript) messagesOf(i int, raw []byte) ([]conversation.Message, error) {
	e := t.entries[i]
	messages, err := t.format.messages(t, e, raw)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w: %w", e.line, errUnreadable, err)
	}
	if e.head != i {
		return messages, nil
	}
	for n := range messages {
		m := &messages[n]
		m.Key, m.SaidAt, m.Session, m.Withheld = e.keyOf(n), e.at, t.Threads[e.thread].ID, e.withheld
		switch {
		case m.SetAside != "":
		case e.kind != message:
			m.SetAside = conversation.AsideEvent
		case e.aside != "":
			m.SetAside = e.aside
		case e.beyond:
			m.SetAside = conversation.AsideNew
		}
	}
	if !e.redacted {
		messages[0].Raw = raw
	}
	for _, j := range t.more[i] {
		later := t.entries[j]
		raw, err := t.text(later)
		if err != nil {
			return nil, err
		}
		parts, err := t.format.messages(t, later, raw)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w: %w", later.line, errUnreadable, err)
		}
		messages[0].Blocks = append(messages[0].Blocks, further(later, parts, raw)...)
	}
	return messages, nil
}

// further gives the blocks of a line that goes on with an earlier message, with the line kept beside the first.
func further(e *entry, messages []conversation.Message, raw []byte) (blocks []conversation.Block) {
	for _, m := range messages {
		blocks = append(blocks, m.Blocks...)
	}
	if len(blocks) == 0 {
		blocks = []conversation.Block{{Type: "empty"}}
	}
	for n := range blocks {
		blocks[n].Key = piece(e.key, n)
	}
	blocks[0].Raw = raw
	return blocks
}
