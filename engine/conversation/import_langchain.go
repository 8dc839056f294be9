package conversation

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/mallardmem/mallard/engine/interchange"
)

// fromLangChain gives a line our roles and, where it is a message as LangChain writes it, {"type": "human", "data": {"content": …}}, what its
// data say. The message is then kept as it was written, for not all of it has a place.
func (l *messageLine) fromLangChain(line []byte) (raw []byte, err error) {
	if l.Role != "" {
		l.Role = cmp.Or(interchange.LangChainRoles[l.Role], l.Role)
		return nil, nil
	}
	outer, err := fieldsOf(line)
	if err != nil {
		return nil, err
	}
	kind, data := stringOf(outer["type"]), fields{}
	if kind == "" || outer.first("data") == nil || json.Unmarshal(outer["data"], &data) != nil {
		return nil, nil
	}
	if kind == "chat" {
		kind = data.text("role")
	}
	l.Role = cmp.Or(interchange.LangChainRoles[kind], kind)
	l.Speaker = cmp.Or(l.Speaker, data.text("name"))
	if id := data.text("tool_call_id"); id != "" {
		l.Blocks = []Block{{Type: ToolResultBlock, CallID: id, Tool: data.text("name"), Output: plainOf(data["content"]), IsError: data.text("status") == "error"}}
		l.Speaker = ""
		return outer["data"], nil
	}
	if l.Text, l.Blocks, err = ContentOf(data["content"]); err != nil {
		return nil, err
	}
	var calls []fields
	if json.Unmarshal(data["tool_calls"], &calls) != nil || len(calls) == 0 {
		return outer["data"], nil
	}
	if len(l.Blocks) == 0 && l.Text != "" {
		l.Blocks = []Block{{Type: TextBlock, Text: l.Text}}
	}
	for _, call := range calls {
		id := call.text("id")
		if id == "" || !slices.ContainsFunc(l.Blocks, func(b Block) bool { return b.CallID == id }) { // providers put it into the content as well
			l.Blocks = append(l.Blocks, Block{Type: ToolCallBlock, CallID: id, Tool: call.text("name"), Input: plainOf(call["args"])})
		}
	}
	return outer["data"], nil
}
