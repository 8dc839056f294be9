package door

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Limits of what a statement grows into. DuckDB's binder repeats what a column's other name stands for wherever that is used, and a macro's arguments, so
// that three hundred characters can take hours to plan and can't be stopped; and what repeat, range and their like make is in no memory limit.
const (
	maxPlanned = 1 << 14    // parts of the statement, repeated as the binder does
	maxWidth   = 2048       // columns
	maxJoins   = 40         // sources of rows in one FROM
	maxRows    = 10_000_000 // made by range and the like, the statement's calls multiplied
	maxValue   = 1 << 14    // made by repeat and the like: characters or elements of one value; two thousand are made at once
)

// growth is what a part of a statement becomes.
type growth struct {
	planned float64 // parts
	width   float64 // columns, of what gives rows
	rows    float64 // made of nothing, of what gives rows
	value   float64 // by how much values are made longer
	joins   float64
}

// meter measures one statement.
type meter struct {
	names Names
	ctes  map[string]growth
}

func measure(names Names, tree any) error {
	m := meter{names, map[string]growth{}}
	_, err := m.of(tree, nil)
	return err
}

// of measures a part where these other names of columns are in force.
func (m *meter) of(tree any, aliases map[string]growth) (growth, error) {
	n, ok := tree.(node)
	if !ok {
		return m.all(children(tree), aliases)
	}
	var g growth
	var err error
	switch kind := word(n, "type"); {
	case n["select_list"] != nil:
		g, err = m.selects(n)
	case n["cte_map"] != nil: // of a set operation
		g, err = m.with(n)
	case kind == "SET_OPERATION_NODE" || kind == "RECURSIVE_CTE_NODE":
		g, err = m.union(n)
	case kind == "BASE_TABLE":
		g, err = m.table(n, aliases)
	case kind == "JOIN":
		g, err = m.join(n, aliases)
	case kind == "TABLE_FUNCTION":
		g, err = m.source(n, aliases)
	case kind == "PIVOT":
		g, err = m.pivot(n, aliases)
	case kind == "COLUMN_REF":
		g = m.column(n, aliases)
	case kind == "FUNCTION" || word(n, "class") == "WINDOW":
		g, err = m.call(n, aliases)
	default:
		g, err = m.all(children(n), aliases)
		if class := word(n, "class"); class == "LAMBDA" || class == "SUBQUERY" {
			g.planned *= 2 // bound once more to find out what they refer to
		}
		if word(n, "type") == "ARRAY_TYPE_INFO" {
			size, _ := constantValue(n["size"])
			g.value *= max(1, size)
		}
	}
	if word(n, "class") != "" || word(n, "type") != "" {
		g.planned++
	}
	if err == nil {
		err = m.sample(n)
	}
	if err == nil {
		err = g.check()
	}
	return g, err
}

func (g growth) check() error {
	switch {
	case g.planned > maxPlanned:
		return fmt.Errorf("%w: sql grows to more than %d parts when names, macros and subqueries in each other are written out; allowed: %d", fault.ErrInvalid, maxPlanned, maxPlanned)
	case g.width > maxWidth:
		return fmt.Errorf("%w: sql makes more than %d columns; allowed: %d", fault.ErrInvalid, maxWidth, maxWidth)
	case g.joins > maxJoins:
		return fmt.Errorf("%w: sql joins more than %d tables at once; allowed: %d", fault.ErrInvalid, maxJoins, maxJoins)
	case g.rows > maxRows:
		return fmt.Errorf("%w: sql makes more than %d rows with range, generate_series or repeat; allowed: %d, the calls of a statement multiplied", fault.ErrInvalid, maxRows, maxRows)
	case g.value > maxValue:
		return fmt.Errorf("%w: sql makes values of more than %d characters or elements with repeat, lpad, range and the like; allowed: %d, those of one row added and those in each other multiplied", fault.ErrInvalid, maxValue, maxValue)
	}
	return nil
}

// beside is two parts next to each other.
func (g growth) beside(other growth) growth {
	return growth{g.planned + other.planned, g.width + other.width, max(1, g.rows) * max(1, other.rows), max(1, g.value) + max(1, other.value) - 1, g.joins + other.joins}
}

func (m *meter) all(parts func(func(any) bool), aliases map[string]growth) (g growth, err error) {
	g = growth{rows: 1, value: 1}
	for part := range parts {
		one, err := m.of(part, aliases)
		if err != nil {
			return g, err
		}
		g = g.beside(one)
	}
	return g, nil
}

// with measures the queries of a WITH before what uses them. They are remembered by name, of two the larger one, and counted wherever they are used:
// the tree does not tell which are NOT MATERIALIZED.
func (m *meter) with(n node) (growth, error) {
	total := growth{rows: 1, value: 1}
	ctes, _ := n["cte_map"].(node)
	for _, entry := range list(ctes, "map") {
		entry, _ := entry.(node)
		cte, _ := entry["value"].(node)
		g, err := m.of(cte["query"], nil)
		if err != nil {
			return g, err
		}
		total.planned += g.planned
		name := strings.ToLower(word(entry, "key"))
		known := m.ctes[name]
		m.ctes[name] = growth{max(g.planned, known.planned), max(g.width, known.width), max(g.rows, known.rows), max(g.value, known.value), 1}
	}
	rest := node{}
	for field, part := range n {
		if field != "cte_map" {
			rest[field] = part
		}
	}
	g, err := m.of(rest, nil)
	g.planned += total.planned
	return g, err
}

// selects measures a SELECT: its values are made for each of its rows, and its columns' other names are in force all over it.
func (m *meter) selects(n node) (growth, error) {
	if n["cte_map"] != nil {
		return m.with(n)
	}
	from, err := m.of(n["from_table"], nil)
	if err != nil {
		return from, err
	}
	aliases := map[string]growth{}
	g := growth{rows: 1, value: 1}
	for _, item := range list(n, "select_list") {
		item, _ := item.(node)
		one, err := m.of(item, aliases)
		if err != nil {
			return one, err
		}
		one.width = 1
		if stars := countStars(item); stars > 0 {
			one.width = max(1, from.width)
			one.planned += from.width * stars
		}
		g = g.beside(one)
		if alias := word(item, "alias"); alias != "" {
			aliases[strings.ToLower(alias)] = one
		}
	}
	width := g.width
	for field, part := range n {
		if field == "select_list" || field == "from_table" {
			continue
		}
		one, err := m.of(part, aliases)
		if err != nil {
			return one, err
		}
		g = g.beside(one)
	}
	return growth{g.planned + from.planned, width, from.rows * g.rows, from.value * g.value, 1}, nil
}

// union measures two queries of which one comes below the other.
func (m *meter) union(n node) (growth, error) {
	left, err := m.of(n["left"], nil)
	if err != nil {
		return left, err
	}
	if word(n, "type") == "RECURSIVE_CTE_NODE" {
		m.ctes[strings.ToLower(word(n, "cte_name"))] = growth{1, left.width, left.rows, left.value, 1}
	}
	right, err := m.of(n["right"], nil)
	if err != nil {
		return right, err
	}
	rest := growth{rows: 1, value: 1}
	for field, part := range n {
		if field == "left" || field == "right" {
			continue
		}
		one, err := m.of(part, nil)
		if err != nil {
			return one, err
		}
		rest = rest.beside(one)
	}
	return growth{left.planned + right.planned + rest.planned, max(left.width, right.width), max(left.rows, right.rows) * rest.rows,
		max(left.value, right.value) * rest.value, 1}, nil
}

func (m *meter) table(n node, aliases map[string]growth) (growth, error) {
	name := strings.ToLower(word(n, "table_name"))
	if cte, ok := m.ctes[name]; ok && word(n, "schema_name") == "" {
		return cte, nil
	}
	columns, _ := m.names.table(word(n, "catalog_name"), word(n, "schema_name"), name)
	return growth{1, float64(max(1, columns)), 1, 1, 1}, nil
}

func (m *meter) join(n node, aliases map[string]growth) (growth, error) {
	g, err := m.all(children(n), aliases)
	g.planned++
	return g, err
}

// source measures a table function; those that make rows must say how many.
func (m *meter) source(n node, aliases map[string]growth) (growth, error) {
	call, _ := n["function"].(node)
	args := list(call, "children")
	g, err := m.all(children(args), aliases)
	if err != nil {
		return g, err
	}
	name := strings.ToLower(word(call, "function_name"))
	size, sized, err := made(name, args, true)
	if err != nil {
		return g, err
	}
	if sized {
		g.rows *= size
	}
	return growth{g.planned + 1, systemColumns, g.rows, g.value, 1}, nil
}

// pivot measures the columns that come out: one for each aggregate and combination of values.
func (m *meter) pivot(n node, aliases map[string]growth) (growth, error) {
	g, err := m.all(children(n), aliases)
	columns := float64(max(1, len(list(n, "aggregates"))))
	for _, p := range list(n, "pivots") {
		p, _ := p.(node)
		columns *= float64(max(1, len(list(p, "entries"))))
		if word(p, "pivot_enum") != "" {
			columns *= systemColumns
		}
	}
	g.width += columns
	g.planned += columns
	return g, err
}

// column measures a name, which may stand for an expression before it.
func (m *meter) column(n node, aliases map[string]growth) growth {
	names := list(n, "column_names")
	if len(names) > 0 {
		if name, ok := names[0].(string); ok {
			if g, ok := aliases[strings.ToLower(name)]; ok {
				return growth{planned: g.planned, rows: 1, value: g.value}
			}
		}
	}
	return growth{rows: 1, value: 1}
}

// macroUses is how often a macro may use an argument, about.
const macroUses = 4

func (m *meter) call(n node, aliases map[string]growth) (growth, error) {
	g, err := m.all(children(n), aliases)
	if err != nil {
		return g, err
	}
	name := strings.ToLower(word(n, "function_name"))
	size, sized, err := made(name, list(n, "children"), false)
	switch {
	case err != nil:
		return g, err
	case sized:
		g.value *= size
	case name == "->" || name == "->>":
		g.planned *= 2 // tried as a lambda first
	case ownMacros()[name] || queryNames()["macros of the system"][name]:
		g.planned *= macroUses
	}
	return g, nil
}

// sample bounds how many rows a sample reserves memory for.
func (m *meter) sample(n node) error {
	sample, ok := n["sample"].(node)
	if !ok || sample["is_percentage"] == true {
		return nil
	}
	value, _ := sample["sample_size"].(node)
	if size, ok := constantValue(value["value"]); !ok || size > maxRows {
		return fmt.Errorf("%w: sql takes a sample of more than %d rows; allowed: %d", fault.ErrInvalid, maxRows, maxRows)
	}
	return nil
}

// countStars counts what stands for all columns in an expression.
func countStars(tree any) (stars float64) {
	if n, ok := tree.(node); ok && word(n, "class") == "STAR" {
		stars = 1
	}
	for child := range children(tree) {
		stars += countStars(child)
	}
	return stars
}

// widths adds up the numbers in a format; one that is taken from an argument is unbounded.
func widths(format string) (float64, bool) {
	sum := 1.0
	for _, digits := range strings.FieldsFunc(format, func(r rune) bool { return !unicode.IsDigit(r) }) {
		width, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			width = math.Inf(1)
		}
		sum += width
	}
	return sum, !strings.Contains(format, "*")
}
