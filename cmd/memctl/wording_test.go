package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWorded: what the engine's errors call by its name in Go has another name on the command line. What only a program can set has none.
func TestWorded(t *testing.T) {
	goName := regexp.MustCompile(`\bOptions\.[A-Z]\w*`)
	forPrograms := map[string]bool{"Options.NewID": true, "Options.Now": true}
	var paths []string
	for _, folder := range []string{"*", filepath.Join("*", "*"), filepath.Join("internal", "*", "*")} {
		found, err := filepath.Glob(filepath.Join("..", "..", "engine", folder+".go"))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	seen := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if !ok || text.Kind != token.STRING || !goName.MatchString(text.Value) {
				return true
			}
			seen++
			if left := goName.FindString(worded(errors.New(text.Value))); left != "" && !forPrograms[left] {
				t.Errorf("%s: %s has no word for the command line: %s", path, left, text.Value)
			}
			return true
		})
	}
	if seen < 5 {
		t.Errorf("saw %d names of Go in the engine's errors: the test does not find them", seen)
	}
}
