package conversation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// ContentOf reads the content of a host's message, whatever its shape, and gives what was said and what it is made of: the Text and Blocks of
// a Message.
//
//   - A string is said as it stands; one that is JSON itself gives way to the text found in it.
//   - An array is a block for each element. Of these, texts are said, a line each; thinking, tools, images and files are not.
//   - An object is a block like those of an array when it has a type; the record of a shell command is `$ command` and what it printed; of
//     any other the text is looked for under the usual keys, and where there is none, it is said as JSON.
//   - null is nothing, and so is the lack of it.
//
// Blocks are nil when the text is everything; their Raw is what the host wrote, except where a block is nothing but a text. Text is valid
// UTF-8 without NUL. Errors: ErrInvalid for what is no JSON.
func ContentOf(raw json.RawMessage) (said string, blocks []Block, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return "", []Block{}, nil
	}
	if !json.Valid(raw) {
		return "", nil, fault.Invalid("content", string(raw[:min(len(raw), 256)]), "JSON")
	}
	switch raw[0] {
	case '"':
		return stringContent(raw)
	case '[':
		var elements []json.RawMessage
		if err := json.Unmarshal(raw, &elements); err != nil {
			return "", nil, fmt.Errorf("content: %w: %v", fault.ErrInvalid, err)
		}
		blocks = []Block{}
		for _, element := range elements {
			blocks = append(blocks, blocksOf(element)...)
		}
	case '{':
		blocks = objectContent(raw)
	default:
		blocks = []Block{{Type: "value", Text: string(raw), Raw: raw}}
	}
	for i := range blocks {
		blocks[i].Clean()
	}
	return saidIn(blocks), blocks, nil
}

// stringContent reads a JSON string.
func stringContent(raw json.RawMessage) (said string, blocks []Block, err error) {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", nil, fmt.Errorf("content: %w: %v", fault.ErrInvalid, err)
	}
	said = s
	if inner := textIn(s); inner != "" {
		said = inner
	}
	b := Block{Type: TextBlock, Text: said}
	b.Clean()
	if b.Text == s && !strings.ContainsRune(s, '\uFFFD') { // else a byte or a surrogate was lost, or what stands around the text
		return s, nil, nil
	}
	b.Raw = raw
	return b.Text, []Block{b}, nil
}

// objectContent reads an object that stands where blocks do.
func objectContent(raw json.RawMessage) []Block {
	o, err := fieldsOf(raw)
	if err != nil {
		return []Block{{Type: "object", Text: compact(raw), Raw: raw}}
	}
	if command, output, ok := o.shell(); ok {
		return []Block{{Type: TextBlock, Text: strings.TrimRight("$ "+command+"\n"+output, "\n"), Raw: raw}}
	}
	if o.blockType() != "" {
		return blocksOf(raw)
	}
	said := textUnder(o, 0)
	return []Block{{Type: "object", Text: cmp.Or(said, compact(raw)), Raw: raw}}
}

// mostDepth is how deep texts are looked for in an object.
const mostDepth = 6

// The keys under which a text is looked for: as it is, as a list, as a further object.
var (
	textKeys   = []string{"text", "transcript", "transcription", "message", "summary"}
	listKeys   = []string{"segments", "utterances", "paragraphs", "alternatives", "words", "items", "results"}
	nestedKeys = []string{"content", "output", "result", "payload", "data", "value"}
)

// textIn is the text found in a string that is JSON; empty: there is none, or it is no JSON.
func textIn(s string) string {
	trimmed := strings.TrimSpace(s)
	if len(trimmed) < 2 || !(trimmed[0] == '{' && trimmed[len(trimmed)-1] == '}' || trimmed[0] == '[' && trimmed[len(trimmed)-1] == ']') {
		return ""
	}
	if !json.Valid([]byte(trimmed)) {
		return ""
	}
	return textAt(json.RawMessage(trimmed), 0)
}

// textAt is the text found in a value.
func textAt(raw json.RawMessage, depth int) string {
	raw = bytes.TrimSpace(raw)
	if depth > mostDepth || len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		return stringOf(raw)
	case '[':
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) != nil {
			return ""
		}
		var lines []string
		for _, element := range elements {
			if s := textAt(element, depth+1); strings.TrimSpace(s) != "" {
				lines = append(lines, s)
			}
		}
		return strings.Join(lines, "\n")
	case '{':
		o, err := fieldsOf(raw)
		if err != nil {
			return ""
		}
		if kind := o.blockType(); isToolCall(kind) || isToolResult(kind) || partKinds[BlockType(kind)] == "reasoning" {
			return ""
		}
		return textUnder(o, depth)
	}
	return ""
}

// textUnder is the text found under the usual keys of an object.
func textUnder(o fields, depth int) string {
	for _, key := range textKeys {
		if s := stringOf(o[key]); strings.TrimSpace(s) != "" {
			return s
		}
	}
	for _, keys := range [][]string{listKeys, nestedKeys} {
		for _, key := range keys {
			if s := textAt(o[key], depth+1); strings.TrimSpace(s) != "" {
				return s
			}
		}
	}
	return ""
}

// fields are those of a JSON object, each as it was written.
type fields map[string]json.RawMessage

func fieldsOf(raw json.RawMessage) (o fields, err error) {
	return o, json.Unmarshal(raw, &o)
}

// text is the first of these fields that is a string, and not an empty one.
func (o fields) text(keys ...string) string {
	for _, key := range keys {
		if s := stringOf(o[key]); s != "" {
			return s
		}
	}
	return ""
}

// first is the first of these fields that is there and not null.
func (o fields) first(keys ...string) json.RawMessage {
	for _, key := range keys {
		if raw := bytes.TrimSpace(o[key]); len(raw) > 0 && string(raw) != "null" {
			return raw
		}
	}
	return nil
}

// is reports whether one of these fields is true.
func (o fields) is(keys ...string) bool {
	for _, key := range keys {
		if string(bytes.TrimSpace(o[key])) == "true" {
			return true
		}
	}
	return false
}

// shell reads the record of a shell command.
func (o fields) shell() (command, output string, ok bool) {
	if o["command"] == nil || o["output"] == nil || o["input"] != nil {
		return "", "", false
	}
	command, output = stringOf(o["command"]), stringOf(o["output"])
	return command, output, command != ""
}

// stringOf is a value that is a string; of any other, nothing.
func stringOf(raw json.RawMessage) (s string) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// plainOf is a string as it is, and any other value as JSON.
func plainOf(raw json.RawMessage) string {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if raw[0] == '"' {
		return stringOf(raw)
	}
	return compact(raw)
}

// compact is JSON without the space between its tokens.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
