package door

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
)

// children gives the parts right below a part of a syntax tree.
func children(tree any) iter.Seq[any] {
	return func(yield func(any) bool) {
		switch tree := tree.(type) {
		case []any:
			for _, child := range tree {
				if !yield(child) {
					return
				}
			}
		case node:
			for _, child := range tree {
				if !yield(child) {
					return
				}
			}
		}
	}
}

func word(n node, field string) string {
	s, _ := n[field].(string)
	return s
}

func list(n node, field string) []any {
	l, _ := n[field].([]any)
	return l
}

// section names all of one section, for a message.
func section(name string) string {
	return strings.Join(slices.Sorted(maps.Keys(queryNames()[name])), ", ")
}

// constantText is the text that an expression is, if it is one.
func constantText(tree any) (string, bool) {
	n, _ := tree.(node)
	value, _ := n["value"].(node)
	s, ok := value["value"].(string)
	return s, ok && word(n, "class") == "CONSTANT"
}

// constantNumber computes an expression of whole numbers.
func constantNumber(tree any) (float64, bool) {
	n, _ := tree.(node)
	switch word(n, "class") {
	case "CONSTANT":
		value, _ := n["value"].(node)
		number, ok := value["value"].(json.Number)
		kind, _ := value["type"].(node)
		if !ok || !slices.Contains([]string{"TINYINT", "SMALLINT", "INTEGER", "BIGINT"}, word(kind, "id")) {
			return 0, false
		}
		f, err := number.Float64()
		return f, err == nil
	case "CAST":
		return constantNumber(n["child"])
	case "FUNCTION":
		args := list(n, "children")
		switch name := word(n, "function_name"); {
		case name == "trunc" && len(args) == 1: // of an interval
			return constantNumber(args[0])
		case len(args) == 1 && name == "-":
			a, ok := constantNumber(args[0])
			return -a, ok
		case len(args) == 2 && slices.Contains([]string{"+", "-", "*"}, name):
			a, first := constantNumber(args[0])
			b, second := constantNumber(args[1])
			switch name {
			case "-":
				b = -b
				fallthrough
			case "+":
				return a + b, first && second
			}
			return a * b, first && second
		}
	}
	return 0, false
}
