package conversation_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// TestIngestOfContents has the shapes of content that hosts write, what is said in them, what they cost and which parts they become.
func TestIngestOfContents(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.Open(t, engine.Options{})
	for i, test := range []struct {
		name, role, content string
		text                string
		tokens              int
		parts               []conversation.Block
	}{
		{"S1 a string", "user", `"hello there"`, "hello there", 3, nil},
		{"S2 a text and a call", "assistant", `[{"type":"text","text":"hi"},{"type":"toolCall","id":"t1","name":"read","arguments":{"path": "a"}}]`, "hi", 1 + 4, []conversation.Block{
			{Type: conversation.TextBlock, Text: "hi"}, {Type: conversation.ToolCallBlock, CallID: "t1", Tool: "read", Input: `{"path":"a"}`}}},
		{"S3 what a tool gave", "tool", `[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"file body"}]}]`, "", 3, []conversation.Block{
			{Type: conversation.ToolResultBlock, CallID: "t1", Output: "file body"}}},
		{"S4 two texts", "user", `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, "a\nb", 1, []conversation.Block{{Type: conversation.TextBlock, Text: "a"}, {Type: conversation.TextBlock, Text: "b"}}},
		{"S5 nothing", "assistant", `[]`, "", 0, nil},
		{"S6 only a call", "assistant", `[{"type":"tool_use","id":"t2","name":"ls","input":{}}]`, "", 1, []conversation.Block{{Type: conversation.ToolCallBlock, CallID: "t2", Tool: "ls", Input: "{}"}}},
		{"S8 an object", "user", `{"foo": 1}`, `{"foo":1}`, 3, []conversation.Block{{Type: "object", Text: `{"foo":1}`}}},
		{"S9 a shell command", "user", `{"command":"ls","output":"a\nb"}`, "$ ls\na\nb", 2, []conversation.Block{{Type: conversation.TextBlock, Text: "$ ls\na\nb"}}},
		{"S10 thinking and a text", "assistant", `[{"type":"thinking","thinking":"hm, let me see"},{"type":"text","text":"ok"}]`, "ok", 1, []conversation.Block{
			{Type: conversation.ThinkingBlock, Text: "hm, let me see"}, {Type: conversation.TextBlock, Text: "ok"}}},
		{"S11 a string of numbers", "user", `"[1,2]"`, "[1,2]", 2, nil},
		{"S12 a string of JSON", "user", `"{\"text\":\"inner\"}"`, "inner", 2, []conversation.Block{{Type: conversation.TextBlock, Text: "inner"}}},
		{"segments", "user", `{"segments":[{"text":"one"},{"text":" "},{"text":"two"}],"data":"no"}`, "one\ntwo", 2, []conversation.Block{{Type: "object", Text: "one\ntwo"}}},
		{"null", "assistant", `null`, "", 0, nil},
		{"a number", "user", `42`, "42", 1, []conversation.Block{{Type: "value", Text: "42"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, blocks, err := conversation.ContentOf(json.RawMessage(test.content))
			if err != nil || text != test.text {
				t.Fatalf("%q, %v, want %q", text, err, test.text)
			}
			talk := fmt.Sprint("c", i)
			enginetest.Append(t, e, conversation.AppendRequest{Conversation: talk, Messages: []conversation.Message{{Role: test.role, Text: text, Blocks: blocks}}})
			m := enginetest.Messages(t, e, talk)[0]
			if m.Text != test.text || m.Tokens != test.tokens {
				t.Errorf("text %q, %d tokens; want %q, %d", m.Text, m.Tokens, test.text, test.tokens)
			}
			if diff := cmp.Diff(test.parts, m.Blocks, cmpopts.IgnoreFields(conversation.Block{}, "Raw")); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Role: "critic", Text: "S7"}}}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("S7, an unknown role: %v, want ErrInvalid", err)
	}
}

func TestBlocksOfHosts(t *testing.T) {
	t.Parallel()
	image := base64.StdEncoding.EncodeToString([]byte("\x89PNG"))
	for _, test := range []struct {
		block string
		want  []conversation.Block
	}{
		{`{"type":"function_call","id":"fc_1","call_id":"c1","name":"shell","arguments":"{\"command\":[\"ls\"]}"}`,
			[]conversation.Block{{Type: conversation.ToolCallBlock, CallID: "c1", Tool: "shell", Input: `{"command":["ls"]}`}}},
		{`{"type":"function_call","call_id":"c1","name":"shell","arguments":"{broken"}`, []conversation.Block{{Type: conversation.ToolCallBlock, CallID: "c1", Tool: "shell", Input: "{broken"}}},
		{`{"type":"function","id":"c1","function":{"name":"f","arguments":"{}"}}`, []conversation.Block{{Type: conversation.ToolCallBlock, CallID: "c1", Tool: "f", Input: "{}"}}},
		{`{"functionCall":{"name":"f","args":{"a":1}}}`, []conversation.Block{{Type: conversation.ToolCallBlock, Tool: "f", Input: `{"a":1}`}}},
		{`{"functionResponse":{"name":"f","response":{"b":2}}}`, []conversation.Block{{Type: conversation.ToolResultBlock, Tool: "f", Output: `{"b":2}`}}},
		{`{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"a\"}"}`, []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "c1", Output: `{"output":"a"}`}}},
		{`{"type":"custom_tool_call","call_id":"c2","name":"apply_patch","input":"*** Begin"}`, []conversation.Block{{Type: conversation.ToolCallBlock, CallID: "c2", Tool: "apply_patch", Input: "*** Begin"}}},
		{`{"type":"local_shell_call","call_id":"c3","action":{"type":"exec","command":["ls"]}}`,
			[]conversation.Block{{Type: conversation.ToolCallBlock, CallID: "c3", Tool: "local_shell_call", Input: `{"type":"exec","command":["ls"]}`}}},
		{`{"type":"tool_result","tool_use_id":"t","content":"gone","is_error":true}`, []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "t", Output: "gone", IsError: true}}},
		{`{"type":"toolResult","toolCallId":"t","toolName":"read","isError":false,"content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"image","data":"` + image + `","mimeType":"image/png"}]}`,
			[]conversation.Block{{Type: conversation.ToolResultBlock, CallID: "t", Tool: "read", Output: "a\nb"}, {Type: conversation.ImageBlock, CallID: "t", MIME: "image/png", Data: []byte("\x89PNG")}}},
		{`{"type":"web_search_tool_result","tool_use_id":"t","content":[{"type":"web_search_result","url":"u"}]}`,
			[]conversation.Block{{Type: conversation.ToolResultBlock, CallID: "t", Output: `{"type":"web_search_result","url":"u"}`}}},
		{`{"type":"tool","callID":"t","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a"}}`,
			[]conversation.Block{{Type: conversation.ToolCallBlock, CallID: "t", Tool: "bash", Input: `{"command":"ls"}`}, {Type: conversation.ToolResultBlock, CallID: "t", Tool: "bash", Output: "a"}}},
		{`{"type":"reasoning","summary":[{"type":"summary_text","text":"s"},{"type":"summary_text","text":"t"}],"encrypted_content":"e"}`, []conversation.Block{{Type: conversation.ThinkingBlock, Text: "s\nt"}}},
		{`{"type":"redacted_thinking","data":"e"}`, []conversation.Block{{Type: conversation.ThinkingBlock}}},
		{`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + image + `"}}`, []conversation.Block{{Type: conversation.ImageBlock, MIME: "image/png", Data: []byte("\x89PNG")}}},
		{`{"type":"input_image","image_url":"data:image/png;base64,` + image + `"}`, []conversation.Block{{Type: conversation.ImageBlock, MIME: "image/png", Data: []byte("\x89PNG")}}},
		{`{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}`, []conversation.Block{{Type: conversation.ImageBlock, Text: "https://example.org/a.png"}}},
		{`{"type":"image","data":"*"}`, []conversation.Block{{Type: conversation.ImageBlock}}},
		{`{"type":"document","title":"a.txt","source":{"type":"text","media_type":"text/plain","data":"plain"}}`,
			[]conversation.Block{{Type: conversation.FileBlock, FileName: "a.txt", MIME: "text/plain", Data: []byte("plain")}}},
		{`{"type":"file","file":{"filename":"b.pdf","file_data":"data:application/pdf;base64,JVBERg=="}}`,
			[]conversation.Block{{Type: conversation.FileBlock, FileName: "b.pdf", MIME: "application/pdf", Data: []byte("%PDF")}}},
		{`{"type":"file","file":{"file_id":"file-1"}}`, []conversation.Block{{Type: conversation.FileBlock, Text: "file-1"}}},
		{`{"type":"step-start"}`, []conversation.Block{{Type: "step_start"}}},
		{`{"type":"text","text":{"value":"said","annotations":[]}}`, []conversation.Block{{Type: conversation.TextBlock, Text: "said"}}},
		{`{"type":"text","text":7}`, []conversation.Block{{Type: conversation.TextBlock}}},
		{`{"type":"output_text","value":"said"}`, []conversation.Block{{Type: conversation.TextBlock, Text: "said"}}},
		{`{"type":"text","text":"cached","cache_control":{}}`, []conversation.Block{{Type: conversation.TextBlock, Text: "cached"}}},
		{`{"type":"notice","text":"news"}`, []conversation.Block{{Type: "notice", Text: "news"}}},
		{`{"type":" "}`, []conversation.Block{{Type: "object"}}},
		{`"a bare string"`, []conversation.Block{{Type: conversation.TextBlock, Text: "a bare string"}}},
		{`7`, []conversation.Block{{Type: "value"}}},
	} {
		_, blocks, err := conversation.ContentOf(json.RawMessage("[" + test.block + "]"))
		if diff := cmp.Diff(test.want, blocks, cmpopts.IgnoreFields(conversation.Block{}, "Raw")); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", test.block, err, diff)
		}
		if strings.HasPrefix(test.block, "{") && string(blocks[0].Raw) != test.block {
			t.Errorf("raw %s, want %s", blocks[0].Raw, test.block)
		}
	}
}

func TestContentThatIsNoText(t *testing.T) {
	enginetest.Alone(t)
	for _, test := range []struct{ content, text, raw string }{
		{`"a \ud800 surrogate"`, "a \uFFFD surrogate", `"a \ud800 surrogate"`},
		{`"nul \u0000"`, "nul \uFFFD", `"nul \u0000"`},
		{"\"byte \xff\"", "byte \uFFFD", "\"byte \xff\""},
		{`[{"type":"text","text":"\udc00"}]`, "\uFFFD", `{"type":"text","text":"\udc00"}`},
		{`["a \ud800 surrogate"]`, "a \uFFFD surrogate", `"a \ud800 surrogate"`},
		{`[{"type":"toolCall","id":"\u0000","name":"\ud800","arguments":"\u0000"}]`, "", `{"type":"toolCall","id":"\u0000","name":"\ud800","arguments":"\u0000"}`},
	} {
		text, blocks, err := conversation.ContentOf(json.RawMessage(test.content))
		if err != nil || text != test.text || len(blocks) != 1 || string(blocks[0].Raw) != test.raw {
			t.Errorf("%q: %q, %+v, %v", test.content, text, blocks, err)
			continue
		}
		e := enginetest.Open(t, engine.Options{})
		enginetest.Append(t, e, conversation.AppendRequest{Conversation: "c", Messages: []conversation.Message{{Role: "assistant", Text: text, Blocks: blocks}}})
		if m := enginetest.Messages(t, e, "c")[0]; string(m.Blocks[0].Raw) != test.raw || m.Text != test.text {
			t.Errorf("%q is stored as %+v", test.content, m)
		}
	}
	for _, content := range []string{"{", "hello", `"a`, `[1,]`, "\xff"} {
		if _, _, err := conversation.ContentOf(json.RawMessage(content)); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", content, err)
		}
	}
}

func TestADataURLWithinItself(t *testing.T) {
	enginetest.Alone(t)
	_, blocks, err := conversation.ContentOf(json.RawMessage(`[{"type":"image","data":"` + strings.Repeat("data:;base64,", 4<<20) + `"}]`))
	if err != nil || len(blocks) != 1 || blocks[0].Data != nil || blocks[0].Text != "" {
		t.Errorf("%d blocks, %v", len(blocks), err)
	}
}

func FuzzContentOf(f *testing.F) {
	for _, s := range []string{`"x"`, `[{"type":"tool","state":{"output":[{"type":"image","data":"AA"}]}}]`, `{"results":[{"value":{"text":"t"}}]}`, `"{\"text\":[]}"`,
		`[{"type":"file","source":{"data":"data:,a%20b"}},null,[],7]`, `{"type":"reasoning","summary":{}}`, `{"command":"a","output":""}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, blocks, err := conversation.ContentOf(raw)
		if err != nil {
			if text != "" || blocks != nil {
				t.Errorf("%q, %v beside %v", text, blocks, err)
			}
			return
		}
		said := text
		for _, b := range blocks {
			said += b.Text + b.Input + b.Output + b.Tool + b.CallID + b.FileName + b.MIME
			if b.Type == "" {
				t.Errorf("a block without a type: %+v", b)
			}
		}
		if !utf8.ValidString(said) || strings.ContainsRune(said, 0) {
			t.Errorf("%q can't be stored", said)
		}
	})
}
