package door

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// node is a part of a syntax tree, as DuckDB's json_serialize_sql gives it.
type node = map[string]any

// Judge refuses a statement, whose syntax tree is what json_serialize_sql made of it, that is not a single SELECT, names more than it may, or makes
// something of unreasonable size of nothing. It judges the tree, not the text: comments, quotes and case are gone from it.
func Judge(query, serialized string, names Names) error {
	var tree struct {
		Error      bool   `json:"error"`
		Type       string `json:"error_type"`
		Message    string `json:"error_message"`
		Statements []any  `json:"statements"`
	}
	d := json.NewDecoder(strings.NewReader(serialized))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return fmt.Errorf("%w: sql: %v", fault.ErrInvalid, err)
	}
	if tree.Error && tree.Type == "not implemented" { // what it can't serialize is no SELECT
		return fault.Invalid("sql", query, "one SELECT")
	}
	if tree.Error {
		return fmt.Errorf("%w (%s)", fault.Invalid("sql", query, "one SELECT"), tree.Message)
	}
	if len(tree.Statements) != 1 {
		return fault.Invalid("sql", query, "one SELECT")
	}
	j := judge{Names: names, ctes: map[string]bool{}}
	j.note(tree.Statements[0])
	if err := j.inspect(tree.Statements[0], 0); err != nil {
		return err
	}
	return measure(names, tree.Statements[0])
}

// judge holds the names in a statement against those that are allowed.
type judge struct {
	Names
	ctes map[string]bool // that the statement defines, wherever
}

// note collects what the statement itself names. Where such a name is not in force it means nothing, as long as it can't be a file.
func (j *judge) note(tree any) {
	if n, ok := tree.(node); ok {
		if ctes, ok := n["cte_map"].(node); ok {
			for _, entry := range list(ctes, "map") {
				if cte, ok := entry.(node); ok && noFile(word(cte, "key")) {
					j.ctes[strings.ToLower(word(cte, "key"))] = true
				}
			}
		}
	}
	for child := range children(tree) {
		j.note(child)
	}
}

// maxTreeDepth bounds parts within parts: DuckDB needs half a second to plan a hundred of an expression, and twenty for four hundred.
const maxTreeDepth = 120

// kinds of parts that a statement may have beside expressions. A kind that is not here is refused, as one of a newer DuckDB would be.
var kinds = strings.Fields(`SELECT_NODE SET_OPERATION_NODE RECURSIVE_CTE_NODE CTE_NODE
	EMPTY BASE_TABLE SUBQUERY JOIN EXPRESSION_LIST PIVOT SHOW_REF
	LIMIT_MODIFIER LIMIT_PERCENT_MODIFIER ORDER_MODIFIER DISTINCT_MODIFIER ORDER_DEFAULT DEFAULT ASCENDING ASC DESCENDING DESC
	ARRAY_TYPE_INFO DECIMAL_TYPE_INFO ENUM_TYPE_INFO GENERIC_TYPE_INFO LIST_TYPE_INFO STRING_TYPE_INFO STRUCT_TYPE_INFO UNBOUND_TYPE_INFO`)

// expressionClasses that a statement may have: all but parameters, and what only DuckDB itself makes.
var expressionClasses = strings.Fields(`BETWEEN CASE CAST COLLATE COLUMN_REF COMPARISON CONJUNCTION CONSTANT FUNCTION LAMBDA LAMBDA_REF OPERATOR
	POSITIONAL_REFERENCE STAR SUBQUERY TYPE WINDOW`)

// inspect walks the tree; depth counts expressions and sources of rows in each other.
func (j *judge) inspect(tree any, depth int) error {
	if n, ok := tree.(node); ok {
		if _, ok := n["type"].(string); ok {
			depth++
		}
		if depth > maxTreeDepth {
			return fmt.Errorf("%w: sql has parts in parts more than %d deep, such as a + b + c; allowed: %d", fault.ErrInvalid, maxTreeDepth, maxTreeDepth)
		}
		if word(n, "type") == "TABLE_FUNCTION" {
			return j.source(n, depth)
		}
		if err := j.part(n); err != nil {
			return err
		}
	}
	for child := range children(tree) {
		if err := j.inspect(child, depth); err != nil {
			return err
		}
	}
	return nil
}

// source judges a call that makes rows, for which there is another list than for calls in expressions.
func (j *judge) source(n node, depth int) error {
	call, _ := n["function"].(node)
	name := word(call, "function_name")
	if word(call, "class") != "FUNCTION" || !j.tableFunction(word(call, "catalog"), word(call, "schema"), name) {
		return fault.Invalid("sql", name, "these table functions: "+section("table functions"))
	}
	for field, child := range n {
		if field == "function" {
			child = list(call, "children")
		}
		if err := j.inspect(child, depth); err != nil {
			return err
		}
	}
	return nil
}

// part judges one part of the tree by what it names.
func (j *judge) part(n node) error {
	kind, class := word(n, "type"), word(n, "class")
	if class != "" {
		return j.expression(n, class)
	}
	if id := word(n, "id"); id != "" {
		return j.logicalType(n, id)
	}
	if enum := word(n, "pivot_enum"); enum != "" && !j.typeName("", "", enum) {
		return fault.Invalid("sql", enum, "types of this file")
	}
	switch {
	case kind == "":
		return nil
	case kind == "BASE_TABLE":
		return j.baseTable(n)
	case kind == "SHOW_REF":
		return j.show(n)
	case !slices.Contains(kinds, kind):
		return fault.Invalid("sql", kind, "SELECT over the tables and views of this file")
	}
	return nil
}

func (j *judge) baseTable(n node) error {
	catalog, schema, name := word(n, "catalog_name"), word(n, "schema_name"), word(n, "table_name")
	if n["at_clause"] != nil {
		return fault.Invalid("sql", "AT", "the file as it is now; for the past ask `valid_from` and its like")
	}
	if _, ok := j.table(catalog, schema, name); ok || catalog == "" && schema == "" && j.ctes[strings.ToLower(name)] {
		return nil
	}
	whole := strings.Trim(strings.Join([]string{catalog, schema, name}, "."), ".")
	return fault.Invalid("sql", whole, "tables and views of this file, such as report.memories; no file names")
}

// show judges SHOW; what is described or summarised is a query of its own.
func (j *judge) show(n node) error {
	if n["query"] != nil {
		return nil
	}
	name := strings.Trim(word(n, "table_name"), `"`)
	if word(n, "show_type") == "SHOW_FROM" {
		if !j.hasSchema(word(n, "catalog_name"), word(n, "schema_name")) {
			return fault.Invalid("sql", "SHOW TABLES FROM "+word(n, "schema_name"), "schemas of this file")
		}
	} else if name != "tables" && name != "__show_tables_expanded" {
		return fault.Invalid("sql", "SHOW "+name, "SHOW TABLES, SHOW ALL TABLES, SHOW TABLES FROM a schema")
	}
	return nil
}

func (j *judge) expression(n node, class string) error {
	if !slices.Contains(expressionClasses, class) {
		return fault.Invalid("sql", strings.ToLower(class), "a statement without parameters")
	}
	switch class {
	case "TYPE":
		return j.namedType(word(n, "catalog"), word(n, "schema"), word(n, "type_name"))
	case "FUNCTION", "WINDOW":
		return j.call(n)
	}
	return nil
}

func (j *judge) call(n node) error {
	catalog, schema, name := word(n, "catalog"), word(n, "schema"), word(n, "function_name")
	if !j.function(catalog, schema, name) {
		return fault.Invalid("sql", name, "functions without effects, over this file alone; docs/decisions/0003 says which")
	}
	if args := list(n, "children"); slices.Contains(callsByName, strings.ToLower(name)) && len(args) > 1 {
		aggregate, ok := constantText(args[1])
		if !ok || !queryNames()["aggregates and windows"][strings.ToLower(aggregate)] {
			return fault.Invalid("sql", name, "the name of an aggregate function as its second argument, not computed")
		}
	}
	return nil
}

// callsByName are functions that are told in a text which other to call.
var callsByName = []string{"aggregate", "array_aggr", "array_aggregate", "list_aggr", "list_aggregate"}

func (j *judge) logicalType(n node, id string) error {
	if id != "UNBOUND" {
		return j.namedType("", "", id)
	}
	info, _ := n["type_info"].(node)
	return j.namedType(word(info, "catalog"), word(info, "schema"), word(info, "name"))
}

func (j *judge) namedType(catalog, schema, name string) error {
	if !j.typeName(catalog, schema, name) {
		return fault.Invalid("sql", name, "types: "+section("types"))
	}
	return nil
}
