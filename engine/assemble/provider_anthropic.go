package assemble

import (
	"encoding/json"
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/window"
)

// AnthropicMessage is a message as Anthropic's Messages API takes it.
type AnthropicMessage struct {
	Role    string           `json:"role"` // user or assistant
	Content []AnthropicBlock `json:"content"`
}

// AnthropicBlock is a piece of a message; Type says which fields it has.
type AnthropicBlock struct {
	Type      string           `json:"type"` // text, image, tool_use or tool_result
	Text      string           `json:"text,omitempty"`
	Source    *AnthropicSource `json:"source,omitempty"`      // of an image
	ID        string           `json:"id,omitempty"`          // of a tool_use
	Name      string           `json:"name,omitempty"`        // of its tool
	Input     json.RawMessage  `json:"input,omitempty"`       // its arguments, an object
	ToolUseID string           `json:"tool_use_id,omitempty"` // of a tool_result
	Content   string           `json:"content,omitempty"`     // what it says
	IsError   bool             `json:"is_error,omitempty"`
}

// AnthropicSource is an image, by its address or in the request; JSON has its Data as base64.
type AnthropicSource struct {
	Type      string `json:"type"` // base64 or url
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// Anthropic gives the Guidance, for the system prompt, and the messages. Roles alternate and begin with a user's; the results of all
// calls of a message begin the next one; ids and names of tools are made plain where they are not.
func (a *Assembled) Anthropic() (system string, messages []AnthropicMessage) {
	messages = []AnthropicMessage{}
	names := newCallNames()
	for _, m := range alternating(a.Messages) {
		blocks := make([]AnthropicBlock, 0, len(m.Blocks))
		for i := range m.Blocks {
			blocks = append(blocks, anthropicBlock(&m.Blocks[i], m.Role, names))
		}
		role := m.Role
		if role == window.Tool {
			role = window.User
		}
		if n := len(messages); n > 0 && messages[n-1].Role == role {
			messages[n-1].Content = append(messages[n-1].Content, blocks...)
		} else {
			messages = append(messages, AnthropicMessage{role, blocks})
		}
	}
	if n := len(messages); n > 0 && messages[n-1].Role == window.Assistant { // it would be continued, and must not end in white space
		content := messages[n-1].Content
		last := &content[len(content)-1]
		last.Text = strings.TrimSpace(last.Text)
	}
	return a.Guidance, messages
}

func anthropicBlock(b *conversation.Block, role string, names *callNames) AnthropicBlock {
	switch {
	case b.Type == conversation.ToolCallBlock:
		return AnthropicBlock{Type: "tool_use", ID: names.call(b.CallID), Name: toolName(b.Tool), Input: arguments(b.Input)}
	case b.Type == conversation.ToolResultBlock:
		return AnthropicBlock{Type: "tool_result", ToolUseID: names.result(b.CallID), Content: output(b), IsError: b.IsError}
	case b.Type == conversation.ImageBlock && role == window.User: // nobody else can show one
		if kind := imageType(b.Data); kind != "" {
			return AnthropicBlock{Type: "image", Source: &AnthropicSource{Type: "base64", MediaType: kind, Data: b.Data}}
		}
		if url := imageURL(b); url != "" {
			return AnthropicBlock{Type: "image", Source: &AnthropicSource{Type: "url", URL: url}}
		}
	}
	return AnthropicBlock{Type: "text", Text: plainText([]conversation.Block{*b})}
}
