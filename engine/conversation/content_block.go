package conversation

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
)

// toolCalls and toolResults are the words of hosts for a call of a tool and for what it gave.
var (
	toolCalls = map[string]bool{"tool_call": true, "tool_use": true, "tooluse": true, "tool-use": true, "toolcall": true, "tool-call": true,
		"functioncall": true, "function_call": true, "function": true, "custom_tool_call": true, "local_shell_call": true,
		"server_tool_use": true, "mcp_tool_use": true, "web_search_call": true, "tool_search_call": true, "image_generation_call": true,
		"tool": true}
	toolResults = map[string]bool{"tool_result": true, "toolresult": true, "tool-result": true, "function_call_output": true,
		"functionresponse": true, "function_response": true, "custom_tool_call_output": true, "local_shell_call_output": true,
		"tool_search_output": true}
)

func isToolCall(kind string) bool { return toolCalls[strings.ToLower(kind)] }

func isToolResult(kind string) bool {
	kind = strings.ToLower(kind)
	return toolResults[kind] || strings.HasSuffix(kind, "_tool_result")
}

// blockType is a host's word for a block; where it is only to be seen by a field's name, that.
func (o fields) blockType() string {
	if kind := o.text("type"); kind != "" {
		return kind
	}
	for _, key := range []string{"functionCall", "functionResponse", "toolUse", "toolResult"} {
		if o[key] != nil {
			return key
		}
	}
	return ""
}

// blocksOf reads an element of a message's content. It is one block as a rule; a tool that carries its result is two, and the images
// among a result are blocks of their own.
func blocksOf(raw json.RawMessage) []Block {
	o, err := fieldsOf(raw)
	if err != nil || o == nil {
		if s := stringOf(raw); s != "" {
			return []Block{textBlock(s, raw, true)}
		}
		return []Block{{Type: "value", Raw: raw}}
	}
	kind := o.blockType()
	switch strings.ToLower(kind) {
	case "text", "input_text", "output_text":
		said := o.first("text", "content")
		s := textAt(said, 0)
		if s == "" {
			s = textUnder(o, 0)
		}
		return []Block{textBlock(s, raw, len(o) == 2 && bytes.HasPrefix(said, []byte{'"'}))}
	case "thinking", "reasoning", "redacted_thinking":
		thought := o.text("thinking", "text", "reasoning")
		if thought == "" {
			thought = textAt(o.first("summary", "content"), 0)
		}
		return []Block{{Type: ThinkingBlock, Text: thought, Raw: raw}}
	case "image", "input_image", "image_url", "media":
		return []Block{o.file(ImageBlock, raw)}
	case "file", "document", "input_file", "audio", "input_audio", "video":
		return []Block{o.file(FileBlock, raw)}
	}
	switch {
	case isToolCall(kind):
		return o.tool(raw)
	case isToolResult(kind):
		return o.result(raw)
	}
	known := strings.ReplaceAll(strings.ToLower(kind), "-", "_")
	if _, ok := partKinds[BlockType(known)]; ok {
		return []Block{{Type: BlockType(known), Text: textUnder(o, 0), Raw: raw}}
	}
	return []Block{{Type: BlockType(cmp.Or(strings.TrimSpace(kind), "object")), Text: textUnder(o, 0), Raw: raw}}
}

// textBlock is a text of a host's. whole: it is all that the host wrote, unless a byte or a surrogate was lost.
func textBlock(s string, raw json.RawMessage, whole bool) Block {
	b := Block{Type: TextBlock, Text: s}
	if !whole || strings.ContainsRune(s, '\uFFFD') {
		b.Raw = raw
	}
	return b
}

// inner gives the object that has the fields of a tool: itself, or what it wraps.
func (o fields) inner() fields {
	for _, key := range []string{"functionCall", "functionResponse", "function", "toolUse", "toolResult"} {
		if within, err := fieldsOf(o[key]); err == nil && within != nil {
			return within
		}
	}
	return o
}

// call gives the id that joins a tool's call and its result.
func (o fields) call() string {
	return o.text("toolCallId", "tool_call_id", "toolUseId", "tool_use_id", "call_id", "callID", "id")
}

func (o fields) name() string { return o.text("name", "toolName", "tool_name", "tool") }

// tool reads a call, and its result where it is there already.
func (o fields) tool(raw json.RawMessage) []Block {
	in := o.inner()
	call := Block{Type: ToolCallBlock, CallID: cmp.Or(in.call(), o.call()), Tool: cmp.Or(in.name(), o.name()), Raw: raw}
	call.Input = plainOf(in.first("input", "arguments", "toolInput", "args", "parameters", "action", "query"))
	state, _ := fieldsOf(in["state"])
	if state != nil && call.Input == "" {
		call.Input = plainOf(state.first("input"))
	}
	if call.Tool == "" && !strings.EqualFold(o.blockType(), "tool") {
		call.Tool = o.blockType()
	}
	for _, from := range []fields{in, state} {
		if output := from.first("output", "toolOutput", "result", "error"); output != nil {
			result := Block{Type: ToolResultBlock, CallID: call.CallID, Tool: call.Tool, IsError: from.failed()}
			return append([]Block{call}, result.filled(output)...)
		}
	}
	return []Block{call}
}

// result reads what a tool gave.
func (o fields) result(raw json.RawMessage) []Block {
	in := o.inner()
	b := Block{Type: ToolResultBlock, CallID: cmp.Or(in.call(), o.call()), Tool: cmp.Or(in.name(), o.name()), IsError: o.failed() || in.failed(), Raw: raw}
	return b.filled(in.first("output", "toolOutput", "content", "result", "response", "error", "tools"))
}

// failed reports whether a tool says that it did.
func (o fields) failed() bool {
	status := strings.ToLower(o.text("status"))
	return o.is("is_error", "isError") || o.first("error") != nil && !o.is("success") || status == "error" || status == "failed"
}

// filled is a result with its output; images and files in that are blocks after it.
func (b Block) filled(output json.RawMessage) []Block {
	var elements []json.RawMessage
	if json.Unmarshal(output, &elements) != nil || len(elements) == 0 {
		b.Output = plainOf(output)
		return []Block{b}
	}
	var lines []string
	var more []Block
	for _, element := range elements {
		for _, part := range blocksOf(element) {
			switch s := part.Said(); {
			case part.Type == ImageBlock || part.Type == FileBlock:
				part.CallID, part.Raw = b.CallID, nil // it is in the Raw of the result
				more = append(more, part)
			case s != "":
				lines = append(lines, s)
			case part.Raw != nil:
				lines = append(lines, compact(part.Raw))
			}
		}
	}
	b.Output = strings.Join(lines, "\n")
	return append([]Block{b}, more...)
}

// file reads an image or another file: its bytes where they are there, or else where it lies.
func (o fields) file(kind BlockType, raw json.RawMessage) Block {
	b := Block{Type: kind, Raw: raw}
	places := []fields{o}
	for _, key := range []string{"source", "image_url", "file", "input_audio", "image"} {
		if within, err := fieldsOf(o[key]); err == nil && within != nil {
			places = append(places, within)
		}
	}
	for _, at := range places {
		b.FileName = cmp.Or(b.FileName, at.text("name", "filename", "file_name", "fileName", "title"))
		b.MIME = cmp.Or(b.MIME, at.text("mime", "mimeType", "mime_type", "media_type", "mediaType"))
		if b.Data != nil || b.Text != "" {
			continue
		}
		data := at.text("data", "file_data", "base64", "bytes")
		switch {
		case data != "" && at.text("type") == "text":
			b.Data = []byte(data)
		case strings.HasPrefix(data, "data:"):
			b.locate(data)
		case data != "":
			b.decode(data)
		default:
			b.locate(at.text("url", "image_url", "file_url", "uri", "path", "file_id"))
		}
		if b.Data == nil && b.Text == "" && kind == FileBlock {
			b.Text = at.text("text", "content")
		}
	}
	return b
}

// locate takes where a file lies, or the file itself out of a data URL.
func (b *Block) locate(address string) {
	head, data, ok := strings.Cut(address, ",")
	if !ok || !strings.HasPrefix(head, "data:") {
		b.Text = address
		return
	}
	kind, encoding, _ := strings.Cut(strings.TrimPrefix(head, "data:"), ";")
	b.MIME = cmp.Or(b.MIME, kind)
	if strings.HasSuffix(encoding, "base64") {
		b.decode(data)
	} else if plain, err := url.PathUnescape(data); err == nil && plain != "" {
		b.Data = []byte(plain)
	}
}

// decode takes bytes in base 64, of either alphabet and with or without padding; what is none of that stays in Raw only.
func (b *Block) decode(s string) {
	s = strings.TrimRight(strings.Join(strings.Fields(s), ""), "=")
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if data, err := encoding.DecodeString(s); err == nil && len(data) > 0 {
			b.Data = data
			return
		}
	}
}
