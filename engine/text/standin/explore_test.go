package standin_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/enginetest/golden"
	"github.com/mallardmem/mallard/engine/text/internal/texttest"
	"github.com/mallardmem/mallard/engine/text/standin"
)

// TestExploreGolden holds the summaries of the files of testdata/explore to one golden file. A program in Go is kept as .go.txt.
func TestExploreGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/explore/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	var b strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".go.txt")
		if name != filepath.Base(file) {
			name += ".go"
		}
		fmt.Fprintf(&b, "=== %s\n%s\n\n", name, standin.Explore(name, "", content))
	}
	golden.Check(t, "testdata/explore.golden", b.String())
}

func TestDetectKind(t *testing.T) {
	tests := []struct {
		name, mime string
		want       standin.Kind
	}{
		{"", "", standin.KindText},
		{"a.json", "", standin.KindJSON},
		{"A.JSON", "", standin.KindJSON},
		{"a.txt", "application/json; charset=utf-8", standin.KindJSON},
		{"a", "application/ld+json", standin.KindJSON},
		{"a", "text/csv", standin.KindCSV},
		{"a", "text/tab-separated-values", standin.KindTSV},
		{"a.tsv", "application/octet-stream", standin.KindTSV},
		{"a.yml", "", standin.KindYAML},
		{"a", "application/x-yaml", standin.KindYAML},
		{"a", "image/svg+xml", standin.KindXML},
		{"a.toml", "text/plain", standin.KindStructured},
		{"a.go", "", standin.KindCode},
		{"a", "text/x-python", standin.KindCode},
		{"a", "text/javascript", standin.KindCode},
		{"a", "application/x-sh", standin.KindCode},
		{"a.go", "text/plain", standin.KindCode},
		{"go", "", standin.KindText},
		{"a.md", "text/markdown", standin.KindText},
		{"dir.go/readme", "", standin.KindText},
	}
	for _, test := range tests {
		if got := standin.DetectKind(test.name, test.mime); got != test.want {
			t.Errorf("%q, %q: %s, want %s", test.name, test.mime, got, test.want)
		}
	}
}

func TestExplore(t *testing.T) {
	long := "start " + strings.Repeat("0123456789 ", 200) + "END"
	tests := []struct{ name, file, in, want string }{
		{"scalar", "a.json", " 12 ", "JSON, number at the top.\nShape: number"},
		{"deep", "a.json", strings.Repeat("[", 5) + strings.Repeat("]", 5), "JSON, array at the top.\nShape: array(1: array(1: ...))"},
		{"empty values", "a.json", `[{}, []]`, "JSON, array at the top.\nShape: array(2: object(0 keys), array(0))"},
		{"two values", "a.json", "1 2", "JSON that can't be read.\nText, 3 characters, 2 words, 1 lines.\nBegins: 1 2"},
		{"no CSV", "a.csv", " \n", "CSV without a row."},
		{"only a header", "a.csv", "a,b", "CSV, 0 rows below the header, 2 columns.\nColumns: a, b"},
		{"no XML", "a.xml", "a < b", "XML that can't be read.\nText, 5 characters, 3 words, 1 lines.\nBegins: a < b"},
		{"nothing", "a.txt", "", "Text, 0 characters, 0 words, 0 lines."},
		{"invalid", "a.txt", "a\xff\x00b", "Text, 4 characters, 1 words, 1 lines.\nBegins: a\uFFFD\uFFFDb"},
		{"mark", "a.txt", "\uFEFFab", "Text, 2 characters, 1 words, 1 lines.\nBegins: ab"},
		{"thousands", "a.toml", strings.Repeat("é\n", 1234), "Settings, 2,468 characters in 1,235 lines."},
		{"ends", "a.txt", long, "Text, 2,209 characters, 202 words, 1 lines.\nBegins: " + long[:500] + "\nEnds: " + long[len(long)-500:]},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, standin.Explore(test.file, "", []byte(test.in))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestExploreLarge summarises 12 MB of each kind from a part of it.
func TestExploreLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("short: large files")
	}
	const size = 12 << 20
	tests := []struct{ file, begin, repeat, want string }{
		{"a.json", "[", `{"id": 1, "word": "é"}, `, "array at the top.\nShape: array("},
		{"a.json", "", `x`, "can't be read"},
		{"a.json", "", `[`, "array at the top.\nShape: array(0"},
		{"a.csv", "a,b\n", "1,22\n", "about 2,516,"},
		{"a.yaml", "top:\n", "x: 1\n", "Keys at the top: top"},
		{"a.xml", "<root>", "<a></a>", "root root.\nOther elements: a"},
		{"a.xml", "<root>", "<!--", "root root."},
		{"a.go", "", "func f(x int) {\n", "func f(x int)"},
		{"a.go", "", "a", "Code, 1 lines."},
		{"a.md", "# Title\n", "some words é\n", "about 2,69"},
		{"a.txt", "", "A", "Ends: AAA"},
	}
	for _, test := range tests {
		t.Run(test.file+" "+test.repeat, func(t *testing.T) {
			content := append([]byte(test.begin), bytes.Repeat([]byte(test.repeat), size/len(test.repeat))...)
			got := standin.Explore(test.file, "", content)
			if !strings.HasPrefix(got, "From the first 4,194,30") || !strings.Contains(got, test.want) || len(got) > 3000 {
				t.Errorf("got %.600q, want %q", got, test.want)
			}
		})
	}
}

func FuzzExplore(f *testing.F) {
	extensions := []string{"json", "csv", "tsv", "yaml", "xml", "toml", "go", "txt"}
	files, err := filepath.Glob("testdata/explore/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no files: %v", err)
	}
	for i, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), content)
	}
	f.Fuzz(func(t *testing.T, kind uint8, content []byte) {
		got := standin.Explore("a."+extensions[int(kind)%len(extensions)], "", content)
		if got == "" || !utf8.ValidString(got) || strings.ContainsRune(got, 0) || len(got) > 64<<10 {
			t.Errorf("got %q", got)
		}
	})
}

func FuzzReference(f *testing.F) {
	for _, s := range texttest.Seeds {
		f.Add(s)
	}
	f.Add(strings.Repeat("aB3/", 64) + "=\nMEDIA:/x\ndata:a/b,c")
	f.Fuzz(func(t *testing.T, s string) {
		once := standin.StripMedia(s)
		if twice := standin.StripMedia(once); twice != once {
			t.Errorf("%q stripped is %q, then %q", s, once, twice)
		}
		reference := standin.FileReference(fileID, s, s, int64(len(s)), s)
		if ids := standin.ParseFileIDs(reference); len(ids) == 0 || ids[0] != fileID {
			t.Errorf("%q has ids %q", reference, ids)
		}
		if header, _, _ := strings.Cut(reference, "\n"); !strings.HasPrefix(standin.IndexedText(reference), header) {
			t.Errorf("%q is indexed as %q", reference, standin.IndexedText(reference))
		}
		standin.IndexedText(standin.ToolReference(s, s, 1, s, s))
	})
}

func BenchmarkExplore(b *testing.B) {
	for _, name := range []string{"a.json", "a.csv", "a.xml", "a.go", "a.txt"} {
		b.Run(name, func(b *testing.B) {
			content := bytes.Repeat([]byte("[1, {\"a\": \"b\"}]\n<a href=\"x\">some words of text</a>\nfunc f() {\n"), 16<<10)
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				standin.Explore(name, "", content)
			}
		})
	}
}
