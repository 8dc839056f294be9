package session

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/mallardmem/mallard/engine"
)

// part is a block of a host's, with the fields that the hosts know for it.
type part struct {
	Type     text            `json:"type"`
	Text     text            `json:"text"`
	Thinking text            `json:"thinking"`
	Data     text            `json:"data"`     // of an image in base64, or of thinking that is encrypted
	MIME     text            `json:"mimeType"` // of such an image
	Source   *source         `json:"source"`
	ImageURL json.RawMessage `json:"image_url"` // a data URL, or an object with one
	Name     text            `json:"name"`
	Title    text            `json:"title"`
	FileName text            `json:"filename"`

	ID        text            `json:"id"`
	ToolUseID text            `json:"tool_use_id"`
	Input     json.RawMessage `json:"input"`
	Arguments json.RawMessage `json:"arguments"`
	Content   json.RawMessage `json:"content"`
	IsError   flag            `json:"is_error"`
}

// source is where the data of an image or a document is.
type source struct {
	Type  text `json:"type"`
	MIME  text `json:"media_type"`
	Data  text `json:"data"`
	URL   text `json:"url"`
	Value text `json:"text"`
}

// UnmarshalJSON takes anything that is no object for an empty source.
func (s *source) UnmarshalJSON(b []byte) error {
	type plain source
	if !isObject(b) {
		return nil
	}
	return json.Unmarshal(b, (*plain)(s))
}

// partsOf reads a content: a string, a list of blocks, or one block. raw holds each as the host wrote it.
func partsOf(content json.RawMessage) (parts []part, raw []json.RawMessage) {
	switch {
	case isArray(content):
		if json.Unmarshal(content, &raw) != nil {
			return nil, nil
		}
	case len(bytes.TrimSpace(content)) == 0 || string(bytes.TrimSpace(content)) == "null":
		return nil, nil
	default:
		raw = []json.RawMessage{content}
	}
	parts = make([]part, len(raw))
	for i := range raw {
		var s string
		if json.Unmarshal(raw[i], &s) == nil {
			parts[i] = part{Type: "text", Text: text(storable(s))}
			continue
		}
		if json.Unmarshal(raw[i], &parts[i]) != nil || parts[i].Type == "" {
			parts[i] = part{Type: "unknown"}
		}
	}
	return parts, raw
}

// block is a part as the engine knows it. Of one that it does not, the host's word and writing are kept.
func (p part) block(raw json.RawMessage) engine.Block {
	switch p.Type {
	case "text", "input_text", "output_text":
		return engine.Block{Type: engine.TextBlock, Text: string(p.Text)}
	case "thinking":
		return engine.Block{Type: engine.ThinkingBlock, Text: string(or(p.Thinking, p.Text))}
	case "redacted_thinking":
		return engine.Block{Type: "redacted_thinking", Raw: raw}
	case "tool_use", "toolCall", "server_tool_use":
		input := p.Input
		if input == nil {
			input = p.Arguments
		}
		return engine.Block{Type: engine.ToolCallBlock, CallID: string(p.ID), Tool: string(p.Name), Input: jsonText(input)}
	case "tool_result":
		output, _ := outputOf(p.Content)
		return engine.Block{Type: engine.ToolResultBlock, CallID: string(p.ToolUseID), Output: output, IsError: bool(p.IsError)}
	case "image", "input_image", "document", "file":
		if b, ok := p.file(); ok {
			return b
		}
	}
	return engine.Block{Type: engine.BlockType(or(strings.TrimSpace(string(p.Type)), "unknown")), Text: string(or(p.Text, p.Thinking)), Raw: raw}
}

// file is a part that holds a picture or a document.
func (p part) file() (engine.Block, bool) {
	b := engine.Block{Type: engine.ImageBlock, FileName: string(or(p.FileName, or(p.Title, p.Name)))}
	if p.Type == "document" || p.Type == "file" {
		b.Type = engine.FileBlock
	}
	var url string
	if json.Unmarshal(p.ImageURL, &url) != nil {
		var inner struct {
			URL text `json:"url"`
		}
		if json.Unmarshal(p.ImageURL, &inner) == nil {
			url = string(inner.URL)
		}
	}
	encoded := string(p.Data)
	b.MIME = string(p.MIME)
	if s := p.Source; s != nil {
		encoded, b.MIME, url = string(s.Data), string(s.MIME), or(url, string(s.URL))
		if s.Type == "text" {
			b.Data = []byte(or(s.Data, s.Value))
			return b, len(b.Data) > 0
		}
	}
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		var kind string
		kind, encoded, _ = strings.Cut(rest, ",")
		b.MIME = strings.TrimSuffix(kind, ";base64")
	} else if url != "" && encoded == "" {
		b.FileName = or(b.FileName, url)
		return b, true
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	b.Data = data
	return b, err == nil && len(data) > 0
}

// outputOf gives what a tool said, as text, and the pictures and files that came with it.
func outputOf(content json.RawMessage) (output string, files []engine.Block) {
	parts, raw := partsOf(content)
	var lines []string
	for i, p := range parts {
		switch b := p.block(raw[i]); {
		case b.Type == engine.TextBlock:
			lines = append(lines, b.Text)
		case b.Type == engine.ImageBlock || b.Type == engine.FileBlock:
			files = append(files, b)
		default:
			lines = append(lines, jsonText(raw[i]))
		}
	}
	return strings.Join(lines, "\n"), files
}

// result is a message with what a tool said.
func result(callID, tool, output string, failed bool, files []engine.Block) engine.Message {
	b := engine.Block{Type: engine.ToolResultBlock, CallID: callID, Tool: tool, Output: output, IsError: failed}
	return engine.Message{Role: "tool", Blocks: append([]engine.Block{b}, files...)}
}

// jsonText is JSON as text: a string says itself.
func jsonText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return storable(s)
	}
	return strings.ToValidUTF8(string(canonical(raw)), "\uFFFD")
}

// textOf joins the texts of blocks.
func textOf(blocks []engine.Block) string {
	var lines []string
	for _, b := range blocks {
		if b.Type == engine.TextBlock && strings.TrimSpace(b.Text) != "" {
			lines = append(lines, b.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// eventOf is a record of the host as a message that is no turn of talk.
func eventOf(role, kind, said string) engine.Message {
	return engine.Message{Role: role, SetAside: engine.AsideEvent, Blocks: []engine.Block{{Type: engine.BlockType(or(strings.TrimSpace(storable(kind)), "event")), Text: said}}}
}
