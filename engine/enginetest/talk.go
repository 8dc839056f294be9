package enginetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/interchange"
)

// AddBlocks makes a message longer.
func AddBlocks(t *testing.T, e *engine.Engine, r conversation.AddBlocksRequest) *conversation.AddedBlocks {
	t.Helper()
	result, err := e.AddBlocks(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Append stores messages.
func Append(t *testing.T, e *engine.Engine, r conversation.AppendRequest) *conversation.Appended {
	t.Helper()
	result, err := e.Append(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// HeartbeatPoll is what a host says to an agent at every beat.
const HeartbeatPoll = "Read HEARTBEAT.md and follow it. If nothing needs attention, reply HEARTBEAT_OK."

// Dialogue makes messages of lines, each of which begins with a letter for its role.
func Dialogue(said ...string) (all []conversation.Message) {
	for _, line := range said {
		m := conversation.Message{Role: map[byte]string{'u': "user", 'a': "assistant", 't': "tool", 's': "system"}[line[0]], Text: line[2:]}
		if name, ok := strings.CutPrefix(m.Text, "call "); ok {
			m.Text, m.Blocks = "", []conversation.Block{{Type: conversation.ToolCallBlock, Tool: "read", Input: fmt.Sprintf(`{"path":%q}`, name)}}
		}
		all = append(all, m)
	}
	return all
}

// ImportMessages reads lines of messages and wants its report to be as given.
func ImportMessages(t *testing.T, e *engine.Engine, lines string, q interchange.ImportRequest, want interchange.Imported) {
	t.Helper()
	got, err := e.ImportMessages(t.Context(), strings.NewReader(lines), q)
	if diff := cmp.Diff(&want, got); err != nil || diff != "" {
		t.Fatalf("%v, (-want +got):\n%s", err, diff)
	}
}

// Messages gives all messages of a conversation.
func Messages(t *testing.T, e *engine.Engine, talk string) []*conversation.Message {
	t.Helper()
	all, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: talk})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ReadLargeFile gives a piece of a large file.
func ReadLargeFile(t *testing.T, e *engine.Engine, r conversation.ReadLargeFileRequest) *conversation.LargeFilePiece {
	t.Helper()
	piece, err := e.ReadLargeFile(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return piece
}

// LargeFiles gives the large files of a conversation with their contents.
func LargeFiles(t *testing.T, e *engine.Engine, talk string) (files []*conversation.LargeFile, contents []string) {
	t.Helper()
	files, err := e.LargeFiles(t.Context(), talk, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		contents = append(contents, string(ReadLargeFile(t, e, conversation.ReadLargeFileRequest{ID: f.ID, MaxBytes: 1 << 24}).Content))
	}
	return files, contents
}

// ContextLine gives the context of a conversation: messages by number, summaries by their text, each with its position.
func ContextLine(t *testing.T, e *engine.Engine, conversation string) string {
	t.Helper()
	v, err := e.Conversation(t.Context(), conversation, "")
	if err != nil {
		t.Fatal(err)
	}
	table, err := e.Query(t.Context(), `SELECT coalesce('m' || m.seq, s.text) || '@' || i.position FROM context_items AS i
		LEFT JOIN messages AS m ON m.id = i.ref LEFT JOIN summaries AS s ON s.id = i.ref WHERE i.conversation_id = '`+v.ID+`' ORDER BY i.position`, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var items []string
	for _, row := range table.Rows {
		items = append(items, fmt.Sprint(row[0]))
	}
	return strings.Join(items, " ")
}

// SetAside gives what is set aside in a conversation and why.
func SetAside(t *testing.T, e *engine.Engine, conversation string) (aside string) {
	t.Helper()
	for _, m := range Messages(t, e, conversation) {
		if m.SetAside != "" {
			aside += fmt.Sprintf("m%d:%s ", m.Seq, m.SetAside)
		}
		if m.SetAside == "" != m.SetAsideAt.IsZero() {
			t.Errorf("%+v: set aside at no time", m)
		}
	}
	return strings.TrimSpace(aside)
}

// Sayings is n messages of four tokens.
func Sayings(n int) (messages []conversation.Message) {
	for i := range n {
		messages = append(messages, conversation.Message{Text: fmt.Sprintf("it was said %04d", i)})
	}
	return messages
}
