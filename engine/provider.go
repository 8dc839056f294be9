package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/mallardmem/mallard/engine/window"
)

// earlier begins a conversation whose first message that is shown is not a user's.
const earlier = "[The conversation began earlier.]"

// noOutput is the result of a tool that gave nothing: providers refuse an empty one.
const noOutput = "[no output]"

// alternating joins messages of one role that follow each other, and begins with a user, for there are providers that take nothing
// else. Messages of tools stand between an assistant and what comes next.
func alternating(messages []AssembledMessage) (all []AssembledMessage) {
	for _, m := range messages {
		if len(all) == 0 && m.Role != window.User {
			all = append(all, AssembledMessage{Role: window.User, Blocks: []Block{{Type: TextBlock, Text: earlier}}})
		}
		if n := len(all); n > 0 && all[n-1].Role == m.Role {
			last := &all[n-1]
			last.Blocks = append(last.Blocks[:len(last.Blocks):len(last.Blocks)], m.Blocks...)
			continue
		}
		all = append(all, AssembledMessage{Role: m.Role, Blocks: m.Blocks})
	}
	return all
}

// callNames gives the calls of an assembled context ids that every provider takes: short, of plain letters, and never the same twice.
type callNames struct {
	used  map[string]bool
	names map[string]string // by the id as stored, of its latest call
}

func newCallNames() *callNames {
	return &callNames{used: map[string]bool{}, names: map[string]string{}}
}

var plainCallID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)

// call names a new call.
func (n *callNames) call(id string) string {
	name := id
	if !plainCallID.MatchString(name) {
		sum := sha256.Sum256([]byte(id))
		name = "call_" + hex.EncodeToString(sum[:12])
	}
	for i, base := 2, name[:min(len(name), 32)]; n.used[name]; i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	n.used[name], n.names[id] = true, name
	return name
}

// result names the call that a result answers.
func (n *callNames) result(id string) string { return n.names[id] }

var notInToolName = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// toolName is a tool's name as every provider takes it.
func toolName(name string) string {
	name = notInToolName.ReplaceAllString(name, "_")
	return or(name[:min(len(name), 64)], "tool")
}

// arguments is the input of a call as a JSON object: that is all that providers take.
func arguments(input string) json.RawMessage {
	raw := []byte(strings.TrimSpace(input))
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	valid := json.Valid(raw)
	if valid && raw[0] == '{' {
		var compact bytes.Buffer
		if json.Compact(&compact, raw) == nil {
			return compact.Bytes()
		}
	}
	var value any = input
	if valid {
		value = json.RawMessage(raw)
	}
	object, err := json.Marshal(map[string]any{"input": value})
	if err != nil { // can't be: text and valid JSON
		return json.RawMessage("{}")
	}
	return object
}

// output is what a result says; never nothing.
func output(b *Block) string {
	if strings.TrimSpace(b.Output) == "" {
		return noOutput
	}
	return b.Output
}

// imageURL is where a model finds an image: within the request, or at the address that the host gave; empty where it can't be shown.
func imageURL(b *Block) string {
	switch {
	case b.Type != ImageBlock:
		return ""
	case len(b.Data) > 0:
		return "data:" + b.MIME + ";base64," + base64.StdEncoding.EncodeToString(b.Data)
	case strings.HasPrefix(b.Text, "https://"):
		return b.Text
	}
	return ""
}
