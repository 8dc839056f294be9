package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// TestBlocksAreKeptWhole writes blocks of every kind and reads them back.
func TestBlocksAreKeptWhole(t *testing.T) {
	alone(t)
	e := enginetest.Open(t, engine.Options{})
	blocks := []engine.Block{
		{Type: engine.TextBlock, Text: "so", Key: "b1", Raw: []byte("\xff\x00")},
		{Type: engine.ThinkingBlock, Text: "hm", Raw: []byte(strings.Repeat("r", 1<<17))},
		{Type: engine.ToolCallBlock, CallID: "t", Tool: "read", Input: ""},
		{Type: engine.ToolResultBlock, CallID: "t", Tool: "read", Output: "", IsError: true},
		{Type: engine.FileBlock, FileName: "a", MIME: "text/plain", Text: "inline"},
	}
	for _, host := range []engine.BlockType{"patch", "subtask", "compaction", "step_start", "step_finish", "snapshot", "agent", "retry", "the host's own"} {
		blocks = append(blocks, engine.Block{Type: host, Key: string(host)})
	}
	raw := []byte(strings.Repeat("line", 1<<15))
	appended(t, e, engine.AppendRequest{Conversation: "c", Messages: []engine.Message{{Role: "assistant", Blocks: blocks, Raw: raw}, {Text: "plain", Raw: []byte("short")}}})
	all, err := e.Messages(t.Context(), engine.MessagesRequest{Conversation: "c", Raw: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(blocks, all[0].Blocks); diff != "" || string(all[0].Raw) != string(raw) || string(all[1].Raw) != "short" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if m := all[0]; m.Text != "so" || m.Tokens != 1+1+2 {
		t.Errorf("%q, %d tokens", m.Text, m.Tokens)
	}
	kinds, err := e.Query(t.Context(), "SELECT string_agg(kind::VARCHAR, ' ' ORDER BY ordinal) FROM parts", 1)
	if want := "text reasoning tool tool file patch subtask compaction step_start step_finish snapshot agent retry agent"; err != nil || kinds.Rows[0][0] != want {
		t.Errorf("%v, %v, want %s", kinds, err, want)
	}
}

func TestTokensOfMessages(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for i, test := range []struct {
		message engine.Message
		want    int
	}{
		{engine.Message{Text: "four"}, 1},
		{engine.Message{Text: "fours"}, 2},
		{engine.Message{Text: "four", Caption: "four"}, 2},
		{engine.Message{Text: "𝄞𝄞"}, 1},
		{engine.Message{Blocks: []engine.Block{}}, 0},
		{engine.Message{Blocks: []engine.Block{{Type: engine.ThinkingBlock, Text: "not counted"}}}, 0},
		{engine.Message{Blocks: []engine.Block{{Type: engine.ToolCallBlock, Tool: "abcd", Input: "efgh"}}}, 2},
		{engine.Message{Blocks: []engine.Block{{Type: engine.ToolResultBlock, Tool: "not counted", Output: "abcdefgh"}}}, 2},
		{engine.Message{Blocks: []engine.Block{{Type: engine.ImageBlock, Text: "https://example.org/a.png"}, {Type: engine.ImageBlock, Data: []byte("x")}}}, 3200},
		{engine.Message{Blocks: []engine.Block{{Type: engine.TextBlock, Text: "abc"}, {Type: engine.TextBlock, Text: " "}, {Type: engine.TextBlock, Text: "efgh"}}}, 2},
		{engine.Message{Text: "beside", Blocks: []engine.Block{{Type: engine.ToolCallBlock, Tool: "f"}}}, 3},
		{engine.Message{Blocks: []engine.Block{{Type: "notice", Text: "news"}}}, 1},
	} {
		name := fmt.Sprint("c", i)
		appended(t, e, engine.AppendRequest{Conversation: name, Messages: []engine.Message{test.message}})
		if got := messagesOf(t, e, name)[0]; got.Tokens != test.want {
			t.Errorf("%+v has %d tokens, want %d", test.message, got.Tokens, test.want)
		}
	}
}

// TestTextBesideBlocks: what a message says is what its blocks say.
func TestTextBesideBlocks(t *testing.T) {
	alone(t)
	call := engine.Block{Type: engine.ToolCallBlock, Tool: "f"}
	for _, test := range []struct {
		text   string
		blocks []engine.Block
		want   string // "" an error
		parts  int
	}{
		{"said", []engine.Block{{Type: engine.TextBlock, Text: "said"}, call}, "said", 2},
		{"said", []engine.Block{call}, "said", 2},
		{"", []engine.Block{{Type: engine.TextBlock, Text: "a"}, call, {Type: engine.TextBlock, Text: "b"}}, "a\nb", 3},
		{"a\nb", []engine.Block{{Type: engine.TextBlock, Text: "a"}, call, {Type: engine.TextBlock, Text: "b"}}, "a\nb", 3},
		{"other", []engine.Block{{Type: engine.TextBlock, Text: "said"}}, "", 0},
	} {
		e := enginetest.Open(t, engine.Options{})
		_, err := e.Append(t.Context(), engine.AppendRequest{Conversation: "c", Messages: []engine.Message{{Role: "assistant", Text: test.text, Blocks: test.blocks}}})
		if test.want == "" {
			if !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("%+v: %v, want ErrInvalid", test, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if m := messagesOf(t, e, "c")[0]; m.Text != test.want || len(m.Blocks) != test.parts {
			t.Errorf("%+v: %+v", test, m)
		}
	}
}

func TestAThousandBlocks(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	var blocks []engine.Block
	for i := range 1000 {
		blocks = append(blocks, engine.Block{Type: []engine.BlockType{engine.TextBlock, engine.ToolCallBlock, engine.ToolResultBlock}[i%3], Text: "heron", CallID: fmt.Sprint(i), Input: "{}", Output: "out"})
	}
	for i := range blocks {
		if blocks[i].Type != engine.TextBlock {
			blocks[i].Text = ""
		}
		if blocks[i].Type != engine.ToolCallBlock {
			blocks[i].Input = ""
		}
		if blocks[i].Type != engine.ToolResultBlock {
			blocks[i].Output = ""
		}
	}
	appended(t, e, engine.AppendRequest{Conversation: "c", Messages: []engine.Message{{Role: "assistant", Blocks: blocks}}})
	if diff := cmp.Diff(blocks, messagesOf(t, e, "c")[0].Blocks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBlocksThatAreNoText(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	const dirty, other = "a\xffb\x00c", "\xff"
	appended(t, e, engine.AppendRequest{Conversation: "c", Messages: []engine.Message{{Role: "assistant", Blocks: []engine.Block{
		{Type: engine.TextBlock, Text: dirty}, {Type: engine.ToolCallBlock, Tool: dirty, CallID: other, Input: "fine"}, {Type: engine.ToolResultBlock, Output: dirty, Raw: []byte("kept")},
		{Type: engine.FileBlock, FileName: dirty, MIME: dirty}, {Type: engine.FileBlock, MIME: other}}}}})
	m := messagesOf(t, e, "c")[0]
	const clean = "a\uFFFDb\uFFFDc"
	b := m.Blocks
	if m.Text != clean || b[0].Text != clean || b[1].Tool != clean || b[1].CallID != "\uFFFD" || b[2].Output != clean || b[3].FileName != clean || b[3].MIME != clean {
		t.Errorf("%+v", b)
	}
	for i, want := range []string{dirty, dirty + "\n" + other, "kept", dirty + "\n" + dirty, other} {
		if string(b[i].Raw) != want {
			t.Errorf("block %d has the raw %q, want %q", i, b[i].Raw, want)
		}
	}
	for _, bad := range []engine.Block{{}, {Type: " "}, {Type: "\xff"}, {Type: "text", Key: "\x00"}, {Type: engine.ImageBlock, Text: "a pier", Data: []byte("x")}} {
		if _, err := e.Append(t.Context(), engine.AppendRequest{Conversation: "c", Messages: []engine.Message{{Blocks: []engine.Block{bad}}}}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "block 0") {
			t.Errorf("%+v: %v, want ErrInvalid", bad, err)
		}
	}
}

// TestATextThatIsMore: one block of text is kept as a part when the message's text does not say all of it.
func TestATextThatIsMore(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for i, b := range []engine.Block{
		{Text: "file body", CallID: "t1", Tool: "read", IsError: true}, {Text: "x", MIME: "text/plain"}, {Text: "x", FileName: "a"}, {Text: "x", Input: "in"}, {Text: "x", Output: "out"}, {Text: " \n"},
	} {
		b.Type = engine.TextBlock
		name := fmt.Sprint("c", i)
		appended(t, e, engine.AppendRequest{Conversation: name, Messages: []engine.Message{{Role: "tool", Blocks: []engine.Block{b}}}})
		if diff := cmp.Diff([]engine.Block{b}, messagesOf(t, e, name)[0].Blocks); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	appended(t, e, engine.AppendRequest{Conversation: "plain", Messages: []engine.Message{{Blocks: []engine.Block{{Type: engine.TextBlock, Text: "x"}}}}})
	if m := messagesOf(t, e, "plain")[0]; m.Text != "x" || m.Blocks != nil {
		t.Errorf("%+v", m)
	}
}

// TestTextsOfBlocksAreFound: whatever a block says, but for thoughts, is counted, found and shown.
func TestTextsOfBlocksAreFound(t *testing.T) {
	alone(t)
	e := enginetest.Open(t, engine.Options{})
	for _, host := range []engine.BlockType{engine.FileBlock, "document", "patch", "subtask", "compaction", "step_start", "step_finish", "snapshot", "retry", "agent"} {
		name := string(host)
		b := engine.Block{Type: host, Text: "the heron of " + name}
		appended(t, e, engine.AppendRequest{Conversation: name, Messages: []engine.Message{{Role: "assistant", Blocks: []engine.Block{b, {Type: engine.ThinkingBlock, Text: "bittern"}}}}})
		if m := messagesOf(t, e, name)[0]; m.Tokens != (len(b.Text)+3)/4 {
			t.Errorf("%s: %d tokens of %q", name, m.Tokens, b.Text)
		}
		for pattern, r := range map[string]engine.GrepRequest{"heron": {}, `"the heron"`: {}, "her.n of": {Mode: engine.GrepRegex}, "bittern": {}} {
			r.Conversation, r.Pattern = name, pattern
			result, err := e.Grep(t.Context(), r)
			if want := pattern != "bittern"; err != nil || (len(result.Hits) == 1) != want {
				t.Errorf("%s: grep of %s: %+v, %v", name, pattern, result, err)
			}
		}
		shown, err := e.Assemble(t.Context(), engine.AssembleRequest{Conversation: name, Budget: 1000})
		if err != nil || len(shown.Messages) != 1 || !strings.Contains(shown.Messages[0].Blocks[0].Text, b.Text) {
			t.Errorf("%s: a model is shown %+v, %v", name, shown, err)
		}
	}
}
