package engine

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// importBatch is how many lines go into one transaction.
const importBatch = 1000

// ImportRequest says how to read a file of JSON Lines.
type ImportRequest struct {
	Agent  string // empty: an internal caller
	Scope  string // takes the place of a line's own
	DryRun bool   // only looks for faults
}

// Imported says what became of the lines.
type Imported struct {
	Lines     int         `json:"lines"` // that are not blank
	Created   int         `json:"created"`
	Known     int         `json:"known"`                  // were in the file already
	Excluded  int         `json:"excluded,omitempty"`     // messages that the session gates of ConversationOptions kept out
	Faults    []LineFault `json:"faults,omitempty"`       // lines that were left out
	VectorErr string      `json:"vector_error,omitempty"` // all is stored, but the model failed or took too long
	// WithoutVector are lines that are stored, but for which the model gave no usable vector.
	WithoutVector []LineFault `json:"without_vector,omitempty"`
}

// LineFault is a line of which something was left out, and why.
type LineFault struct {
	Line int    `json:"line"` // from 1
	Err  string `json:"error"`
}

func (r *Imported) fault(line int, err error) {
	r.Faults = append(r.Faults, LineFault{line, err.Error()})
}

// unembedded notes why a line that is stored has no vector, if it has none.
func (r *Imported) unembedded(line int, err error) {
	switch {
	case errors.Is(err, ErrBadVector):
		r.WithoutVector = append(r.WithoutVector, LineFault{line, err.Error()})
	case err != nil:
		r.VectorErr = err.Error()
	}
}

// Import reads memories, one JSON object per line, with the keys of Export or of another store (Memory.UnmarshalJSON). A
// memory whose id is known is left as it is, a line with a fault is left out and reported. Errors are of the file or the
// model; batches before them are stored.
func (e *Engine) Import(ctx context.Context, in io.Reader, q ImportRequest) (*Imported, error) {
	result := &Imported{}
	var batch []*draft
	var lines []int
	flush := func() error {
		if len(batch) == 0 || q.DryRun {
			batch, lines = batch[:0], lines[:0]
			return nil
		}
		if err := e.store(ctx, batch); err != nil {
			return err
		}
		for i, d := range batch {
			switch {
			case errors.Is(d.result.Err, ErrExists), d.result.Err == nil && !d.result.Created:
				result.Known++
			case d.result.Err != nil:
				result.fault(lines[i], d.result.Err)
			default:
				result.Created++
				result.unembedded(lines[i], d.result.VectorErr)
			}
		}
		batch, lines = batch[:0], lines[:0]
		e.opts.Progress("memories", result.Lines, 0)
		return nil
	}
	err := eachLine(in, func(n int, line []byte) error {
		result.Lines++
		d := &draft{memory: &Memory{}, agent: q.Agent, imported: true, result: &Remembered{}}
		err := json.Unmarshal(line, d.memory)
		if err == nil {
			d.memory.Scope = or(q.Scope, d.memory.Scope)
			err = e.admit(d)
		}
		if err != nil {
			result.fault(n, err)
			return nil
		}
		batch, lines = append(batch, d), append(lines, n)
		if len(batch) < importBatch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return result, fmt.Errorf("import: %w", err)
	}
	return result, nil
}

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
}

// ImportMessages reads messages, one JSON object per line: conversation and text, and as they are known key, session, role,
// speaker, time, caption and set_aside; beside text, or in its place, blocks as Messages gives them, or the content of a host's message
// (ContentOf). Lines of a conversation are appended in their order. A line without a key gets one from what it says and how often the
// file has said it before, so reading a file twice adds nothing.
func (e *Engine) ImportMessages(ctx context.Context, in io.Reader, q ImportRequest) (*Imported, error) {
	result := &Imported{}
	said := map[string]int{}
	pending := AppendRequest{Scope: q.Scope, Agent: q.Agent}
	var lines []int
	flush := func() error {
		defer func() { pending.Messages, lines = pending.Messages[:0], lines[:0] }()
		if len(pending.Messages) == 0 || q.DryRun {
			return nil
		}
		left := map[int]error{}
		appended, err := e.appendAll(ctx, pending, left)
		if err != nil {
			return err
		}
		if appended.Skipped != "" {
			result.Excluded += len(pending.Messages)
		}
		result.Created += appended.Added
		result.Known += len(appended.IDs) - appended.Added
		result.unembedded(0, appended.VectorErr)
		for _, i := range slices.Sorted(maps.Keys(left)) {
			result.unembedded(lines[i], left[i])
		}
		e.opts.Progress("messages", result.Lines, 0)
		return nil
	}
	err := eachLine(in, func(n int, line []byte) error {
		result.Lines++
		conversation, m, err := e.parseMessage(line, said)
		if err != nil {
			result.fault(n, err)
			return nil
		}
		if conversation != pending.Conversation || len(pending.Messages) == importBatch {
			if err := flush(); err != nil {
				return err
			}
		}
		pending.Conversation = conversation
		pending.Messages, lines = append(pending.Messages, *m), append(lines, n)
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return result, fmt.Errorf("import messages: %w", err)
	}
	return result, nil
}

func (e *Engine) parseMessage(line []byte, said map[string]int) (conversation string, m *Message, err error) {
	var l messageLine
	if err := decode(line, &l); err != nil {
		return "", nil, fmt.Errorf("%w: %v", ErrInvalid, err)
	}
	at, err := momentOf(l.Time)
	if err != nil {
		return "", nil, fmt.Errorf("time: %w", err)
	}
	if strings.TrimSpace(l.Conversation) == "" {
		return "", nil, invalid("conversation", l.Conversation, "a name")
	}
	if err := checkText("conversation", l.Conversation); err != nil {
		return "", nil, err
	}
	m = &Message{Key: l.Key, Session: l.Session, Role: l.Role, Speaker: l.Speaker, Text: l.Text, SaidAt: at, Caption: l.Caption, Blocks: l.Blocks,
		SetAside: l.SetAside}
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
		said[string(b)]++
		sum := sha256.Sum256(append(b, strconv.Itoa(said[string(b)])...))
		m.Key = "line:" + hex.EncodeToString(sum[:12])
	}
	return l.Conversation, m, m.normalise(e.now())
}

// eachLine calls do for every line that is not blank, with its number from 1.
func eachLine(in io.Reader, do func(n int, line []byte) error) error {
	r := bufio.NewReaderSize(in, 1<<16)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff")) // the byte order mark of some editors
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := do(n, line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// ExportRequest says what to write.
type ExportRequest struct {
	Agent  string // empty: an internal caller
	Scopes []string
}

// Export writes every memory with all that is known about it, superseded and forgotten ones too, one JSON object per line in
// the order they were recorded, and gives their number. Import of it makes the same memories.
func (e *Engine) Export(ctx context.Context, out io.Writer, r ExportRequest) (n int, err error) {
	scopes, _ := e.scopes.Load().ForReading(r.Agent, r.Scopes)
	w := bufio.NewWriter(out)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	err = e.read(ctx, "export", func(c *connection) error {
		err := c.each(ctx, "memory_export", func(rows *sql.Rows) error {
			m, _, err := scanMemory(rows)
			if err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			n++
			return lines.Encode(m)
		}, sql.Named("scopes", listArg(scopes)))
		return errors.Join(err, w.Flush())
	})
	return n, err
}
