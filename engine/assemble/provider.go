package assemble

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
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
			all = append(all, AssembledMessage{Role: window.User, Blocks: []conversation.Block{{Type: conversation.TextBlock, Text: earlier}}})
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
	return cmp.Or(name[:min(len(name), 64)], "tool")
}

// arguments is the input of a call as a JSON object: that is all that providers take.
func arguments(input string) json.RawMessage {
	raw := []byte(strings.TrimSpace(input))
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	valid := json.Valid(raw)
	if valid {
		raw = wholeCharacters(raw)
	}
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

// jsonEscape is an escape in a JSON string; that of both halves of a character at once where there are two.
var jsonEscape = regexp.MustCompile(`\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)`)

// wholeCharacters is JSON with U+FFFD for the escapes of half a character, which providers refuse.
func wholeCharacters(raw []byte) []byte {
	return jsonEscape.ReplaceAllFunc(raw, func(escape []byte) []byte {
		if len(escape) == len(`\ud800`) && (escape[2] == 'd' || escape[2] == 'D') && escape[3] > '7' {
			return []byte(`\ufffd`)
		}
		return escape
	})
}

// output is what a result says; never nothing.
func output(b *conversation.Block) string {
	if strings.TrimSpace(b.Output) == "" {
		return noOutput
	}
	return b.Output
}

// largestImage in bytes that is shown: providers refuse one that has more than 5 MiB in base 64.
const largestImage = 5 << 20 / 4 * 3

// imageType is what an image is by its own first bytes, for one that is said to be something else is refused; empty where providers don't
// take it.
func imageType(data []byte) string {
	switch {
	case len(data) > largestImage:
		return ""
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "image/gif"
	case bytes.HasPrefix(data, []byte("RIFF")) && len(data) >= 12 && string(data[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// imageURL is where a model finds an image: within the request, or at the address that the host gave; empty where it can't be shown.
func imageURL(b *conversation.Block) string {
	if b.Type != conversation.ImageBlock {
		return ""
	}
	if kind := imageType(b.Data); kind != "" {
		return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b.Data)
	}
	if len(b.Data) == 0 && strings.HasPrefix(b.Text, "https://") {
		return b.Text
	}
	return ""
}
