package session

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
)

func (c *codex) messages(_ *Transcript, e *entry, raw []byte) ([]conversation.Message, error) {
	l, item, _, err := c.of(raw)
	if err != nil {
		return nil, err
	}
	switch {
	case l.Type == "response_item":
		m, _ := item.message()
		return []conversation.Message{m}, nil
	case e.kind == message && item.Type == "user_message":
		return []conversation.Message{{Role: "user", Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: jsonText(item.Message)}}}}, nil
	case e.kind == message:
		return []conversation.Message{{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: jsonText(item.Message)}}}}, nil
	case l.Type == "compacted":
		return []conversation.Message{eventOf("system", "compaction", jsonText(item.Message))}, nil
	}
	return []conversation.Message{eventOf("system", strings.TrimSuffix(string(l.Type)+":"+string(item.Type), ":"), "")}, nil
}

func (c *codex) summary(_ *entry, raw []byte) string {
	_, item, _, err := c.of(raw)
	if err != nil {
		return ""
	}
	return c.compacted(item)
}

// message gives an item as a message, and whose it is.
func (item *codexItem) message() (m conversation.Message, role string) {
	id := string(or(item.CallID, item.ID))
	call := func(tool string, input json.RawMessage) (conversation.Message, string) {
		return conversation.Message{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, CallID: id, Tool: tool, Input: jsonText(input)}}}, "assistant"
	}
	switch item.Type {
	case "message":
		return item.talk()
	case "reasoning":
		return conversation.Message{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ThinkingBlock, Text: item.reasoning()}}}, "assistant"
	case "function_call":
		return call(string(item.Name), item.Arguments)
	case "custom_tool_call":
		return call(string(item.Name), item.Input)
	case "local_shell_call":
		return call("local_shell", item.Action)
	case "web_search_call":
		return call("web_search", item.Action)
	case "tool_search_call":
		return call("tool_search", item.Arguments)
	case "image_generation_call":
		return conversation.Message{Role: "assistant", Blocks: []conversation.Block{{Type: "image_generation_call", Text: jsonText(item.Result)}}}, "assistant"
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		output, failed, files := item.output()
		return result(id, "", output, failed, files), "tool"
	case "tool_search_output":
		return result(id, "tool_search", jsonText(item.Tools), false, nil), "tool"
	}
	return eventOf("system", string(item.Type), ""), ""
}

// talk gives an item in which somebody says something.
func (item *codexItem) talk() (conversation.Message, string) {
	role := string(item.Role)
	switch role {
	case "developer":
		role = "system"
	case "user", "assistant", "system":
	default:
		return eventOf("system", "message:"+role, ""), ""
	}
	var blocks []conversation.Block
	injected := ""
	for _, b := range blocksOf(item.Content) {
		if role == "user" && b.Type == conversation.TextBlock && codexInjected(b.Text) {
			injected = b.Text
			continue
		}
		blocks = append(blocks, b)
	}
	switch {
	case len(blocks) > 0:
		return conversation.Message{Role: role, Blocks: blocks}, role
	case injected != "":
		return eventOf(role, "injected", injected), role
	}
	return eventOf(role, "empty", ""), role
}

// says is who says what in an item, to compare it with others.
func (item *codexItem) says() string {
	m, role := item.message()
	lines := []string{role}
	for _, b := range m.Blocks {
		lines = append(lines, or(b.Text, b.CallID+b.Tool+b.Input+b.Output))
	}
	return strings.Join(lines, "\n")
}

// reasoning is what the host shows of it.
func (item *codexItem) reasoning() string {
	var lines []string
	for _, content := range []json.RawMessage{item.Summary, item.Content} {
		for _, b := range blocksOf(content) {
			if b.Text != "" {
				lines = append(lines, b.Text)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// output is what a tool said. Some say it in JSON within the text, with the exit code of a program.
func (item *codexItem) output() (said string, failed bool, files []conversation.Block) {
	var old struct {
		Content text  `json:"content"`
		Success *bool `json:"success"`
	}
	if isObject(item.Output) && decode(item.Output, &old) == nil && old.Success != nil {
		return string(old.Content), !*old.Success, nil
	}
	said, files = outputOf(item.Output)
	var program struct {
		Output   *text `json:"output"`
		Metadata struct {
			ExitCode *int `json:"exit_code"`
		} `json:"metadata"`
	}
	if isObject([]byte(said)) && json.Unmarshal([]byte(said), &program) == nil && program.Output != nil && program.Metadata.ExitCode != nil {
		return string(*program.Output), *program.Metadata.ExitCode != 0, files
	}
	return said, false, files
}

var codexHead = regexp.MustCompile(`^\s*(?:<environment_context>|<user_instructions>|# AGENTS\.md instructions|<turn_aborted>|<INSTRUCTIONS>)`)

// codexInjected reports whether the host said this in the user's name.
func codexInjected(said string) bool { return codexHead.MatchString(said) }

// firstLine is a title made of what was said first.
func firstLine(said string) string {
	const most = 80
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	if runes := []rune(line); len(runes) > most {
		return strings.TrimSpace(string(runes[:most])) + "…"
	}
	return line
}

// stem is the name of a file without its folder and ending.
func stem(path string) string {
	return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
}

func lastMatch(pattern *regexp.Regexp, s string) string {
	all := pattern.FindAllString(s, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}
