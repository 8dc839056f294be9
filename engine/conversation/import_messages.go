package conversation

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// The window of an import of messages: how many lines, and bytes of them, wait for others of their conversations. A transaction is one
// conversation's, and a file where two talks take turns would else need one for each turn.
const (
	importWindow      = 10_000
	importWindowBytes = 64 << 20
)

// messageLine is a line of a file of messages.
type messageLine struct {
	Conversation string `json:"conversation"`
	Key          string `json:"key"`
	Session      string `json:"session"`
	Role         string `json:"role"`
	Speaker      string `json:"speaker"`
	Text         string `json:"text"`
	Time         any    `json:"time"`
	Caption      string `json:"caption"`
	// A line without them has the key that it had before there were any.
	Content  json.RawMessage `json:"content,omitempty"`
	Blocks   []Block         `json:"blocks,omitempty"`
	SetAside SetAside        `json:"set_aside,omitempty"`
	marked
}

// marked is what a message may say beside its words.
type marked struct {
	ReplyTo    string   `json:"reply_to,omitempty"`
	SourceKind string   `json:"source_kind,omitempty"`
	Withheld   bool     `json:"withheld,omitempty"`
	Fallback   bool     `json:"fallback,omitempty"`
	Usage      *Usage   `json:"usage,omitempty"`
	Actions    []string `json:"actions,omitempty"`
}

// ImportMessages reads messages, one JSON object per line or as an array: conversation and text, and as they are known key, session, role,
// speaker, time, caption, set_aside, reply_to, source_kind, withheld, fallback, usage and actions; beside text, or in its place, blocks as Messages gives them, or the content of a host's message
// (ContentOf). Messages of LangChain are read as well. Lines of a conversation are appended in their order; conversations may take turns, a
// window of 10,000 lines or 64 MB is sorted by them. A line without a key gets one from what it says and how often the file has said it
// before, so reading a file twice adds nothing.
func (cs *Store) ImportMessages(ctx context.Context, in io.Reader, q interchange.ImportRequest) (*interchange.Imported, error) {
	if q.Markdown {
		return &interchange.Imported{}, fmt.Errorf("import messages: %w: markdown is true; allowed: false, the bullets of Markdown are memories", fault.ErrInvalid)
	}
	i := &messageImport{into: cs, request: q, result: &interchange.Imported{}, said: map[[sha256.Size]byte]int{}, waiting: map[string]*waiting{}}
	defer i.result.Sort()
	err := interchange.EachRow(in, func(r interchange.Row) error { return i.take(ctx, r) })
	if err == nil {
		err = i.storeAll(ctx)
	}
	if err != nil {
		return i.result, fmt.Errorf("import messages: %w", err)
	}
	return i.result, nil
}

// messageImport is one file on its way in.
type messageImport struct {
	into    *Store
	request interchange.ImportRequest
	result  *interchange.Imported
	said    map[[sha256.Size]byte]int // how often a line was there that has no key
	waiting map[string]*waiting       // by conversation
	lines   int                       // that wait
	bytes   int
}

// waiting are messages of one conversation that are not stored yet.
type waiting struct {
	conversation string
	messages     []Message
	places       []interchange.Position
	bytes        int
}

func (i *messageImport) take(ctx context.Context, r interchange.Row) error {
	i.result.Lines++
	conversation, m, err := i.parse(r)
	if err != nil {
		i.result.Fault(r.Position, err)
		return nil
	}
	if i.request.DryRun {
		return nil
	}
	w := i.waiting[conversation]
	if w == nil {
		w = &waiting{conversation: conversation}
		i.waiting[conversation] = w
	}
	w.messages, w.places, w.bytes = append(w.messages, *m), append(w.places, r.Position), w.bytes+len(r.JSON)
	i.lines, i.bytes = i.lines+1, i.bytes+len(r.JSON)
	switch {
	case i.lines >= importWindow || i.bytes >= importWindowBytes:
		return i.storeAll(ctx)
	case len(w.messages) >= interchange.ImportBatch:
		return i.store(ctx, w)
	}
	return nil
}

// storeAll stores what waits, the conversation first that the file began first.
func (i *messageImport) storeAll(ctx context.Context) error {
	all := slices.SortedFunc(maps.Values(i.waiting), func(a, b *waiting) int { return a.places[0].Compare(b.places[0]) })
	for _, w := range all {
		if err := i.store(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// store appends what waits of a conversation, in one transaction.
func (i *messageImport) store(ctx context.Context, w *waiting) error {
	delete(i.waiting, w.conversation)
	i.lines, i.bytes = i.lines-len(w.messages), i.bytes-w.bytes
	left := map[int]error{}
	request := AppendRequest{Conversation: w.conversation, Scope: i.request.Scope, Agent: i.request.Agent, Messages: w.messages}
	appended, err := i.into.appendAll(ctx, request, left)
	if err != nil {
		return err
	}
	if appended.Skipped != "" {
		i.result.Excluded += len(w.messages)
	}
	i.result.Created += appended.Added
	i.result.Known += len(appended.IDs) - appended.Added
	i.result.Unembedded(w.places[0], appended.VectorErr)
	for _, n := range slices.Sorted(maps.Keys(left)) {
		i.result.Unembedded(w.places[n], left[n])
	}
	i.into.opts.Progress("messages", i.result.Created+i.result.Known+i.result.Excluded+len(i.result.Faults), 0)
	return nil
}

func (i *messageImport) parse(r interchange.Row) (conversation string, m *Message, err error) {
	if r.Broken != nil {
		return "", nil, r.Broken
	}
	var l messageLine
	if err := interchange.Decode(r.JSON, &l); err != nil {
		return "", nil, fmt.Errorf("%w: %v", fault.ErrInvalid, err)
	}
	raw, err := l.fromLangChain(r.JSON)
	if err != nil {
		return "", nil, err
	}
	l.Conversation = cmp.Or(l.Conversation, i.request.Conversation)
	at, ok := interchange.MomentOf(l.Time)
	if written, _ := l.Time.(string); !ok || written != "" && at.IsZero() { // the first moment of the year 1 would count as no time
		return "", nil, fault.Invalid("time", interchange.Shown(l.Time), interchange.AllowedTime)
	}
	if strings.TrimSpace(l.Conversation) == "" {
		return "", nil, fault.Invalid("conversation", l.Conversation, "a name")
	}
	if err := fault.CheckText("conversation", l.Conversation); err != nil {
		return "", nil, err
	}
	m = &Message{Key: l.Key, Session: l.Session, Role: l.Role, Speaker: l.Speaker, Text: l.Text, SaidAt: at, Caption: l.Caption, Blocks: l.Blocks,
		SetAside: l.SetAside, Raw: raw, ReplyTo: l.ReplyTo, SourceKind: l.SourceKind, Withheld: l.Withheld, Fallback: l.Fallback, Usage: l.Usage, Actions: l.Actions}
	if l.Content != nil && l.Text == "" && l.Blocks == nil {
		if m.Text, m.Blocks, err = ContentOf(l.Content); err != nil {
			return "", nil, err
		}
	}
	if m.Key == "" {
		b, err := json.Marshal(l)
		if err != nil {
			return "", nil, err
		}
		line := sha256.Sum256(b)
		i.said[line]++
		sum := sha256.Sum256(append(b, strconv.Itoa(i.said[line])...))
		m.Key = "line:" + hex.EncodeToString(sum[:12])
	}
	return l.Conversation, m, m.normalise(i.into.file.Now())
}
