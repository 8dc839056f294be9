package engine

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Table is the answer to a query.
type Table struct {
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	More    bool     `json:"more"` // there were more rows than the limit
}

// Query answers one SELECT over the file, for analysts; limit bounds the rows, 0 is a thousand. It runs in a read-only
// transaction and refuses whatever else a statement could do: other kinds of statement, more than one, other files, and
// functions that change or reveal something outside the tables. Errors: ErrInvalid.
func (e *Engine) Query(ctx context.Context, query string, limit int) (*Table, error) {
	if limit == 0 {
		limit = 1000
	}
	if limit < 0 {
		return nil, fmt.Errorf("query: %w", invalid("limit", limit, "0 or more"))
	}
	if err := checkText("sql", query); err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	table := &Table{}
	err := e.read(ctx, "query", func(c *connection) error {
		if err := c.harmless(ctx, query); err != nil {
			return err
		}
		if bounded := boundedQuery(query, limit); c.harmless(ctx, bounded) == nil {
			query = bounded
		}
		err := table.fill(ctx, c, query, limit)
		if err != nil && ctx.Err() == nil && !damaged(err) {
			return fmt.Errorf("%w: sql: %w", ErrInvalid, err)
		}
		return err
	})
	return table, err
}

// boundedQuery asks for one row more than the limit. What can't stand in brackets, such as a query with a comment after its
// semicolon, has to go without.
func boundedQuery(query string, limit int) string {
	rows := min(limit, math.MaxInt-1) + 1
	return strings.NewReplacer("{query}", strings.TrimRight(query, "; \t\r\n"), "{rows}", strconv.Itoa(rows)).Replace(sqlfiles.Query("bounded"))
}

// tableFunctions are those that a query may select from; all others could read files, settings or secrets.
var tableFunctions = []string{"unnest", "range", "generate_series", "repeat", "repeat_row", "json_each", "json_tree", "summary",
	"duckdb_tables", "duckdb_views", "duckdb_columns", "duckdb_functions", "duckdb_types", "duckdb_indexes", "duckdb_constraints",
	"duckdb_schemas", "duckdb_sequences", "pragma_storage_info", "pragma_table_info", "pragma_database_size", "pragma_version"}

// forbidden are functions with effects or views beyond the tables.
var forbidden = []string{"nextval", "currval", "force_checkpoint", "checkpoint", "setseed", "getenv", "getvariable", "current_setting",
	"query", "query_table", "json_execute_serialized_sql", "write_log", "parse_duckdb_log_message", "which_secret", "read_text", "read_blob"}

// plainName is a table that can't be taken for a file.
var plainName = regexp.MustCompile(`^\w+$`)

// harmless refuses all but a single SELECT that only looks at the file's tables; it judges the syntax tree, not the text.
func (c *connection) harmless(ctx context.Context, query string) error {
	var serialized string
	if _, err := c.one(ctx, "parse", []any{&serialized}, sql.Named("sql", query)); err != nil {
		return err
	}
	var tree struct {
		Error      bool   `json:"error"`
		Message    string `json:"error_message"`
		Statements []any  `json:"statements"`
	}
	if err := decode([]byte(serialized), &tree); err != nil {
		return fmt.Errorf("%w: sql: %v", ErrInvalid, err)
	}
	if tree.Error {
		return fmt.Errorf("%w (%s)", invalid("sql", query, "one SELECT"), tree.Message)
	}
	if len(tree.Statements) != 1 {
		return invalid("sql", query, "one SELECT")
	}
	return inspect(tree.Statements[0])
}

// inspect walks a syntax tree.
func inspect(node any) error {
	switch node := node.(type) {
	case []any:
		for _, child := range node {
			if err := inspect(child); err != nil {
				return err
			}
		}
	case map[string]any:
		kind, _ := node["type"].(string)
		if name, _ := node["table_name"].(string); kind == "BASE_TABLE" && !plainName.MatchString(name) {
			return invalid("sql", name, "tables and views of this file, no file names")
		}
		if function, ok := node["function"].(map[string]any); ok && kind == "TABLE_FUNCTION" {
			name, _ := function["function_name"].(string)
			if !slices.Contains(tableFunctions, strings.ToLower(name)) && !slices.Contains(sqlfiles.MacroNames(), name) {
				return invalid("sql", name, "these table functions: "+strings.Join(tableFunctions, ", "))
			}
		}
		if name, ok := node["function_name"].(string); ok && slices.Contains(forbidden, strings.ToLower(name)) {
			return invalid("sql", name, "functions without effects, over this file alone")
		}
		for _, child := range node {
			if err := inspect(child); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Table) fill(ctx context.Context, c *connection, query string, limit int) error {
	rows, err := c.conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	if t.Columns, err = rows.Columns(); err != nil {
		return err
	}
	for rows.Next() {
		if len(t.Rows) == limit {
			t.More = true
			return nil
		}
		row := make([]any, len(t.Columns))
		dest := make([]any, len(row))
		for i := range row {
			dest[i] = &row[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		t.Rows = append(t.Rows, row)
	}
	return rows.Err()
}
