package conversation_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/lookup"
)

// TestBlocksAreKeptWhole writes blocks of every kind and reads them back.
func TestBlocksAreKeptWhole(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	blocks := []conversation.Block{
		{Type: conversation.TextBlock, Text: "so", Key: "b1", Raw: []byte("\xff\x00")},
		{Type: conversation.ThinkingBlock, Text: "hm", Raw: []byte(strings.Repeat("r", 1<<17))},
		{Type: conversation.ToolCallBlock, CallID: "t", Tool: "read", Input: ""},
		{Type: conversation.ToolResultBlock, CallID: "t", Tool: "read", Output: "", IsError: true},
		{Type: conversation.FileBlock, FileName: "a", MIME: "text/plain", Text: "inline"},
	}
	for _, host := range []conversation.BlockType{"patch", "subtask", "compaction", "step_start", "step_finish", "snapshot", "agent", "retry", "the host's own"} {
		blocks = append(blocks, conversation.Block{Type: host, Key: string(host)})
	}
	raw := []byte(strings.Repeat("line", 1<<15))
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Role: "assistant", Blocks: blocks, Raw: raw}, {Text: "plain", Raw: []byte("short")}}})
	all, err := e.Messages(t.Context(), conversation.MessagesRequest{Conversation: "c", Raw: true})
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
		message conversation.Message
		want    int
	}{
		{conversation.Message{Text: "four"}, 1},
		{conversation.Message{Text: "fours"}, 2},
		{conversation.Message{Text: "four", Caption: "four"}, 2},
		{conversation.Message{Text: "𝄞𝄞"}, 1},
		{conversation.Message{Blocks: []conversation.Block{}}, 0},
		{conversation.Message{Blocks: []conversation.Block{{Type: conversation.ThinkingBlock, Text: "not counted"}}}, 0},
		{conversation.Message{Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, Tool: "abcd", Input: "efgh"}}}, 2},
		{conversation.Message{Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, Tool: "not counted", Output: "abcdefgh"}}}, 2},
		{conversation.Message{Blocks: []conversation.Block{{Type: conversation.ImageBlock, Text: "https://example.org/a.png"}, {Type: conversation.ImageBlock, Data: []byte("x")}}}, 3200},
		{conversation.Message{Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "abc"}, {Type: conversation.TextBlock, Text: " "}, {Type: conversation.TextBlock, Text: "efgh"}}}, 2},
		{conversation.Message{Text: "beside", Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, Tool: "f"}}}, 3},
		{conversation.Message{Blocks: []conversation.Block{{Type: "notice", Text: "news"}}}, 1},
	} {
		name := fmt.Sprint("c", i)
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: name, Messages: []conversation.Message{test.message}})
		if got := enginetest.Messages(t, e, name)[0]; got.Tokens != test.want {
			t.Errorf("%+v has %d tokens, want %d", test.message, got.Tokens, test.want)
		}
	}
}

// TestTextBesideBlocks: what a message says is what its blocks say.
func TestTextBesideBlocks(t *testing.T) {
	enginetest.Alone(t)
	call := conversation.Block{Type: conversation.ToolCallBlock, Tool: "f"}
	for _, test := range []struct {
		text   string
		blocks []conversation.Block
		want   string // "" an error
		parts  int
	}{
		{"said", []conversation.Block{{Type: conversation.TextBlock, Text: "said"}, call}, "said", 2},
		{"said", []conversation.Block{call}, "said", 2},
		{"", []conversation.Block{{Type: conversation.TextBlock, Text: "a"}, call, {Type: conversation.TextBlock, Text: "b"}}, "a\nb", 3},
		{"a\nb", []conversation.Block{{Type: conversation.TextBlock, Text: "a"}, call, {Type: conversation.TextBlock, Text: "b"}}, "a\nb", 3},
		{"other", []conversation.Block{{Type: conversation.TextBlock, Text: "said"}}, "", 0},
	} {
		e := enginetest.Open(t, engine.Options{})
		_, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Role: "assistant", Text: test.text, Blocks: test.blocks}}})
		if test.want == "" {
			if !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("%+v: %v, want ErrInvalid", test, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if m := enginetest.Messages(t, e, "c")[0]; m.Text != test.want || len(m.Blocks) != test.parts {
			t.Errorf("%+v: %+v", test, m)
		}
	}
}

func TestAThousandBlocks(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	var blocks []conversation.Block
	for i := range 1000 {
		blocks = append(blocks, conversation.Block{Type: []conversation.BlockType{conversation.TextBlock, conversation.ToolCallBlock, conversation.ToolResultBlock}[i%3], Text: "heron", CallID: fmt.Sprint(i), Input: "{}", Output: "out"})
	}
	for i := range blocks {
		if blocks[i].Type != conversation.TextBlock {
			blocks[i].Text = ""
		}
		if blocks[i].Type != conversation.ToolCallBlock {
			blocks[i].Input = ""
		}
		if blocks[i].Type != conversation.ToolResultBlock {
			blocks[i].Output = ""
		}
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Role: "assistant", Blocks: blocks}}})
	if diff := cmp.Diff(blocks, enginetest.Messages(t, e, "c")[0].Blocks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBlocksThatAreNoText(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	const dirty, other = "a\xffb\x00c", "\xff"
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Role: "assistant", Blocks: []conversation.Block{
		{Type: conversation.TextBlock, Text: dirty}, {Type: conversation.ToolCallBlock, Tool: dirty, CallID: other, Input: "fine"}, {Type: conversation.ToolResultBlock, Output: dirty, Raw: []byte("kept")},
		{Type: conversation.FileBlock, FileName: dirty, MIME: dirty}, {Type: conversation.FileBlock, MIME: other}}}}})
	m := enginetest.Messages(t, e, "c")[0]
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
	for _, bad := range []conversation.Block{{}, {Type: " "}, {Type: "\xff"}, {Type: "text", Key: "\x00"}, {Type: conversation.ImageBlock, Text: "a pier", Data: []byte("x")}} {
		if _, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Blocks: []conversation.Block{bad}}}}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "block 0") {
			t.Errorf("%+v: %v, want ErrInvalid", bad, err)
		}
	}
}

// TestATextThatIsMore: one block of text is kept as a part when the message's text does not say all of it.
func TestATextThatIsMore(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for i, b := range []conversation.Block{
		{Text: "file body", CallID: "t1", Tool: "read", IsError: true}, {Text: "x", MIME: "text/plain"}, {Text: "x", FileName: "a"}, {Text: "x", Input: "in"}, {Text: "x", Output: "out"}, {Text: " \n"},
	} {
		b.Type = conversation.TextBlock
		name := fmt.Sprint("c", i)
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: name, Messages: []conversation.Message{{Role: "tool", Blocks: []conversation.Block{b}}}})
		if diff := cmp.Diff([]conversation.Block{b}, enginetest.Messages(t, e, name)[0].Blocks); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "plain", Messages: []conversation.Message{{Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: "x"}}}}})
	if m := enginetest.Messages(t, e, "plain")[0]; m.Text != "x" || m.Blocks != nil {
		t.Errorf("%+v", m)
	}
}

// TestTextsOfBlocksAreFound: whatever a block says, but for thoughts, is counted, found and shown.
func TestTextsOfBlocksAreFound(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	for _, host := range []conversation.BlockType{conversation.FileBlock, "document", "patch", "subtask", "compaction", "step_start", "step_finish", "snapshot", "retry", "agent"} {
		name := string(host)
		b := conversation.Block{Type: host, Text: "the heron of " + name}
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: name, Messages: []conversation.Message{{Role: "assistant", Blocks: []conversation.Block{b, {Type: conversation.ThinkingBlock, Text: "bittern"}}}}})
		if m := enginetest.Messages(t, e, name)[0]; m.Tokens != (len(b.Text)+3)/4 {
			t.Errorf("%s: %d tokens of %q", name, m.Tokens, b.Text)
		}
		for pattern, r := range map[string]lookup.GrepRequest{"heron": {}, `"the heron"`: {}, "her.n of": {Mode: lookup.GrepRegex}, "bittern": {}} {
			r.Conversation, r.Pattern = name, pattern
			result, err := e.Grep(t.Context(), r)
			if want := pattern != "bittern"; err != nil || (len(result.Hits) == 1) != want {
				t.Errorf("%s: grep of %s: %+v, %v", name, pattern, result, err)
			}
		}
		shown, err := e.Assemble(t.Context(), assemble.Request{Conversation: name, Budget: 1000})
		if err != nil || len(shown.Messages) != 1 || !strings.Contains(shown.Messages[0].Blocks[0].Text, b.Text) {
			t.Errorf("%s: a model is shown %+v, %v", name, shown, err)
		}
	}
}
