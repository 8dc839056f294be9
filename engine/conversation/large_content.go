package conversation

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"regexp"
	"strings"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/text/standin"
)

// keepLarge moves contents that are too large for a context out of a message, or of its newest blocks, and leaves references with a summary
// in their place: files in what a user says, the results of tools, texts beside which there is no tool, and whatever is no text. It may
// take long, and needs no lock.
func (cs *Store) keepLarge(ctx context.Context, x *intake, blocks []Block) {
	m := x.message
	whole := textOnly(m.Blocks)
	if len(m.Blocks) == 0 {
		m.Text, _ = cs.keepText(ctx, x, m.Text, &m.Raw)
	}
	for i := range blocks {
		b := &blocks[i]
		switch {
		case len(b.Data) > 0:
			cs.keepFile(ctx, x, b, b.Data)
		case b.Type == FileBlock && cs.outsized(b.Text):
			cs.keepFile(ctx, x, b, []byte(b.Text))
		case b.Type == ToolResultBlock && cs.outsized(b.Output):
			if tool := cmp.Or(b.Tool, x.tools[b.CallID]); !readsBack(tool) {
				b.Output, b.FileID = cs.keepResult(ctx, x, b.Output, tool)
			}
		case b.Said() != "" && (whole || m.Role != "assistant"):
			b.Text, b.FileID = cs.keepText(ctx, x, b.Text, &b.Raw)
		}
	}
	if said := saidIn(m.Blocks); said != "" {
		m.Text = said
	}
}

// outsized reports whether a text is too large for a context.
func (cs *Store) outsized(s string) bool {
	return cs.estimator.Tokens(s) >= cs.opts.Conversation.LargeFileTokens
}

// textOnly reports whether blocks have neither tools nor thoughts among them.
func textOnly(blocks []Block) bool {
	for i := range blocks {
		if kind := blocks[i].kind(); kind == "tool" || kind == "reasoning" {
			return false
		}
	}
	return true
}

// readsBack reports whether a tool gives back what was put apart: its results stay, or they could never be read.
func readsBack(tool string) bool {
	tool = strings.ToLower(tool)
	return strings.HasSuffix(tool, "describe") || strings.HasSuffix(tool, "expand")
}

// fileTag is a file in what a user says, with its attributes; of them fileAttribute finds those that matter.
var (
	fileTag       = regexp.MustCompile(`(?is)<file\b((?:[^>"']|"[^"]*"|'[^']*')*)>(.*?)</file>`)
	fileAttribute = regexp.MustCompile(`(?is)(?:^|\s)(name|mime)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
)

// keepText moves a text that is too large: of a user's, the files in it, or all of it where that does not help; of a tool's, which some hosts
// give as plain text, a tool's result. raw is where what the host wrote is kept: the tags of a file say more than its reference.
func (cs *Store) keepText(ctx context.Context, x *intake, s string, raw *[]byte) (shown, id string) {
	if !cs.outsized(s) {
		return s, ""
	}
	switch x.message.Role {
	case "tool":
		return cs.keepResult(ctx, x, s, "")
	case "user":
		if !cs.outsized(cs.aroundFiles(s)) {
			if *raw == nil {
				*raw = []byte(s)
			}
			return cs.keepFiles(ctx, x, s), ""
		}
	}
	f := cs.keepContent(ctx, x, "message.txt", "text/plain", []byte(s))
	return standin.FileReference(f.ID, f.Name, f.MIME, f.Bytes, f.Summary), f.ID
}

// aroundFiles is what a user said beside the large files.
func (cs *Store) aroundFiles(s string) string {
	return fileTag.ReplaceAllStringFunc(s, func(file string) string {
		if cs.outsized(fileTag.FindStringSubmatch(file)[2]) {
			return ""
		}
		return file
	})
}

// keepFiles moves the large files out of a user's text.
func (cs *Store) keepFiles(ctx context.Context, x *intake, s string) string {
	return fileTag.ReplaceAllStringFunc(s, func(file string) string {
		found := fileTag.FindStringSubmatch(file)
		if !cs.outsized(found[2]) {
			return file
		}
		var name, kind string
		for _, attribute := range fileAttribute.FindAllStringSubmatch(found[1], -1) {
			value := attribute[2] + attribute[3] + attribute[4]
			if strings.EqualFold(attribute[1], "name") {
				name = value
			} else {
				kind = value
			}
		}
		f := cs.keepContent(ctx, x, name, kind, []byte(found[2]))
		return standin.FileReference(f.ID, f.Name, f.MIME, f.Bytes, f.Summary)
	})
}

// keepResult moves the result of a tool.
func (cs *Store) keepResult(ctx context.Context, x *intake, s, tool string) (reference, id string) {
	f := cs.keepContent(ctx, x, cmp.Or(tool, "tool")+".txt", "text/plain", []byte(s))
	return standin.ToolReference(f.ID, tool, f.Bytes, f.Summary, "Read it with describe "+f.ID+"."), f.ID
}

// toolsOf gives the tools of calls by their ids, for results that are too large and do not say whose they are: of the messages themselves, else of the
// conversation before them.
func (cs *Store) toolsOf(ctx context.Context, of Reference, messages []*Message) (map[string]string, error) {
	tools := map[string]string{}
	var unknown []string
	for _, m := range messages {
		for i := range m.Blocks {
			switch b := &m.Blocks[i]; {
			case b.CallID == "":
			case b.Type == ToolCallBlock:
				tools[b.CallID] = b.Tool
			case b.Type == ToolResultBlock && b.Tool == "" && tools[b.CallID] == "" && cs.outsized(b.Output):
				unknown = append(unknown, b.CallID)
			}
		}
	}
	if len(unknown) == 0 {
		return tools, nil
	}
	err := cs.file.Read(ctx, "tools", func(c *duck.Conn) error {
		v, err := ResolveConversation(ctx, c, of)
		if err != nil || v == nil {
			return err
		}
		return c.Each(ctx, "tools_called", func(rows *sql.Rows) error {
			var call, tool string
			err := rows.Scan(&call, &tool)
			tools[call] = tool
			return err
		}, sql.Named("conversation_id", v.ID), sql.Named("calls", unknown))
	})
	return tools, err
}

// keepFile moves a file.
func (cs *Store) keepFile(ctx context.Context, x *intake, b *Block, content []byte) {
	f := cs.keepContent(ctx, x, b.FileName, b.MIME, content)
	b.Data, b.FileID = nil, f.ID
	b.Text = standin.FileReference(f.ID, f.Name, f.MIME, f.Bytes, f.Summary)
}

// keepContent makes a content a large file of a message.
func (cs *Store) keepContent(ctx context.Context, x *intake, name, kind string, content []byte) *LargeFile {
	lines := int64(bytes.Count(content, []byte{'\n'}))
	if content[len(content)-1] != '\n' {
		lines++
	}
	at := cs.file.Now()
	id, err := cs.file.NewID(ids.File, at)
	if err != nil && x.err == nil {
		x.err = err
	}
	f := &LargeFile{ID: id, Name: name, MIME: kind, Bytes: int64(len(content)), Lines: lines,
		SHA256: x.payloads.Add(content), Summary: cs.explore(ctx, name, kind, content), CreatedAt: at}
	x.files = append(x.files, f)
	return f
}
