package door

import (
	_ "embed"
	"strings"
	"sync"

	sqlfiles "github.com/mallardmem/mallard/sql"
)

//go:embed names.txt
var queryNamesText string

// queryNames are what any query may name, by the section of names.txt, in small letters.
var queryNames = sync.OnceValue(func() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	var section map[string]bool
	for l := range strings.Lines(queryNamesText) {
		l = strings.TrimSpace(l)
		if name, ok := strings.CutPrefix(l, "["); ok {
			section = map[string]bool{}
			all[strings.TrimSuffix(name, "]")] = section
			continue
		}
		if strings.HasPrefix(l, "#") {
			continue
		}
		for _, name := range strings.Fields(l) {
			section[strings.ToLower(name)] = true
		}
	}
	return all
})

// functionSections are those whose names may stand in an expression.
var functionSections = []string{"operators", "aggregates and windows", "functions", "lists, maps, structs", "macros of the system", "JSON", "by syntax"}

// Names are what a query of a file may name: what is in its catalog, and what is in every DuckDB.
type Names struct {
	tables map[[2]string]int // columns of tables and views, by schema and name
	types  map[string]bool
}

// NewNames are those that every query may name.
func NewNames() Names {
	n := Names{map[[2]string]int{}, map[string]bool{}}
	for name := range queryNames()["views of the system"] {
		n.AddTable("main", name, systemColumns)
	}
	for name := range queryNames()["information_schema"] {
		n.AddTable("information_schema", name, systemColumns)
	}
	return n
}

// AddTable adds a table or view, with as many columns.
func (n Names) AddTable(schema, name string, columns int) {
	n.tables[[2]string{strings.ToLower(schema), strings.ToLower(name)}] = columns
}

// AddType adds a type.
func (n Names) AddType(name string) { n.types[strings.ToLower(name)] = true }

// systemColumns is about how many columns a view of the system has.
const systemColumns = 20

// ownCatalog is the name the file is attached by.
const ownCatalog = "mallard"

// noFile reports that a name can't be taken for a file, which has an ending at least.
func noFile(name string) bool { return name != "" && !strings.ContainsAny(name, "./\\:*?[") }

// table finds a table or view by its qualified name, and tells how many columns it has. Names of one schema and a table may also be those of
// the catalog and a table.
func (n Names) table(catalog, schema, name string) (columns int, ok bool) {
	catalog, schema, name = strings.ToLower(catalog), strings.ToLower(schema), strings.ToLower(name)
	if catalog == "" && schema == ownCatalog {
		catalog, schema = ownCatalog, ""
	}
	if catalog != "" && catalog != ownCatalog {
		return 0, false
	}
	if schema == "" {
		schema = "main"
	}
	columns, ok = n.tables[[2]string{schema, name}]
	return columns, ok
}

// hasSchema reports whether a schema is one whose tables can be listed.
func (n Names) hasSchema(catalog, schema string) bool {
	catalog, schema = strings.ToLower(catalog), strings.ToLower(schema)
	if catalog == "" && schema == ownCatalog {
		return true
	}
	if catalog != "" && catalog != ownCatalog {
		return false
	}
	for name := range n.tables {
		if name[0] == schema {
			return true
		}
	}
	return false
}

// function reports whether an expression may call it: one of DuckDB that is listed, a macro of ours, or one that the text extension made.
func (n Names) function(catalog, schema, name string) bool {
	catalog, schema, name = strings.ToLower(catalog), strings.ToLower(schema), strings.ToLower(name)
	switch {
	case catalog != "" && catalog != ownCatalog && catalog != "system":
		return false
	case strings.HasPrefix(schema, "fts_main_"):
		return name == "match_bm25" && n.hasSchema(catalog, schema)
	case schema != "" && schema != "main" && (schema != ownCatalog || catalog != ""):
		return false
	case ownMacros()[name]:
		return true
	}
	for _, section := range functionSections {
		if queryNames()[section][name] {
			return true
		}
	}
	return false
}

// tableFunction reports whether rows may be made by it.
func (n Names) tableFunction(catalog, schema, name string) bool {
	known := queryNames()["table functions"]
	return catalog == "" && (schema == "" || strings.EqualFold(schema, "main")) && known[strings.ToLower(name)]
}

// typeName reports whether a value may be cast to it.
func (n Names) typeName(catalog, schema, name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), " ", "_")
	known := queryNames()["types"][name] || n.types[name]
	return known && (catalog == "" || catalog == ownCatalog || catalog == "system") && (schema == "" || schema == "main" || schema == ownCatalog)
}

// ownMacros are the names of the macros that each file has.
var ownMacros = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, name := range sqlfiles.MacroNames() {
		all[strings.ToLower(name)] = true
	}
	return all
})
