package session

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mallardmem/mallard/engine/conversation"
)

// mostOutput is how large an output may be that is read from a file of its own, in bytes. Of a larger one the preview is what is kept.
const mostOutput = 64 << 20

// outputElsewhere is what the host puts in the place of an output that is too large for its transcript: where it lies, below the folder of
// a session, and a preview.
var outputElsewhere = regexp.MustCompile(`^\s*(?:<persisted-output>\s*)?[^\n]{0,200}?saved to:? (?:[^\n]*[/\\])?([^/\\\n]+)[/\\]tool-results[/\\]([^/\\\n<>]+?\.(?:txt|json))`)

// complete puts the whole output in the place of its preview. It is looked for beside the transcript only, whatever folder the line names:
// transcripts get copied, and no line may name any other file of the machine. Where it is not there, the preview stays.
func (c *claude) complete(b *conversation.Block, redact bool) {
	at := outputElsewhere.FindStringSubmatch(b.Output)
	if at == nil {
		return
	}
	folder := c.folder
	for range 4 { // a sub-agent's transcript lies below the folder of its session
		if output, ok := outputIn(folder, filepath.Join(at[1], "tool-results", at[2])); ok {
			b.Output = storable(string(output))
			if json.Valid(output) && strings.HasSuffix(at[2], ".json") { // a list of blocks
				b.Output, _ = outputOf(output)
			}
			if redact {
				b.Output = Redact(b.Output)
			}
			return
		}
		folder = filepath.Dir(folder)
	}
}

// outputIn reads a file in a folder, and none outside it.
func outputIn(folder, name string) (content []byte, ok bool) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, false
	}
	defer root.Close()
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > mostOutput {
		return nil, false
	}
	content, err = root.ReadFile(name)
	return content, err == nil && len(content) > 0
}
