package conversation

import (
	"cmp"
	"database/sql"
	"database/sql/driver"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/payload"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/standin"
)

// BlockType says what a block of a message is. Hosts have more of them than are named here; any word will do.
type BlockType string

// The block types that mean something to the engine.
const (
	TextBlock       BlockType = "text"
	ThinkingBlock   BlockType = "thinking"    // kept, but neither counted nor indexed nor shown to a model
	ToolCallBlock   BlockType = "tool_call"   // CallID, Tool and Input
	ToolResultBlock BlockType = "tool_result" // CallID, Tool, Output and IsError
	FileBlock       BlockType = "file"        // FileName, MIME, and either Data or Text
	ImageBlock      BlockType = "image"       // FileName, MIME, and Data or, where it lies elsewhere, its address as Text
)

// partKinds is the class of a block type in the table parts; any other type is of the class agent.
var partKinds = map[BlockType]string{
	TextBlock: "text", ThinkingBlock: "reasoning", "reasoning": "reasoning", "redacted_thinking": "reasoning", ToolCallBlock: "tool", ToolResultBlock: "tool",
	FileBlock: "file", ImageBlock: "file", "patch": "patch", "subtask": "subtask", "compaction": "compaction",
	"step_start": "step_start", "step_finish": "step_finish", "snapshot": "snapshot", "retry": "retry",
}

// Block is a part of a message.
type Block struct {
	Type     BlockType `json:"type"`
	Text     string    `json:"text,omitempty"`
	CallID   string    `json:"call_id,omitempty"` // joins a tool's call and its result
	Tool     string    `json:"tool,omitempty"`    // its name
	Input    string    `json:"input,omitempty"`   // of a call: its arguments, in JSON as a rule
	Output   string    `json:"output,omitempty"`  // of a result
	IsError  bool      `json:"is_error,omitempty"`
	FileName string    `json:"file_name,omitempty"`
	MIME     string    `json:"mime,omitempty"`
	Data     []byte    `json:"data,omitempty"`    // the file itself; it is kept as a large file and read back with ReadLargeFile
	FileID   string    `json:"file_id,omitempty"` // of the large file that Data or an outsized text went to; given by the engine
	Key      string    `json:"key,omitempty"`     // the host's id of the block
	// Raw is what the host wrote, byte for byte. Empty: the fields above say everything.
	Raw []byte `json:"raw,omitempty"`
}

// imageTokens is what an image costs in a context, about.
const imageTokens = 1600

// kind is the class of the block in the table parts.
func (b *Block) kind() string { return cmp.Or(partKinds[b.Type], "agent") }

// Said is what the block adds to the text of its message: its own, unless it is a thought, a tool or a file.
func (b *Block) Said() string {
	if kind := b.kind(); kind == "reasoning" || kind == "tool" || kind == "file" || strings.TrimSpace(b.Text) == "" {
		return ""
	}
	return b.Text
}

// Tokens is what the block costs in a context, beside what it said.
func (b *Block) Tokens(estimator text.Estimator) int {
	switch b.Type {
	case ToolCallBlock:
		return estimator.Tokens(b.Tool + b.Input)
	case ToolResultBlock:
		return estimator.Tokens(b.Output)
	case ImageBlock:
		return imageTokens
	case FileBlock:
		return estimator.Tokens(b.Text)
	}
	return 0
}

// Texts are those of the block that the index and Grep look through beside the message's own.
func (b *Block) Texts() (all []string) {
	switch b.Type {
	case ToolCallBlock:
		all = []string{b.Tool, b.Input}
	case ToolResultBlock:
		all = []string{standin.IndexedText(b.Output)}
	case FileBlock, ImageBlock:
		all = []string{b.FileName, standin.IndexedText(b.Text)}
	}
	return slices.DeleteFunc(all, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// searchable is these texts as one.
func (b *Block) searchable() string { return strings.Join(b.Texts(), " ") }

// Clean makes every text of the block one that the file can hold; those that this changes are kept in Raw, a line for each.
func (b *Block) Clean() {
	var changed []string
	for _, s := range []*string{&b.Text, &b.Input, &b.Output, &b.Tool, &b.CallID, &b.FileName, &b.MIME} {
		if plain := CleanText(*s); plain != *s {
			changed = append(changed, *s)
			*s = plain
		}
	}
	if b.Raw == nil && changed != nil {
		b.Raw = []byte(strings.Join(changed, "\n"))
	}
}

// CleanText is s without what the file can't hold: bytes that are no UTF-8, and NUL.
func CleanText(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// validate says which field can't be stored.
func (b *Block) validate() error {
	if strings.TrimSpace(string(b.Type)) == "" {
		return fault.Invalid("type", string(b.Type), "text, thinking, tool_call, tool_result, file, image, or the host's own word")
	}
	if len(b.Data) > 0 && b.Text != "" {
		return fault.Invalid("text", b.Text, "none beside data, in whose place a reference comes")
	}
	return cmp.Or(fault.CheckText("type", string(b.Type)), fault.CheckText("key", b.Key))
}

// plain reports whether the blocks of a message say nothing that its text does not.
func (m *Message) plain() bool {
	if len(m.Blocks) != 1 {
		return len(m.Blocks) == 0
	}
	return reflect.DeepEqual(m.Blocks[0], Block{Type: TextBlock, Text: m.Text})
}

// partRow gives a block as the columns of the table parts, in their order.
func (b *Block) partRow(m *Message, ordinal int, raw payload.Raw) []driver.Value {
	return []driver.Value{m.ID, m.ConversationID, int32(m.Seq), int32(ordinal), b.kind(), string(b.Type), duck.NullText(b.Text), duck.NullText(b.CallID), duck.NullText(b.Tool),
		duck.NullTextUnless(b.Input, b.Type == ToolCallBlock), duck.NullTextUnless(b.Output, b.Type == ToolResultBlock), b.IsError,
		duck.NullText(b.FileName), duck.NullText(b.MIME), duck.NullText(b.FileID), duck.NullText(b.Key), duck.NullBytes(raw.Inline), duck.NullText(raw.SHA256)}
}

// ScanPart reads a row of the query part_list: the id of the message, the block, and the hash of its Raw where that is in payloads.
func ScanPart(rows *sql.Rows) (messageID string, b Block, rawSHA256 string, err error) {
	err = rows.Scan(&messageID, &b.Type, duck.TextOf(&b.Text), duck.TextOf(&b.CallID), duck.TextOf(&b.Tool), duck.TextOf(&b.Input), duck.TextOf(&b.Output), &b.IsError,
		duck.TextOf(&b.FileName), duck.TextOf(&b.MIME), duck.TextOf(&b.FileID), duck.TextOf(&b.Key), &b.Raw, duck.TextOf(&rawSHA256))
	return messageID, b, rawSHA256, err
}
