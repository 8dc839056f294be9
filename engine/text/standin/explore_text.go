package standin

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

const (
	maxImports      = 12
	maxDefinitions  = 24
	definitionWidth = 200 // characters
	maxHeadings     = 18
	headingWidth    = 160
	excerptWidth    = 500
	maxCodeLine     = 1000 // bytes looked at
)

var (
	importLine = regexp.MustCompile(`^\s*(?:import\b|from\s+\S+\s+import\b|(?:const|let|var)\s+[^=]+=\s*require\s*\(|#\s*include\b|using\s+[\w.:]+\s*;|use\s+[\w:\\{]|require(?:_once|_relative)?[ (]['"])`)
	goImport   = regexp.MustCompile(`^(?:[\w.]+\s+)?"[^"]+"\s*(?://.*)?$`)
	definition = regexp.MustCompile(`^\s*(?:(?:export|default|declare|public|private|protected|internal|static|abstract|final|override|async|unsafe|pub(?:\([a-z]+\))?)\s+)*` +
		`(?:(?:function\b|class|interface|type|enum|struct|trait|union|protocol|extension|object|module|namespace|def|fn|func|fun|impl)\b\s*[*(<]?\s*[\pL_~]` +
		`|(?:const|let|var)\s+\w+\s*(?::[^=]+)?=\s*(?:async\s*)?(?:\([^)]*\)|\w+)\s*=>|const\s+\w+\s*=\s*(?:async\s*)?\(` +
		`|(?i:create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+)?(?:table|view|index|unique\s+index|function|procedure|trigger|macro|type|schema)\b))`)
)

// code adds the imports and definitions of a program.
func (d *digest) code() {
	var imports, definitions []string
	seenImports, seenDefinitions := map[string]bool{}, map[string]bool{}
	inBlock, more, moreImports := false, true, true
	for line := range strings.Lines(d.sample) {
		if len(line) > maxCodeLine {
			line = line[:maxCodeLine]
		}
		trimmed := strings.TrimSpace(line)
		switch {
		case inBlock && strings.HasPrefix(trimmed, ")"):
			inBlock = false
		case strings.HasPrefix(trimmed, "import ("):
			inBlock = true
		case inBlock && goImport.MatchString(trimmed) || importLine.MatchString(line):
			moreImports = collect(&imports, seenImports, oneLine(line, rowWidth), maxImports)
		case definition.MatchString(line):
			more = collect(&definitions, seenDefinitions, strings.TrimRight(oneLine(line, definitionWidth), " {"), maxDefinitions)
		}
		if !more && !moreImports {
			break
		}
	}
	d.line("Code, %s lines.", d.lines())
	d.list("Imports:\n  ", "\n  ", imports)
	d.list("Definitions:\n  ", "\n  ", definitions)
}

// prose adds the facts of a text.
func (d *digest) prose() {
	words, inWord := 0, false
	for _, r := range d.sample {
		space := unicode.IsSpace(r)
		if !space && !inWord {
			words++
		}
		inWord = !space
	}
	d.line("Text, %s characters, %s words, %s lines.", d.characters(), d.count(words), d.lines())
	d.list("Headings: ", "; ", Headings(d.sample))
	end := d.sample
	if d.partial {
		end = char.Clean(string(d.content[len(d.content)-8*excerptWidth:]))
	}
	if first := oneLine(d.sample, excerptWidth); first != "" {
		d.line("Begins: %s", first)
		if last := lastLine(end, excerptWidth); d.partial || last != first {
			d.line("Ends: %s", last)
		}
	}
}

// Headings returns the first 18 headings of a text, each once: Markdown headings, and lines in capitals.
func Headings(s string) []string {
	var headings []string
	seen := map[string]bool{}
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); isHeading(line) && !collect(&headings, seen, oneLine(strings.Trim(line, "# "), headingWidth), maxHeadings) {
			break
		}
	}
	return headings
}

// isHeading reports a Markdown heading, or a line of seven or more capitals, digits, spaces and : _ - with a letter among them.
func isHeading(line string) bool {
	if marks := len(line) - len(strings.TrimLeft(line, "#")); marks > 0 {
		return marks <= 6 && strings.HasPrefix(line[marks:], " ")
	}
	letters := 0
	for _, r := range line {
		switch {
		case unicode.IsUpper(r):
			letters++
		case !unicode.IsDigit(r) && r != ' ' && r != ':' && r != '_' && r != '-':
			return false
		}
	}
	return letters > 0 && utf8.RuneCountInString(line) >= 7
}

// lastLine returns the last most characters of s as one line.
func lastLine(s string, most int) string {
	if len(s) > 8*most {
		s = strings.ToValidUTF8(s[len(s)-8*most:], "")
	}
	s = strings.Join(strings.Fields(s), " ")
	if over := utf8.RuneCountInString(s) - most; over > 0 {
		s = s[len(char.First(s, over)):]
	}
	return strings.TrimSpace(s)
}
