package session

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/scope"
)

// boaLearned is a line of openboa's learnings.
type boaLearned struct {
	Kind     text            `json:"kind"`
	ID       text            `json:"id"`
	Agent    text            `json:"agentId"`
	Created  json.RawMessage `json:"createdAt"`
	Session  text            `json:"sessionId"`
	Reason   text            `json:"sourceReason"`
	Learning struct {
		Kind    text `json:"kind"`
		Title   text `json:"title"`
		Detail  text `json:"detail"`
		Promote flag `json:"promoteToMemory"`
		Dedupe  text `json:"dedupeKey"`
	} `json:"learning"`
}

// holdsLearnings reports whether a file of openboa's is one of learnings, which become memories.
func holdsLearnings(ctx context.Context, in io.ReaderAt, size int64) (yes bool) {
	_, _ = eachLine(ctx, in, 0, size, 1, func(l line) error {
		var v boaLearned
		if decode(stripped(l.text), &v) != nil {
			return nil
		}
		yes = v.Kind == boaLearning
		return io.EOF
	})
	return yes
}

// memory gives the learning as a row of Engine.Import, or nil. What openboa takes for the same has the same key.
func (l *boaLearned) memory(given string) map[string]any {
	v := &l.Learning
	said := strings.TrimSpace(strings.Join(strings.Fields(string(v.Title)), " "))
	if detail := strings.TrimSpace(string(v.Detail)); detail != "" && detail != said {
		said = strings.TrimPrefix(said+": "+detail, ": ")
	}
	if l.Kind != boaLearning || said == "" {
		return nil
	}
	same := string(v.Dedupe)
	if same == "" {
		same = hashOf([]byte(strings.ToLower(string(v.Kind) + "\n" + string(v.Title) + "\n" + string(v.Detail))))
	}
	category := "pattern"
	if v.Kind == "error" {
		category = "case"
	}
	row := map[string]any{"key": "openboa:learning:" + same, "text": said, "category": category, "source": "reflection", "learning": string(v.Kind), "promoted": bool(v.Promote)}
	if at := timeOf(l.Created); !at.IsZero() {
		row["created_at"] = at.Format(time.RFC3339Nano)
	}
	if l.Session != "" {
		row["source_session"] = string(l.Session)
	}
	if of := "agent:" + string(l.Agent); given == "" && (scope.Scopes{}).Valid(of) {
		row["scope"] = of
	}
	return row
}

// learnings brings openboa's learnings in as memories. The lines that a cursor is past are read again, and known.
func (im *importer) learnings(ctx context.Context, f found, s source, cursor conversation.Cursor) (report FileReport, err error) {
	report = FileReport{Path: f.path, Host: Openboa}
	var rows bytes.Buffer
	bytesRead, lines := int64(0), int64(0)
	pending, err := eachLine(ctx, s.in, 0, s.size, 1, func(l line) error {
		bytesRead, lines = l.offset+l.size, l.no
		raw := stripped(l.text)
		if im.r.Redact {
			raw = RedactJSON(raw)
		}
		var v boaLearned
		switch err := decode(raw, &v); {
		case blank(raw):
		case err != nil:
			report.Skipped = append(report.Skipped, Fault{l.no, err.Error()})
		default:
			if row := v.memory(im.r.Scope); row != nil {
				b, err := json.Marshal(row)
				if err != nil {
					return err
				}
				rows.Write(b)
			} else {
				report.Leave("a learning that says nothing", 1)
			}
		}
		rows.WriteByte('\n') // so that the rows keep the numbers of the lines
		return nil
	})
	if err != nil {
		return im.failed(ctx, f, err)
	}
	result, err := im.e.Import(ctx, &rows, interchange.ImportRequest{Agent: im.r.Agent, Name: f.path, Scope: im.r.Scope})
	if err != nil {
		return report, err
	}
	report.Lines, report.Pending, report.Memories, report.Known, report.VectorErr = lines-cursor.Lines, pending, result.Created, result.Known, result.VectorErr
	for _, fault := range result.Faults {
		report.Skipped = append(report.Skipped, Fault{int64(fault.Line), fault.Err})
	}
	first, err := firstLineOf(ctx, s.in, s.size)
	if err != nil {
		return im.failed(ctx, f, err)
	}
	end := conversation.Cursor{Path: f.path, Host: string(Openboa), FileID: s.stamp(), FirstLine: first, Bytes: bytesRead, Lines: lines, Skipped: int64(len(report.Skipped))}
	if err := im.e.SetCursor(ctx, end); err != nil {
		return report, err
	}
	im.cursors[f.path] = end
	return report, nil
}
