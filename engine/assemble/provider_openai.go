package assemble

import (
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/window"
)

// OpenAIMessage is a message as OpenAI's chat completions take it, and the many servers that follow them.
type OpenAIMessage struct {
	Role string `json:"role"` // system, user, assistant or tool
	// Content is a string, []OpenAIPart where there are images, or nil beside calls.
	Content    any          `json:"content"`
	ToolCalls  []OpenAICall `json:"tool_calls,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"` // of a tool: which call it answers
}

// OpenAIPart is a piece of a user's message: a text or an image.
type OpenAIPart struct {
	Type     string       `json:"type"` // text or image_url
	Text     string       `json:"text,omitempty"`
	ImageURL *OpenAIImage `json:"image_url,omitempty"`
}

// OpenAIImage is an image by its address, or as a data URL.
type OpenAIImage struct {
	URL string `json:"url"`
}

// OpenAICall is an assistant's call of a tool.
type OpenAICall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"` // function
	Function OpenAIFunction `json:"function"`
}

// OpenAIFunction is what is called; Arguments is a JSON object as a string.
type OpenAIFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// OpenAI gives the messages for a chat completion, the Guidance first as the system's. Roles alternate and begin with a user's; every
// call is followed by its result; ids and names of tools are made plain where they are not.
func (a *Assembled) OpenAI() []OpenAIMessage {
	all := []OpenAIMessage{}
	if a.Guidance != "" {
		all = append(all, OpenAIMessage{Role: window.System, Content: a.Guidance})
	}
	names := newCallNames()
	for _, m := range alternating(a.Messages) {
		if m.Role == window.Tool {
			for i := range m.Blocks {
				b := &m.Blocks[i]
				all = append(all, OpenAIMessage{Role: window.Tool, Content: output(b), ToolCallID: names.result(b.CallID)})
			}
			continue
		}
		all = append(all, openAIMessage(m, names))
	}
	return all
}

func openAIMessage(m AssembledMessage, names *callNames) OpenAIMessage {
	v := OpenAIMessage{Role: m.Role}
	var parts []OpenAIPart
	images := false
	for i := range m.Blocks {
		b := &m.Blocks[i]
		image := ""
		if m.Role == window.User { // nobody else can show one
			image = imageURL(b)
		}
		switch {
		case b.Type == conversation.ToolCallBlock:
			v.ToolCalls = append(v.ToolCalls, OpenAICall{names.call(b.CallID), "function", OpenAIFunction{toolName(b.Tool), string(arguments(b.Input))}})
		case image != "":
			images = true
			parts = append(parts, OpenAIPart{Type: "image_url", ImageURL: &OpenAIImage{image}})
		default:
			parts = append(parts, OpenAIPart{Type: "text", Text: plainText(m.Blocks[i : i+1])})
		}
	}
	switch {
	case images:
		v.Content = parts
	case len(parts) > 0:
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = p.Text
		}
		v.Content = strings.Join(texts, "\n\n")
	}
	return v
}
