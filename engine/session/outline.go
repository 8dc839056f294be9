package session

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
)

// entry is a line of a transcript in its outline.
type entry struct {
	line, offset, size int64
	kind               kind
	thread             int
	at                 time.Time
	id, parent         string // of hosts whose lines are a tree
	key, twin          string
	unique             bool
	head               int      // the index of the entry whose message this one belongs to: its own when it begins one
	pieces             int      // messages that it makes, when they are more than one
	names              []string // their keys, where the host has its own for each
	aside              conversation.SetAside
	beyond             bool     // too old for the context of a first import
	calls, results     []string // the tools' ids in it
	inForce            bool     // a compaction: the newest of the active branch
	withheld           bool     // the host has it, and does not show it yet
	redacted           bool     // what was said is to be gone
	firstKept          int      // of a compaction: the entry of the first message that stays, or none
}

// keyOf is the key of the nth message of the entry, from 0.
func (e *entry) keyOf(n int) string {
	if n < len(e.names) {
		return e.names[n]
	}
	return piece(e.key, n)
}

// uses notes the calls of tools among blocks, and their results.
func (e *entry) uses(blocks []conversation.Block) {
	for _, b := range blocks {
		switch b.Type {
		case conversation.ToolCallBlock:
			e.calls = append(e.calls, b.CallID)
		case conversation.ToolResultBlock:
			e.results = append(e.results, b.CallID)
		}
	}
}

// kind is what an entry is to a conversation.
type kind uint8

const (
	event      kind = iota // kept, but no turn of talk
	message                // a turn
	compaction             // a summary by the host
)

// none is no entry.
const none = -1

// talk reports whether an entry is on the active branch and in the context.
func (e *entry) talk() bool { return e.kind == message && e.aside == "" }

// setBranch sets aside every message that on leaves out.
func setBranch(entries []*entry, thread func(*entry) bool, on []bool) {
	for i, e := range entries {
		if !thread(e) || e.kind != message {
			continue
		}
		e.aside = ""
		if !on[e.head] && !on[i] {
			e.aside = conversation.AsideOffBranch
		}
	}
}

// enforce makes one compaction of a thread the one in force, and settles which message is the first that stays: first is the
// entry that the host names, or none.
func enforce(t *Transcript, thread, newest, first int) {
	for _, e := range t.entries {
		if e.thread == thread {
			e.inForce = false
		}
	}
	if newest == none {
		return
	}
	c := t.entries[newest]
	c.inForce, c.firstKept = true, none
	if first == none {
		return
	}
	for i := first; i < newest; i++ {
		if e := t.entries[i]; e.thread == thread && e.head == i && e.talk() {
			c.firstKept = t.withCalls(thread, i)
			return
		}
	}
}

// pair is a result of a tool and its call, as the entries that their messages begin in.
type pair struct{ call, result int }

// pairs gives those on the active branch of a thread, in the order of the results.
func (t *Transcript) pairs(thread int) (all []pair) {
	calls := map[string]int{}
	for i, e := range t.entries {
		if e.thread != thread || !e.talk() {
			continue
		}
		for _, result := range e.results {
			if call, ok := calls[result]; ok {
				all = append(all, pair{call, e.head})
			}
		}
		for _, call := range e.calls {
			calls[call] = t.entries[i].head
		}
	}
	return all
}

// withCalls moves the first of the messages that stay to older ones, until no result is among them without its call.
func (t *Transcript) withCalls(thread, first int) int {
	pairs := t.pairs(thread)
	for moved := true; moved; {
		moved = false
		for _, p := range pairs {
			if p.result >= first && p.call < first {
				first, moved = p.call, true
			}
		}
	}
	return first
}

// Bootstrap bounds what a first import puts into the context of each thread: the newest messages within so many tokens, but
// always the newest, and with a tool's result its call. count gives the tokens of a message. What a compaction in force stands for
// takes no room.
func (t *Transcript) Bootstrap(budget int, count func(conversation.Message) int) error {
	for thread := range t.Threads {
		if err := t.bootstrap(thread, budget, count); err != nil {
			return err
		}
	}
	return nil
}

func (t *Transcript) bootstrap(thread, budget int, count func(conversation.Message) int) error {
	oldest := 0 // the oldest entry that no compaction stands for
	for i, e := range t.entries {
		if e.thread == thread && e.kind == compaction && e.inForce {
			oldest = i
			if e.firstKept != none {
				oldest = e.firstKept
			}
		}
	}
	used, first := 0, none
	for i := len(t.entries) - 1; i >= oldest; i-- {
		e := t.entries[i]
		if e.thread != thread || e.head != i || !e.talk() {
			continue
		}
		raw, err := t.text(e)
		if err != nil {
			return err
		}
		messages, err := t.messagesOf(i, raw)
		if err != nil {
			return err
		}
		for _, m := range messages {
			used += count(m)
		}
		if used > budget && first != none {
			break
		}
		first = i
	}
	if first == none {
		return nil
	}
	first = t.pairSafe(thread, first)
	for i := oldest; i < first; i++ {
		if e := t.entries[i]; e.thread == thread && e.talk() {
			e.beyond = true
		}
	}
	return nil
}

// pairSafe moves the first of the messages that stay to newer ones, until no result is among them without its call; where that
// leaves none, to older ones.
func (t *Transcript) pairSafe(thread, first int) int {
	newer := first
	for _, p := range t.pairs(thread) {
		if p.result >= newer && p.call < newer {
			newer = p.result + 1
		}
	}
	for i := newer; i < len(t.entries); i++ {
		if e := t.entries[i]; e.thread == thread && e.head == i && e.talk() {
			return i
		}
	}
	return t.withCalls(thread, first)
}

// canonical is JSON without the blanks between its parts; what is no JSON stays as it is.
func canonical(raw []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// timeOf reads a host's time: RFC 3339, or milliseconds or seconds since 1970. Anything else is zero.
func timeOf(raw json.RawMessage) time.Time {
	var at time.Time
	var n float64
	var s string
	switch {
	case json.Unmarshal(raw, &s) == nil:
		at = parseTime(s)
	case json.Unmarshal(raw, &n) == nil:
		at = epoch(n)
	}
	return sane(at)
}

// epoch is a time since 1970: in seconds up to the year 5138, which in milliseconds is early in 1973.
func epoch(n float64) time.Time {
	const seconds, most = 1e11, 1e15
	switch {
	case math.Abs(n) < seconds:
		n *= 1e6
	case math.Abs(n) < most:
		n *= 1e3
	default:
		return time.Time{}
	}
	return time.UnixMicro(int64(math.Round(n))).UTC()
}

// parseTime reads the ways that times are written in; one without a zone is in UTC.
func parseTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if at, err := time.Parse(layout, s); err == nil {
			return sane(at.UTC())
		}
	}
	return time.Time{}
}

// sane is a time that a file can hold, or zero.
func sane(at time.Time) time.Time {
	if year := at.Year(); year < 1 || year > 9999 {
		return time.Time{}
	}
	return at
}

// TimeOf reads a time that a host wrote as text: in the usual ways, in UTC where it names no zone, or as seconds or milliseconds since 1970. Zero:
// it is none, or not in the years 1 to 9999.
func TimeOf(s string) time.Time {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return sane(epoch(n))
	}
	return parseTime(s)
}
