package text_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine/enginetest/golden"
)

// TestParagraphs holds the terms of a paragraph in each of some languages to a golden file. A file of testdata/paragraphs is named for
// its language.
func TestParagraphs(t *testing.T) {
	files, err := filepath.Glob("testdata/paragraphs/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no paragraphs: %v", err)
	}
	for _, file := range files {
		language := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(language, func(t *testing.T) {
			s, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a := analyzer(t, strings.TrimSuffix(language, "-unspaced"))
			var b strings.Builder
			for _, token := range a.Tokens(string(s)) {
				mark := ""
				if a.IsStop(token.Surface) {
					mark = " stop"
				}
				fmt.Fprintf(&b, "%d-%d %s %s%s\n", token.Start, token.End, token.Surface, token.Term, mark)
			}
			golden.Check(t, strings.TrimSuffix(file, ".txt")+".golden", b.String())
		})
	}
}
