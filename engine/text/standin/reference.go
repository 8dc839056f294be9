package standin

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// How references to large payloads begin, and the line above their summary. A transcript made elsewhere may have them too.
const (
	fileHeader    = "[LCM File: "
	toolHeader    = "[LCM Tool Output: "
	summaryHeader = "Exploration Summary:"
)

// FileReference returns what stands in a message for a file that is stored apart: a header with id, name, media type and size in bytes,
// and the exploration summary. A name or type that is empty reads unknown.
func FileReference(id, name, mime string, bytes int64, summary string) string {
	return fmt.Sprintf("%s%s | %s | %s | %s bytes]\n\n%s\n%s",
		fileHeader, id, headerField(name), headerField(mime), thousands(bytes), summaryHeader, strings.TrimSpace(summary))
}

// ToolReference returns what stands in a message for the output of a tool that is stored apart. The hint is a last line that says how
// to read it; there is none if it is empty.
func ToolReference(id, tool string, bytes int64, summary, hint string) string {
	s := fmt.Sprintf("%s%s | tool=%s | %s bytes]\n\n%s\n%s",
		toolHeader, id, headerField(tool), thousands(bytes), summaryHeader, strings.TrimSpace(summary))
	if hint = headerField(hint); hint != "unknown" {
		s += "\n\n" + hint
	}
	return s
}

// headerField returns a name as one line that can't close its header.
func headerField(s string) string {
	s = strings.Join(strings.Fields(strings.NewReplacer("[", "(", "]", ")", "|", "/").Replace(char.Clean(s))), " ")
	if s == "" {
		return "unknown"
	}
	return s
}

// IndexedText returns what of a message is indexed and searched: of a reference, its header and the lines of its summary without
// their title and the hint; any other text whole.
func IndexedText(s string) string {
	if !strings.HasPrefix(s, fileHeader) && !strings.HasPrefix(s, toolHeader) {
		return s
	}
	header, rest, _ := strings.Cut(s, "\n")
	before, summary, ok := strings.Cut("\n"+rest, "\n"+summaryHeader+"\n")
	if !ok || strings.TrimSpace(before) != "" {
		return s
	}
	if at := strings.LastIndex(summary, "\n\n"); at >= 0 && strings.HasPrefix(s, toolHeader) && !strings.Contains(summary[at+2:], "\n") {
		summary = summary[:at]
	}
	return header + "\n" + strings.TrimSpace(summary)
}

// ParseFileIDs returns the ids of files that s names, in lower case, each once, in order of first use. An id is file_ and 26 characters
// of Crockford's base32 or 16 hexadecimal digits, as a word of its own.
func ParseFileIDs(s string) []string {
	const prefix = "file_"
	var ids []string
	seen := map[string]bool{}
	for i := 0; i < len(s); {
		at := strings.IndexByte(s[i:], '_')
		if at < 0 {
			break
		}
		i += at + 1
		start := i - len(prefix)
		if start < 0 || !strings.EqualFold(s[start:i], prefix) || start > 0 && isIDByte(s[start-1]) {
			continue
		}
		end := i
		for end < len(s) && isIDByte(s[end]) {
			end++
		}
		if id := strings.ToLower(s[start:end]); isFileBody(id[len(prefix):]) && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

func isIDByte(c byte) bool {
	return char.InASCIIWord(c) || c == '_'
}

func isFileBody(s string) bool {
	switch len(s) {
	case 16:
		return strings.Trim(s, "0123456789abcdef") == ""
	case 26:
		return strings.Trim(s, "0123456789abcdefghjkmnpqrstvwxyz") == ""
	}
	return false
}

// thousands prints a number with a comma before every third digit from the right.
func thousands[T int | int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	for at := len(s) - 3; at > 0 && s[at-1] != '-'; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}
