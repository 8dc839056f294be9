package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine"
)

// Transcript is a host's file as far as it was read. It keeps an outline, some 200 bytes for a line, and no contents: those are
// read again for Records.
type Transcript struct {
	Host    Host
	Threads []Thread // the conversations in it
	Own     int      // the one that the file is named for
	Faults  []Fault  // lines that can't be read
	Lines   int64
	Bytes   int64 // up to the end of the last whole line
	Pending int64 // bytes of a last line that is not whole yet
	// FirstLine is the SHA-256 of the first line, in hex; empty: it is not whole yet.
	FirstLine string
	Redact    bool // Records mask keys and tokens

	r      io.ReaderAt
	format format
	// nameless: no line has said yet which session it is, so that it is too early to store any.
	nameless bool
	entries  []*entry
	unended  bool           // the newline of the last line is still to come
	since    int            // the entry that the last Read began with
	more     map[int][]int  // by the entry that a message begins in, the later ones that belong to it
	left     []Change       // of the last Read
	seen     map[string]int // how often a line without an id of its own came
}

// errUnreadable: a line is not what it was when it was read first.
var errUnreadable = errors.New("the file changed while it was read")

// Thread is one conversation of a transcript.
type Thread struct {
	ID     string // the host's: of its session, or of a sub-agent
	Key    string // names the conversation across the host's sessions
	Title  string
	CWD    string // the working directory
	Parent string // the ID of the thread that it was started or forked from
	Forked bool   // it begins with a copy of its parent's history
}

// Fault is a line that was skipped.
type Fault struct {
	Line   int64  `json:"line"` // from 1
	Reason string `json:"reason"`
}

// Record is one thing that a transcript says. One of Message, Blocks and Summary is there.
type Record struct {
	Thread       int    // index into Threads
	Line, Offset int64  // where it is; Offset is that of the line's end
	Key          string // of the message, or of the message that Blocks belong to, or of the summary
	// Twins are the keys in the parent's transcript of what this would be a copy of: the message, and the blocks that came later.
	Twins  []string
	Unique bool // no other transcript of the host has the key for anything else

	Message *engine.Message
	Blocks  []engine.Block // more of an earlier message
	Summary *Summary
}

// Summary stands for every message of its thread before FirstKept.
type Summary struct {
	Text      string
	At        time.Time
	FirstKept string // the key of the first message that stays; empty: none of those before it
	Next      string // the key of the first message after it; empty: there is none yet
	Messages  int    // of the active branch before it in this file; none, where the host began another file
}

// Change is a message of an earlier Read that left the active branch, or came back to it.
type Change struct {
	Thread int
	Key    string
	Off    bool
}

// format is a host's way of writing.
type format interface {
	// scan notes a line in the outline. An error says why the line is of no use.
	scan(t *Transcript, e *entry, text []byte) error
	// settle finds the active branch, the compactions in force and the titles among the lines so far.
	settle(t *Transcript)
	// messages gives what a line says: one message, or several where the host puts the results of tools into one line. Of a line that
	// goes on with an earlier message it is one with the further blocks. Keys, times, SetAside and Raw are the caller's.
	messages(e *entry, text []byte) ([]engine.Message, error)
	// summary gives the text of a compaction.
	summary(e *entry, text []byte) string
}

// Open makes the transcript of a file; Read reads it. path may say what the lines do not; it is not opened.
func Open(r io.ReaderAt, host Host, path string) (*Transcript, error) {
	t := &Transcript{Host: host, r: r, more: map[int][]int{}, seen: map[string]int{}}
	switch host {
	case Claude:
		t.format = newClaude(path)
	case Codex:
		t.format = newCodex(path)
	case OpenClaw:
		t.format = newOpenClaw(path)
	case Plain:
		t.format = newPlain(path)
	default:
		return nil, fmt.Errorf("open transcript: %w", checkHost(or(host, "none")))
	}
	return t, nil
}

// Read reads on, up to an offset. What is there from then on is what Records gives.
func (t *Transcript) Read(ctx context.Context, to int64) error {
	t.since, t.left = len(t.entries), nil
	was := make([]engine.SetAside, t.since)
	for i, e := range t.entries {
		was[i] = e.aside
	}
	pending, err := eachLine(ctx, t.r, t.Bytes, to, t.Lines+1, t.add)
	if err != nil {
		return fmt.Errorf("read transcript: %w", err)
	}
	t.Pending = pending
	t.backdate()
	t.format.settle(t)
	for i, e := range t.entries[:t.since] {
		if e.kind == message && e.head == i && e.aside != was[i] && was[i] != engine.AsideEvent {
			for n := range max(e.pieces, 1) {
				t.left = append(t.left, Change{e.thread, piece(e.key, n), e.aside == engine.AsideOffBranch})
			}
		}
	}
	return nil
}

// backdate gives lines at the beginning that tell no time that of the first that does.
func (t *Transcript) backdate() {
	first := slices.IndexFunc(t.entries, func(e *entry) bool { return !e.at.IsZero() })
	for i := range max(first, 0) {
		t.entries[i].at = t.entries[first].at
	}
}

// add takes the next line.
func (t *Transcript) add(l line) error {
	if t.unended && len(l.text) == 0 { // the newline of the line before, which came late
		t.unended = false
		t.Bytes += l.size
		return nil
	}
	no := t.Lines + 1
	t.Lines, t.Bytes, t.unended = no, l.offset+l.size, l.unended
	if no == 1 {
		t.FirstLine = hashOf(l.text)
	}
	text := bytes.TrimPrefix(l.text, byteOrderMark)
	if blank(text) {
		return nil
	}
	e := &entry{line: no, offset: l.offset, size: int64(len(l.text)), head: len(t.entries), firstKept: none}
	if len(t.entries) > 0 {
		last := t.entries[len(t.entries)-1]
		e.thread, e.at = last.thread, last.at
	}
	if err := t.format.scan(t, e, text); err != nil {
		t.Faults = append(t.Faults, Fault{no, err.Error()})
		return nil
	}
	if e.head != len(t.entries) {
		t.more[e.head] = append(t.more[e.head], len(t.entries))
	}
	t.entries = append(t.entries, e)
	return nil
}

// hashOf is the SHA-256 of a line, in hex.
func hashOf(text []byte) string {
	sum := sha256.Sum256(bytes.TrimSuffix(text, []byte("\r")))
	return hex.EncodeToString(sum[:])
}

// Changes gives the messages of earlier Reads that the last one moved off the active branch or back to it.
func (t *Transcript) Changes() []Change { return t.left }

// Records gives what the last Read brought, in the order of the lines.
func (t *Transcript) Records(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for i := t.since; i < len(t.entries); i++ {
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

// talkAfter gives the first message on the active branch of a thread after an entry, or none.
func (t *Transcript) talkAfter(i int) int {
	for j := i + 1; j < len(t.entries); j++ {
		if e := t.entries[j]; e.thread == t.entries[i].thread && e.head == j && e.talk() {
			return j
		}
	}
	return none
}

// keys gives every key that the last Read came upon.
func (t *Transcript) keys() (all []string) {
	for i, e := range t.entries[t.since:] {
		for n := range max(e.pieces, 1) {
			all = append(all, piece(e.key, n))
			if e.twin != "" {
				all = append(all, piece(e.twin, n))
			}
		}
		if e.head != t.since+i {
			all = append(all, t.entries[e.head].key)
		}
		if e.kind == compaction {
			all = append(all, piece(e.key, 1))
		}
	}
	for _, c := range t.left {
		all = append(all, c.Key)
	}
	return all
}

// messagesOf gives the messages that begin with an entry, complete as far as the file was read.
func (t *Transcript) messagesOf(i int, raw []byte) ([]engine.Message, error) {
	e := t.entries[i]
	messages, err := t.format.messages(e, raw)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w: %w", e.line, errUnreadable, err)
	}
	if e.head != i {
		return messages, nil
	}
	for n := range messages {
		m := &messages[n]
		m.Key, m.SaidAt, m.Session = piece(e.key, n), e.at, t.Threads[e.thread].ID
		switch {
		case m.SetAside != "":
		case e.kind != message:
			m.SetAside = engine.AsideEvent
		case e.aside != "":
			m.SetAside = e.aside
		case e.beyond:
			m.SetAside = engine.AsideNew
		}
	}
	messages[0].Raw = raw
	for _, j := range t.more[i] {
		later := t.entries[j]
		raw, err := t.text(later)
		if err != nil {
			return nil, err
		}
		parts, err := t.format.messages(later, raw)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w: %w", later.line, errUnreadable, err)
		}
		messages[0].Blocks = append(messages[0].Blocks, further(later, parts, raw)...)
	}
	return messages, nil
}

// further gives the blocks of a line that goes on with an earlier message, with the line kept beside the first.
func further(e *entry, messages []engine.Message, raw []byte) (blocks []engine.Block) {
	for _, m := range messages {
		blocks = append(blocks, m.Blocks...)
	}
	if len(blocks) == 0 {
		blocks = []engine.Block{{Type: "empty"}}
	}
	for n := range blocks {
		blocks[n].Key = piece(e.key, n)
	}
	blocks[0].Raw = raw
	return blocks
}

// text reads the line of an entry again.
func (t *Transcript) text(e *entry) ([]byte, error) {
	b := make([]byte, e.size)
	if n, err := t.r.ReadAt(b, e.offset); n < len(b) {
		return nil, fmt.Errorf("line %d: %w: %w", e.line, errUnreadable, err)
	}
	b = bytes.TrimPrefix(b, byteOrderMark)
	if t.Redact {
		b = RedactJSON(b)
	}
	return b, nil
}

// thread gives the index of a thread, and makes it when there is none of that id.
func (t *Transcript) thread(id string) int {
	i := slices.IndexFunc(t.Threads, func(v Thread) bool { return v.ID == id })
	if i < 0 {
		t.Threads = append(t.Threads, Thread{ID: id})
		i = len(t.Threads) - 1
	}
	return i
}

// hashed is the key of a line that has no id: a hash of what it says, and how often the same came before in the file.
func (t *Transcript) hashed(role string, content []byte) string {
	h := sha256.New()
	io.WriteString(h, role+"\n")
	h.Write(canonical(content))
	sum := hex.EncodeToString(h.Sum(nil))
	t.seen[sum]++
	return fmt.Sprintf("%s#%d", sum, t.seen[sum]-1)
}

// piece is the key of the nth message of a line, from 0.
func piece(key string, n int) string {
	if key == "" || n == 0 {
		return key
	}
	return fmt.Sprintf("%s#%d", key, n)
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
