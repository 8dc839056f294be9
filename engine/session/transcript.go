package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mallardmem/mallard/engine/conversation"
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
	// refused says why the host's own reader would read nothing of the file; empty: it would.
	refused string
	byTime  bool // what a Read brings is in the order of its times, not of its lines
	entries []*entry
	unended bool           // the newline of the last line is still to come
	since   int            // the entry that the last Read began with
	more    map[int][]int  // by the entry that a message begins in, the later ones that belong to it
	left    []Change       // of the last Read
	shown   []Change       // likewise: messages of earlier Reads that the host withholds now, or shows now
	removed []string       // likewise: keys of messages that the host redacted
	seen    map[string]int // how often a line without an id of its own came
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

// Change is a message of an earlier Read that is no longer what it was: it left the active branch or came back to it, or is withheld or shown.
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
	messages(t *Transcript, e *entry, text []byte) ([]conversation.Message, error)
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
	case Takobot:
		t.format = newTakobot(path)
	case Openboa:
		t.format = newOpenboa(path)
	case Plain:
		t.format = newPlain(path)
	default:
		return nil, fmt.Errorf("open transcript: %w", checkHost(or(host, "none")))
	}
	return t, nil
}

// Read reads on, up to an offset. What is there from then on is what Records gives.
func (t *Transcript) Read(ctx context.Context, to int64) error {
	t.since, t.left, t.shown, t.removed = len(t.entries), nil, nil, nil
	was := make([]entry, t.since)
	for i, e := range t.entries {
		was[i] = entry{kind: e.kind, aside: e.aside, withheld: e.withheld, redacted: e.redacted}
	}
	pending, err := eachLine(ctx, t.r, t.Bytes, to, t.Lines+1, t.add)
	if err != nil {
		return fmt.Errorf("read transcript: %w", err)
	}
	t.Pending = pending
	t.backdate()
	t.format.settle(t)
	for i, e := range t.entries[:t.since] {
		if e.head != i || was[i].kind != message {
			continue
		}
		for n := range max(e.pieces, 1) {
			if e.kind != message || e.aside != was[i].aside {
				t.left = append(t.left, Change{e.thread, e.keyOf(n), !e.talk()})
			}
			if e.withheld != was[i].withheld {
				t.shown = append(t.shown, Change{e.thread, e.keyOf(n), e.withheld})
			}
		}
	}
	for i, e := range t.entries {
		if e.redacted && (i >= t.since || !was[i].redacted) {
			t.removed = append(t.removed, e.key)
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
	if t.unended && blank(l.text) { // the newline of the line before, which came late
		t.unended = false
		t.Bytes += l.size
		return nil
	}
	no := t.Lines + 1
	t.Lines, t.Bytes, t.unended = no, l.offset+l.size, l.unended
	if no == 1 {
		t.FirstLine = hashOf(l.text)
	}
	text := stripped(l.text)
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

// keys gives every key that the last Read came upon.
func (t *Transcript) keys() (all []string) {
	for i, e := range t.entries[t.since:] {
		for n := range max(e.pieces, 1) {
			all = append(all, e.keyOf(n))
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
	for _, c := range slices.Concat(t.left, t.shown) {
		all = append(all, c.Key)
	}
	return append(all, t.removed...)
}

// text reads the line of an entry again.
func (t *Transcript) text(e *entry) ([]byte, error) {
	b := make([]byte, e.size)
	if n, err := t.r.ReadAt(b, e.offset); n < len(b) {
		return nil, fmt.Errorf("line %d: %w: %w", e.line, errUnreadable, err)
	}
	b = stripped(b)
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
