package session

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
)

// blocksOf gives what a content is made of: a string, a list of blocks, or one block. A string is what was said, whatever it looks like.
func blocksOf(content json.RawMessage) []conversation.Block {
	var s string
	if json.Unmarshal(content, &s) == nil && !isNull(content) {
		return []conversation.Block{{Type: conversation.TextBlock, Text: storable(s)}}
	}
	_, blocks, err := conversation.ContentOf(content)
	if err != nil {
		return nil
	}
	for i := range blocks {
		b := &blocks[i]
		b.Type = conversation.BlockType(storable(string(b.Type)))
		for _, word := range []*string{&b.CallID, &b.Tool, &b.FileName, &b.MIME} {
			*word = storable(*word)
		}
		switch b.Type {
		case conversation.TextBlock, conversation.ThinkingBlock, conversation.ToolCallBlock, conversation.ToolResultBlock, conversation.ImageBlock, conversation.FileBlock:
			b.Raw = nil // the line is kept, and nothing is in it that they do not say
		}
	}
	return blocks
}

// outputOf gives what a tool said, as text, and the pictures and files that came with it.
func outputOf(content json.RawMessage) (output string, files []conversation.Block) {
	var lines []string
	for _, b := range blocksOf(content) {
		switch {
		case b.Type == conversation.ImageBlock || b.Type == conversation.FileBlock:
			files = append(files, b)
		case b.Text == "" && b.Raw != nil:
			lines = append(lines, jsonText(b.Raw))
		default:
			lines = append(lines, b.Text)
		}
	}
	return strings.Join(lines, "\n"), files
}

// result is a message with what a tool said.
func result(callID, tool, output string, failed bool, files []conversation.Block) conversation.Message {
	b := conversation.Block{Type: conversation.ToolResultBlock, CallID: callID, Tool: tool, Output: output, IsError: failed}
	return conversation.Message{Role: "tool", Blocks: append([]conversation.Block{b}, files...)}
}

// jsonText is JSON as text: a string says itself.
func jsonText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return storable(s)
	}
	return storable(strings.ToValidUTF8(string(canonical(raw)), "\uFFFD"))
}

// textOf joins the texts of blocks.
func textOf(blocks []conversation.Block) string {
	var lines []string
	for _, b := range blocks {
		if b.Type == conversation.TextBlock && strings.TrimSpace(b.Text) != "" {
			lines = append(lines, b.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// spokenBy gives a content as a message; one that is empty is an event.
func spokenBy(role string, content json.RawMessage) conversation.Message {
	blocks := blocksOf(content)
	for _, b := range blocks {
		if b.Type != conversation.TextBlock || strings.TrimSpace(b.Text) != "" {
			return conversation.Message{Role: role, Blocks: blocks}
		}
	}
	return eventOf(role, "empty", "")
}

// eventOf is a record of the host as a message that is no turn of talk.
func eventOf(role, kind, said string) conversation.Message {
	return conversation.Message{Role: role, SetAside: conversation.AsideEvent, Blocks: []conversation.Block{{Type: conversation.BlockType(or(strings.TrimSpace(storable(kind)), "event")), Text: said}}}
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }
