package llm_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/llm"
)

func TestAnswer(t *testing.T) {
	openai, anthropic := providers()[0], providers()[1]
	for _, c := range []struct {
		name     string
		provider provider
		body     string
		want     string
	}{
		{"text", openai, completion(`" two\nlines "`, "stop"), "two\nlines"},
		{"cut off", openai, completion(`"half a sen"`, "length"), "half a sen"},
		{"empty", openai, completion(`""`, "stop"), ""},
		{"null", openai, completion(`null`, "stop"), ""},
		{"blocks", openai, completion(`[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"one"},{"type":"text","text":"two"}]`, "stop"), "one\ntwo"},
		{"no blocks", openai, completion(`[]`, "stop"), ""},
		{"blocks of another kind", openai, completion(`[1,2]`, "stop"), ""},
		{"refusal", openai, `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":"I can't."},"finish_reason":"stop"}]}`, ""},
		{"filtered", openai, completion(`"half of it"`, "content_filter"), ""},
		{"thought beside the text", openai, `{"choices":[{"message":{"role":"assistant","content":"four","reasoning_content":"2+2","reasoning":"2+2"},"finish_reason":"stop"}]}`, "four"},
		{"thought only", openai, `{"choices":[{"message":{"role":"assistant","content":"","reasoning_content":"2+2"},"finish_reason":"length"}]}`, ""},
		{"no message", openai, `{"choices":[{}]}`, ""},
		{"unknown fields", openai, `{"x":1,"error":null,"choices":[{"message":{"content":"ok","y":[{}]}}]}`, "ok"},

		{"text", anthropic, message("end_turn", `{"type":"text","text":" two\nlines "}`), "two\nlines"},
		{"cut off", anthropic, message("max_tokens", `{"type":"text","text":"half a sen"}`), "half a sen"},
		{"no blocks", anthropic, message("end_turn", ``), ""},
		{"blocks", anthropic, message("end_turn", `{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"one"},
			{"type":"redacted_thinking","data":"x"},{"type":"text","text":"two"},{"type":"of_tomorrow","text":"three"}`), "one\ntwo"},
		{"thought only", anthropic, message("max_tokens", `{"type":"thinking","thinking":"hm","signature":"x"}`), ""},
		{"refusal", anthropic, message("refusal", `{"type":"text","text":"half of it"}`), ""},
	} {
		t.Run(c.provider.name+"/"+c.name, func(t *testing.T) {
			got, err := c.provider.serve(t, llm.Config{Retries: -1}, reply(200, c.body)).Complete(t.Context(), "", "prompt", 50)
			if err != nil || got != c.want {
				t.Errorf("answer %q, error %v; want %q", got, err, c.want)
			}
		})
	}
}

// Thinking that the server leaves in the text.
func TestAnswerThoughts(t *testing.T) {
	for text, want := range map[string]string{
		"<think>\nhm\n</think>\n\nfour":                         "four",
		" <thinking>hm</thinking>four":                          "four",
		"<THINK>a</THINK>\n<think>b</think>\nfour":              "four",
		"<think>cut off in the mid":                             "",
		"hm, two and two\n</think>\n\nfour":                     "four",
		"hm\r\n</think>\r\nfour":                                "four",
		"<think></think>":                                       "",
		"the tag </think> in a sentence":                        "the tag </think> in a sentence",
		"four <think>not in front</think>":                      "four <think>not in front</think>",
		"quoted:\n<think>\nhm\n</think>\nend":                   "quoted:\n<think>\nhm\n</think>\nend",
		"<thinker>a word of the text</thinker>":                 "<thinker>a word of the text</thinker>",
		"a\xffb":                                                "a\uFFFDb",
		"\n \t":                                                 "",
		"Files: none\nExpand for details about: one thing, two": "Files: none\nExpand for details about: one thing, two",
	} {
		for _, p := range providers() {
			got, err := p.serve(t, llm.Config{Retries: -1}, reply(200, p.text(text))).Complete(t.Context(), "", "prompt", 50)
			if err != nil || got != want {
				t.Errorf("%s: %q gives %q, error %v; want %q", p.name, text, got, err, want)
			}
		}
	}
}

// Whatever a server sends: an answer in valid UTF-8 or an *Error, and no panic.
func FuzzAnswer(f *testing.F) {
	for _, p := range providers() {
		f.Add([]byte(p.text("<think>a</think>b")))
	}
	f.Add([]byte(completion(`[{"type":"text","text":"one"}]`, "stop")))
	f.Add([]byte(`{"error":{"message":"no","code":429}}`))
	f.Add([]byte(`{"choices":{"message":[]},"content":{"type":7}}`))
	f.Add([]byte(`{"content":[[],null,{"type":"text"},5]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, p := range providers() {
			client, err := p.open(llm.Config{Model: "m", Retries: -1, HTTPClient: &http.Client{
				Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
				})}})
			if err != nil {
				t.Fatal(err)
			}
			answer, err := client.Complete(t.Context(), "", "prompt", 5)
			var failure *llm.Error
			if err != nil && !errors.As(err, &failure) {
				t.Errorf("%s: %T", p.name, err)
			}
			if !utf8.ValidString(answer) || answer != strings.TrimSpace(answer) || err != nil && answer != "" {
				t.Errorf("%s: answer %q, error %v", p.name, answer, err)
			}
		}
	})
}
