package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mallardmem/mallard/engine"
)

// Host is a program that writes transcripts; its name is also the model of the summaries that came from it.
type Host string

// The hosts. Plain is any file of lines such as {"role": "user", "content": "…", "time": "…"}.
const (
	Claude   Host = "claude"
	Codex    Host = "codex"
	OpenClaw Host = "openclaw"
	Takobot  Host = "takobot"
	Openboa  Host = "openboa"
	Plain    Host = "plain"
)

// Hosts lists them.
func Hosts() []Host { return []Host{Claude, Codex, OpenClaw, Takobot, Openboa, Plain} }

// ErrNotTranscript: a file that is no transcript of a host that is known. The message says what it is, where that can be told.
var ErrNotTranscript = errors.New("not a transcript")

// enoughLines is after how many objects it is settled whether a file is a transcript.
const enoughLines = 50

// knownHosts are those that a line may be known from.
const knownHosts = "claude, codex, openclaw, takobot, openboa or plain messages of role and content"

// errDetected ends the look at a file.
var errDetected = errors.New("detected")

// Detect says which host wrote a file, from its first lines. An empty Host without an error: there is no whole line yet. Errors:
// ErrNotTranscript.
func Detect(ctx context.Context, r io.ReaderAt, size int64) (host Host, err error) {
	objects, texts := 0, 0
	var refusal error
	pending, err := eachLine(ctx, r, 0, size, 1, func(l line) error {
		var m mark
		text := stripped(l.text)
		if blank(text) {
			return nil
		}
		if err := json.Unmarshal(text, &m); errors.As(err, new(*json.SyntaxError)) || !isObject(text) {
			if texts++; texts == enoughLines && objects == 0 {
				return fmt.Errorf("%w: the first %d lines hold no JSON object", ErrNotTranscript, enoughLines)
			}
			return nil
		}
		objects++
		if host, refusal = m.host(); refusal != nil || host != "" {
			return errDetected
		}
		if objects == enoughLines {
			return fmt.Errorf("%w: nothing in its first lines is known from %s", ErrNotTranscript, knownHosts)
		}
		return nil
	})
	switch {
	case refusal != nil:
		return "", refusal
	case err != nil && !errors.Is(err, errDetected):
		return "", err
	case host == "" && objects+texts == 0 && pending > 0 && !mayBecomeJSON(r, size-pending):
		return "", fmt.Errorf("%w: it does not begin as JSON does", ErrNotTranscript)
	case host == "" && objects+texts > 0:
		return "", fmt.Errorf("%w: none of its %d lines is known from %s", ErrNotTranscript, objects+texts, knownHosts)
	}
	return host, nil
}

// mayBecomeJSON reports whether what is there from an offset on may be the beginning of an object, or of a list of them.
func mayBecomeJSON(r io.ReaderAt, from int64) bool {
	b := make([]byte, 64)
	n, _ := r.ReadAt(b, from)
	text := bytes.TrimSpace(stripped(b[:n]))
	return len(text) == 0 || text[0] == '{' || text[0] == '['
}

// mark is what tells the hosts' lines apart.
type mark struct {
	Type       text            `json:"type"`
	Payload    json.RawMessage `json:"payload"`
	RecordType text            `json:"record_type"`
	UUID       text            `json:"uuid"`
	SessionID  text            `json:"sessionId"`
	LeafUUID   text            `json:"leafUuid"`
	ID         json.RawMessage `json:"id"`
	Timestamp  text            `json:"timestamp"`
	Role       text            `json:"role"`
	Content    json.RawMessage `json:"content"`
	Text       json.RawMessage `json:"text"`
	Message    json.RawMessage `json:"message"`
	Msg        json.RawMessage `json:"msg"`
	ThreadID   text            `json:"thread_id"`
	Item       json.RawMessage `json:"item"`
	Git        json.RawMessage `json:"git"`
	Snapshot   json.RawMessage `json:"snapshot"`

	Instructions json.RawMessage `json:"instructions"`

	Kind       text `json:"kind"`
	EventType  text `json:"eventType"`
	SessionKey text `json:"session_key"`
}

// host gives the host that writes such a line; empty: many do.
func (m mark) host() (Host, error) {
	switch {
	case boaKind(m.Kind, m.Type, m.EventType) != "":
		return Openboa, nil
	case m.Type == "session" && m.SessionKey != "" && m.ID == nil:
		return Takobot, nil
	case m.Type == "session" && m.ID != nil, m.Type == "message" && m.ID != nil && isObject(m.Message) && m.UUID == "":
		return OpenClaw, nil
	case m.ThreadID != "" && m.Type == "thread.started", m.Item != nil && (m.Type == "item.started" || m.Type == "item.completed"),
		m.Type == "turn.started" && m.Payload == nil, isObject(m.Msg) && m.ID != nil:
		return "", fmt.Errorf("%w: this is what `codex exec --json` prints, not the session that it keeps; give the rollout file below its folder sessions", ErrNotTranscript)
	case m.Payload != nil && m.Type != "" && m.UUID == "", m.RecordType != "":
		return Codex, nil
	case m.Type == "" && m.ID != nil && m.Timestamp != "" && (m.Instructions != nil || m.Git != nil) && m.Message == nil && m.Role == "":
		return Codex, nil
	case m.Type != "" && (m.UUID != "" || m.SessionID != "" || m.LeafUUID != "" || m.Snapshot != nil):
		return Claude, nil
	case m.Role != "" && (m.Type == "" || m.Type == "message") && (m.Content != nil || m.Text != nil) && m.UUID == "",
		m.Type == "" && isObject(m.Message):
		return Plain, nil
	}
	return "", nil
}

// text is a string of a host's; anything else in its place is empty, for no field may make a line unreadable.
type text string

func (s *text) UnmarshalJSON(b []byte) error {
	var plain string
	if len(b) > 0 && b[0] == '"' && json.Unmarshal(b, &plain) == nil {
		*s = text(storable(plain))
	}
	return nil
}

// storable is s without NUL, which the file can't hold.
func storable(s string) string {
	return string(bytes.ReplaceAll([]byte(s), []byte{0}, []byte("\uFFFD")))
}

// flag is true or false of a host's, likewise.
type flag bool

func (f *flag) UnmarshalJSON(b []byte) error {
	*f = string(b) == "true"
	return nil
}

func isObject(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{'
}

// checkHost refuses a host that is not known; empty means that the file tells.
func checkHost(h Host) error {
	if h != "" && !slices.Contains(Hosts(), h) {
		return fmt.Errorf("%w: host is %q; allowed: claude, codex, openclaw, takobot, openboa, plain, or none", engine.ErrInvalid, string(h))
	}
	return nil
}
