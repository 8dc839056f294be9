package assemble_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/assemble"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
)

var plainID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkProviders holds what an assembled context becomes to the strictest rules of providers.
func checkProviders(t *testing.T, a *assemble.Assembled) {
	t.Helper()
	checkOpenAI(t, a)
	checkAnthropic(t, a)
}

func checkOpenAI(t *testing.T, a *assemble.Assembled) {
	t.Helper()
	messages := a.OpenAI()
	if len(messages) > 0 && messages[0].Role == "system" {
		messages = messages[1:]
	}
	var open []string // calls that are not answered yet
	seen := map[string]bool{}
	before := ""
	for i, m := range messages {
		switch {
		case len(open) > 0 && m.ToolCallID != open[0]:
			t.Errorf("openai %d: %+v, but the call %s has no result yet", i, m, open[0])
		case m.Role == before && m.Role != "tool":
			t.Errorf("openai %d: two of %s in a row", i, m.Role)
		case m.Role == "tool" && len(open) == 0:
			t.Errorf("openai %d: %+v answers no call", i, m)
		case i == 0 && m.Role != "user":
			t.Errorf("openai: begins with %+v", m)
		}
		if m.Role == "tool" && len(open) > 0 {
			open = open[1:]
		}
		if before = m.Role; m.Role == "tool" {
			before = "results"
		}
		if text, ok := m.Content.(string); ok && strings.TrimSpace(text) == "" || m.Content == nil && len(m.ToolCalls) == 0 {
			t.Errorf("openai %d: empty: %+v", i, m)
		}
		for _, call := range m.ToolCalls {
			var arguments map[string]any
			if err := json.Unmarshal([]byte(call.Function.Arguments), &arguments); err != nil || !plainID.MatchString(call.ID) || !plainID.MatchString(call.Function.Name) || seen[call.ID] {
				t.Errorf("openai %d: %v in %+v", i, err, call)
			}
			seen[call.ID] = true
			open = append(open, call.ID)
		}
	}
	if len(open) > 0 {
		t.Errorf("openai: no results of %v", open)
	}
}

func checkAnthropic(t *testing.T, a *assemble.Assembled) {
	t.Helper()
	system, messages := a.Anthropic()
	if system != a.Guidance {
		t.Errorf("anthropic: system %q, want %q", system, a.Guidance)
	}
	var open []string
	seen := map[string]bool{}
	for i, m := range messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want || len(m.Content) == 0 {
			t.Errorf("anthropic %d: %s with %d blocks, want %s", i, m.Role, len(m.Content), want)
		}
		for j, b := range m.Content {
			switch b.Type {
			case "text":
				if strings.TrimSpace(b.Text) == "" {
					t.Errorf("anthropic %d.%d: empty", i, j)
				}
			case "tool_use":
				var input map[string]any
				if err := json.Unmarshal(b.Input, &input); err != nil || !plainID.MatchString(b.ID) || !plainID.MatchString(b.Name) || seen[b.ID] {
					t.Errorf("anthropic %d.%d: %v in %+v", i, j, err, b)
				}
				seen[b.ID] = true
				open = append(open, b.ID)
			case "tool_result":
				if len(open) == 0 || b.ToolUseID != open[0] || b.Content == "" {
					t.Fatalf("anthropic %d.%d: %+v, want the result of %v", i, j, b, open)
				}
				open = open[1:]
			}
			if len(open) > 0 && m.Role == "user" && b.Type != "tool_result" {
				t.Errorf("anthropic %d.%d: %s before the results of %v", i, j, b.Type, open)
			}
		}
		if len(open) > 0 && m.Role == "user" {
			t.Errorf("anthropic %d: no results of %v", i, open)
		}
	}
	if len(open) > 0 {
		t.Errorf("anthropic: no results of %v", open)
	}
}

// picture is an image of so many bytes.
func picture(begins string, bytesInAll int) []byte {
	return append([]byte(begins), bytes.Repeat([]byte{7}, bytesInAll-len(begins))...)
}

// shownImages gives what the messages show of images, in both forms: the type of those with their bytes, or the address.
func shownImages(t *testing.T, a *assemble.Assembled) (all []string) {
	t.Helper()
	var openAI []string
	for _, m := range a.OpenAI() {
		parts, _ := m.Content.([]assemble.OpenAIPart)
		for _, p := range parts {
			if p.ImageURL != nil {
				head, _, _ := strings.Cut(strings.TrimPrefix(p.ImageURL.URL, "data:"), ";")
				openAI = append(openAI, head)
			}
		}
	}
	_, messages := a.Anthropic()
	for _, m := range messages {
		for _, b := range m.Content {
			if b.Source != nil {
				all = append(all, b.Source.MediaType+b.Source.URL)
			}
		}
	}
	if diff := cmp.Diff(all, openAI); diff != "" {
		t.Errorf("images (-anthropic +openai):\n%s", diff)
	}
	return all
}

// TestProvidersShowImages: one that a provider would refuse spoils every request from then on.
func TestProvidersShowImages(t *testing.T) {
	enginetest.Alone(t)
	const png, jpeg, limit = "\x89PNG\r\n\x1a\n", "\xff\xd8\xff", 5 << 20 / 4 * 3
	image := func(mime string, data []byte) conversation.Message {
		return conversation.Message{Text: "see", Blocks: []conversation.Block{{Type: conversation.ImageBlock, MIME: mime, Data: data}}}
	}
	var all []conversation.Message
	var want []string
	for _, test := range []struct {
		message conversation.Message
		want    string // empty: a line of text stands for it
	}{
		{image("image/png", picture(png, 100)), "image/png"},
		{image("", picture("GIF89a", 100)), "image/gif"},
		{image("image/jpg", picture(jpeg, 100)), "image/jpeg"},
		{image("image/png", picture("RIFF\x00\x00\x00\x00WEBP", 100)), "image/webp"}, // another type than it has
		{image("image/png", []byte("<html>")), ""},
		{image("image/svg+xml", []byte("<svg/>")), ""},
		{image("image/png", picture(png, limit)), "image/png"},
		{image("image/png", picture(png, limit+1)), ""},
		{conversation.Message{Blocks: []conversation.Block{{Type: conversation.ImageBlock, Text: "https://harbour.example/crane.jpg"}}}, "https://harbour.example/crane.jpg"},
		{conversation.Message{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ImageBlock, Data: picture(png, 100)}}}, ""},
		{conversation.Message{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ImageBlock, Data: picture(png, 100)}}}, ""},
	} {
		all = append(all, test.message)
		if test.want != "" {
			want = append(want, test.want)
		}
	}
	e := enginetest.Open(t, engine.Options{})
	talked(t, e, all...)
	for name, a := range map[string]*assemble.Assembled{
		"stored": assembled(t, e, assemble.Request{}),
		"live":   assembled(t, e, assemble.Request{Conversation: "unknown", Live: all}),
	} {
		if diff := cmp.Diff(want, shownImages(t, a)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		checkProviders(t, a)
	}

	e = enginetest.Open(t, engine.Options{})
	for i := range 7 {
		m := image("image/png", picture(png+fmt.Sprint(i), 3_500_000))
		m.Text = fmt.Sprint(i)
		talked(t, e, m)
	}
	a := assembled(t, e, assemble.Request{})
	if got := shownImages(t, a); len(got) != 5 {
		t.Errorf("%d of 7 large images, want 5", len(got))
	}
	for i, m := range a.Messages {
		if got, want := m.Blocks[1].Data != nil, i >= 2; got != want {
			t.Errorf("image %d is shown: %v, want the newest", i, got)
		}
	}
}
