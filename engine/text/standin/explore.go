package standin

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// Kind is what a file is, as far as its exploration summary goes.
type Kind string

const (
	KindJSON       Kind = "JSON"
	KindCSV        Kind = "CSV"
	KindTSV        Kind = "TSV"
	KindYAML       Kind = "YAML"
	KindXML        Kind = "XML"
	KindStructured Kind = "structured" // settings in some other format
	KindCode       Kind = "code"
	KindText       Kind = "text"
)

// DetectKind returns the kind of a file by its media type or, if that says nothing, by the extension of its name. Parameters of the type
// and the case of both are ignored, and what neither names is text.
func DetectKind(name, mime string) Kind {
	mime, _, _ = strings.Cut(strings.ToLower(mime), ";")
	mime = strings.TrimSpace(mime)
	subtype := mime[strings.LastIndexByte(mime, '/')+1:]
	switch {
	case subtype == "json" || strings.HasSuffix(subtype, "+json"):
		return KindJSON
	case subtype == "csv":
		return KindCSV
	case subtype == "tab-separated-values" || subtype == "tsv":
		return KindTSV
	case strings.Contains(subtype, "yaml"):
		return KindYAML
	case subtype == "xml" || strings.HasSuffix(subtype, "+xml"):
		return KindXML
	case subtype == "toml":
		return KindStructured
	case strings.HasPrefix(mime, "text/x-") || strings.HasPrefix(mime, "application/x-"):
		if kind, ok := extensionKinds[codeNames[strings.TrimPrefix(subtype, "x-")]]; ok {
			return kind
		}
	case codeNames[subtype] != "":
		return KindCode
	}
	if kind, ok := extensionKinds[strings.TrimPrefix(path.Ext(strings.ToLower(name)), ".")]; ok {
		return kind
	}
	return KindText
}

// codeNames has the names of languages in media types with an extension of theirs.
var codeNames = map[string]string{
	"c": "c", "csrc": "c", "c++": "cpp", "c++src": "cpp", "csharp": "cs", "go": "go", "java": "java", "java-source": "java", "javascript": "js",
	"ecmascript": "js", "kotlin": "kt", "php": "php", "httpd-php": "php", "python": "py", "script.python": "py", "ruby": "rb", "rust": "rs",
	"scala": "scala", "sh": "sh", "shellscript": "sh", "sql": "sql", "swift": "swift", "typescript": "ts",
}

var extensionKinds = func() map[string]Kind {
	kinds := map[string]Kind{}
	for kind, extensions := range map[Kind]string{
		KindJSON:       "json",
		KindCSV:        "csv",
		KindTSV:        "tsv tab",
		KindYAML:       "yaml yml",
		KindXML:        "xml xsd xsl svg",
		KindStructured: "toml ini cfg conf properties env",
		KindCode:       "c cc cpp cs go h hpp java js jsx kt m php py rb rs scala sh sql swift ts tsx",
	} {
		for _, extension := range strings.Fields(extensions) {
			kinds[extension] = kind
		}
	}
	return kinds
}()

// sampleBytes is the most of a file that is read closely.
const sampleBytes = 4 << 20

// Explore returns a summary of what a file holds, a few lines to decide by whether to read it. What its kind can't be read as is
// summarised as text, after a line that says so. Of a file above 4 MB only the beginning and, of a text, the end are read; the summary
// then says from how much it is, and counts are estimates with "about" before them.
//
//   - JSON: the type at the top and its shape, two levels deep: an array's length and first three elements, an object's number of keys
//     and first ten.
//   - CSV, TSV: the number of rows below the first, the columns named in it, and the second row.
//   - YAML: up to 30 keys at the top that begin a block.
//   - XML: the root and up to 30 other names of elements.
//   - Other settings: characters and lines.
//   - Code: lines, up to 12 imports and 24 definitions.
//   - Text: characters, words and lines, up to 18 headings, the first and the last 500 characters.
func Explore(name, mime string, content []byte) string {
	kind := DetectKind(name, mime)
	d := newDigest(content)
	switch kind {
	case KindJSON:
		d.json()
	case KindCSV:
		d.table(kind, ",")
	case KindTSV:
		d.table(kind, "\t")
	case KindYAML:
		d.yaml()
	case KindXML:
		d.xml()
	case KindStructured:
		d.line("Settings, %s characters in %s lines.", d.characters(), d.lines())
	case KindCode:
		d.code()
	default:
		d.prose()
	}
	return strings.Join(d.out, "\n")
}

// digest is the making of one exploration summary.
type digest struct {
	content []byte
	sample  string // the beginning, valid UTF-8
	partial bool   // there is more
	out     []string
}

func newDigest(content []byte) *digest {
	sample := content[:min(len(content), sampleBytes)]
	for n := 0; n < utf8.UTFMax && len(sample) < len(content) && len(sample) > 0 && !utf8.RuneStart(content[len(sample)]); n++ {
		sample = sample[:len(sample)-1]
	}
	d := &digest{content: content, sample: char.Clean(strings.TrimPrefix(string(sample), "\uFEFF"))}
	d.partial = len(sample) < len(content)
	if d.partial {
		d.line("From the first %s of %s bytes.", thousands(len(sample)), thousands(len(content)))
	}
	return d
}

func (d *digest) line(format string, args ...any) {
	d.out = append(d.out, fmt.Sprintf(format, args...))
}

// characters prints how many characters the file has.
func (d *digest) characters() string {
	return d.count(utf8.RuneCountInString(d.sample))
}

// lines prints how many lines the file has. An empty file has none, and a line break at the end begins another.
func (d *digest) lines() string {
	if len(d.content) == 0 {
		return "0"
	}
	return thousands(bytes.Count(d.content, []byte{'\n'}) + 1)
}

// count prints a count in the sample, scaled up to the file.
func (d *digest) count(n int) string {
	if !d.partial {
		return thousands(n)
	}
	return "about " + thousands(int64(float64(n)*float64(len(d.content))/float64(len(d.sample))))
}

// list adds a line with a title and items, unless there are none.
func (d *digest) list(title, separator string, items []string) {
	if len(items) > 0 {
		d.out = append(d.out, title+strings.Join(items, separator))
	}
}

// collect appends an item to a list without repeating it, and returns false when there are limit of them.
func collect(items *[]string, seen map[string]bool, item string, limit int) bool {
	if item != "" && !seen[item] && len(*items) < limit {
		seen[item] = true
		*items = append(*items, item)
	}
	return len(*items) < limit
}

// oneLine returns the first most characters of s as one line.
func oneLine(s string, most int) string {
	if len(s) > 8*most {
		s = s[:8*most]
	}
	return strings.TrimSpace(char.First(strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " "), most))
}
