package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// TestErrorsAreExplained: errors.go has every error by its own name, and says of each when it is given.
func TestErrorsAreExplained(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	explained := 0
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		explained++
		name := v.Names[0].Name
		if from, ok := v.Values[0].(*ast.SelectorExpr); !ok || from.Sel.Name != name {
			t.Errorf("%s goes by another name below", name)
		}
		if v.Doc == nil {
			t.Errorf("%s is not explained", name)
		}
		return true
	})
	if n := len(fault.Sentinels()); explained != n || n == 0 {
		t.Errorf("%d errors are explained, of %d", explained, n)
	}
}
