package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// owners says which room each table of the file belongs to: its code alone writes it, by statements in SQL files of its name. "vectors" are the tables
// vectors_<n>, and "fts" are those of the schemas fts_main_<kind>_texts, which DuckDB's text extension makes.
var owners = map[string]string{
	"migrations": "duck",
	"settings":   "duck",

	"payloads": "payload",

	"documents":  "index",
	"terms":      "index",
	"surfaces":   "index",
	"postings":   "index",
	"kind_stats": "index",
	"passages":   "index",

	"embedding_cache": "index",

	"past_documents": "index",
	"past_postings":  "index",
	"past_passages":  "index",
	"past_vectors":   "index",

	"models":  "index",
	"vectors": "index",
	"fts":     "index",

	"memories":         "memory",
	"memory_relations": "memory",
	"memory_sources":   "memory",
	"imports":          "memory",
	"memory_versions":  "memory",
	"dropped_versions": "memory",

	"conversations": "conversation",
	"messages":      "conversation",
	"parts":         "conversation",
	"large_files":   "conversation",
	"context_items": "conversation",
	"cursors":       "conversation",

	"note_files": "note",
	"notes":      "note",

	"summaries":        "compact",
	"summary_sources":  "compact",
	"compactions":      "compact",
	"compaction_debts": "compact",

	"context_snapshots": "build",
	"checkpoints":       "checkpoint",
	"flush_state":       "checkpoint",
	"summarizer_state":  "chain",

	"drafts":             "extract",
	"admissions":         "extract",
	"extraction_cursors": "extract",
	"model_calls":        "extract",

	"retractions":        "lineage",
	"retraction_effects": "lineage",
}

// repairs are the statements by which a room may write what others own.
var repairs = map[string]string{
	// Doctor repairs what the owners' verbs can't have made, and what is wrong with one table shows only beside others. Shred copies whole tables into a
	// new file, and takes the note of a purge out of it.
	"upkeep": `doctor_references doctor_homes doctor_items doctor_leftovers doctor_parts doctor_conversations doctor_lineage doctor_aside
		doctor_superseded doctor_retractions doctor_versions doctor_estimators doctor_count doctor_shown doctor_archive doctor_kinds doctor_vectors doctor_embedding_cache shred_copy shred_mark`,
	// Recover copies the rows of a damaged file, before anybody opens the new one, and drops what opening it would stumble over.
	"salvage": "recover_copy recover_copy_believed recover_settings recover_other_models vectors_drop",
}

// TestTables holds rooms to their own tables, and SQL files to the rooms that they are named by.
func TestTables(t *testing.T) {
	all, rooms := statements(t), roomsCode(t)
	temporary := temporaries(all)
	used, written, seen := map[string]bool{}, map[string]bool{}, 0
	judge := func(room, name, table string) {
		owner, ok := owners[table]
		switch may := slices.Contains(strings.Fields(repairs[room]), name); {
		case !ok:
			t.Errorf("%s writes %s by %s: a table without an owner", room, table, name)
		case owner != room && !may:
			t.Errorf("%s writes %s by %s; it belongs to %s", room, table, name, owner)
		case owner != room:
			used[room+" "+name] = true
		}
		written[table] = true
	}
	for _, s := range all {
		if rooms[s.room] == nil || !rooms[s.room].literals[s.name] {
			t.Errorf("%s has %s, which the code of %s does not name", s.file, s.name, s.room)
		}
		for _, table := range writes(s.text) {
			if temporary[table] {
				continue
			}
			seen++
			judge(s.room, s.name, table)
			for room, code := range rooms {
				if room != s.room && code.literals[s.name] {
					judge(room, s.name, table)
				}
			}
		}
	}
	for room, code := range rooms {
		for _, table := range code.appended {
			seen++
			judge(room, "AppendRows", table)
		}
	}
	if seen < 150 {
		t.Errorf("saw %d writes: the test does not find them", seen)
	}
	for room, names := range repairs {
		for _, name := range strings.Fields(names) {
			if !used[room+" "+name] {
				t.Errorf("%s needs no leave to run %s", room, name)
			}
		}
	}
	made := migrated(t)
	for _, table := range made {
		if owners[table] == "" {
			t.Errorf("table %s has no owner", table)
		}
	}
	for table := range owners {
		if !written[table] {
			t.Errorf("nobody writes %s", table)
		}
		if temporary[table] {
			t.Errorf("%s is the name of a temporary table too", table)
		}
	}
	if len(made) < 20 {
		t.Errorf("saw %d tables: the test does not find them", len(made))
	}
}

func TestWrites(t *testing.T) {
	for text, want := range map[string]string{
		"-- UPDATE a\nSELECT 1 FROM b": "",
		"INSERT INTO a VALUES (1) ON CONFLICT (x) DO UPDATE SET x = 1; insert or replace into mallard.main.b SELECT 2":     "a b",
		"WITH x AS (SELECT 1)\nDELETE FROM a; UPDATE main.b SET c = 1; TRUNCATE c":                                         "a b c",
		"CREATE TABLE IF NOT EXISTS a (x INTEGER); DROP TABLE b; ALTER TABLE c RENAME TO d":                                "a b c",
		"CREATE OR REPLACE TEMP TABLE a (x INTEGER); INSERT INTO temp.main.a VALUES (1)":                                   "",
		"DELETE FROM {table}; DROP TABLE vectors_{n}; DROP TABLE IF EXISTS fts_main_{kind}_texts.docs; CREATE VIEW v AS 1": "vectors vectors fts",
	} {
		if got := strings.Join(writes(text), " "); got != want {
			t.Errorf("writes(%q) gives %q; want %q", text, got, want)
		}
	}
}

// statement is a named one of a file of SQL.
type statement struct{ name, room, file, text string }

// statements reads all named ones; their room is that of the file's name.
func statements(t *testing.T) (all []statement) {
	t.Helper()
	eachSQL(t, func(file, content string) {
		if filepath.Dir(file) != "queries" {
			return
		}
		room, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".sql"), "_")
		for _, block := range strings.Split("\n"+content, "\n-- name: ")[1:] {
			name, text, _ := strings.Cut(block, "\n")
			all = append(all, statement{name, room, file, text})
		}
	})
	return all
}

var (
	sqlWrites = regexp.MustCompile(`(?i)\b(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM|TRUNCATE(?: TABLE)?|` +
		`(?:CREATE|ALTER|DROP)(?: OR REPLACE)? TABLE(?: IF(?: NOT)? EXISTS)?)\s+([\w.{}]+)`)
	sqlTemporary = regexp.MustCompile(`(?i)\bCREATE(?: OR REPLACE)? TEMP TABLE ([\w{}]+)`)
	sqlRenames   = regexp.MustCompile(`(?i)\bALTER TABLE (\w+) RENAME TO (\w+)`)
	sqlMakes     = regexp.MustCompile(`(?i)\b(CREATE|DROP) TABLE (\w+)`)
)

// writes gives the tables of the file that a text of SQL writes, makes or drops, under the names they have in owners. A table that is filled in is
// taken for one of vectors.
func writes(text string) (tables []string) {
	for _, m := range sqlWrites.FindAllStringSubmatch(sqlComments.ReplaceAllString(text, " "), -1) {
		table := strings.TrimPrefix(strings.TrimPrefix(m[1], "mallard."), "main.")
		switch {
		case strings.EqualFold(table, "SET"), strings.HasPrefix(table, "temp."): // of ON CONFLICT DO UPDATE SET
		case table == "{table}", strings.HasPrefix(table, "vectors_"):
			tables = append(tables, "vectors")
		case strings.HasPrefix(table, "fts_main_"):
			tables = append(tables, "fts")
		default:
			tables = append(tables, table)
		}
	}
	return tables
}

// temporaries gives the names of the temporary tables that statements make.
func temporaries(all []statement) map[string]bool {
	names := map[string]bool{}
	for _, s := range all {
		for _, m := range sqlTemporary.FindAllStringSubmatch(s.text, -1) {
			names[m[1]] = true
		}
	}
	return names
}

// migrated gives the tables that there are after all migrations.
func migrated(t *testing.T) []string {
	t.Helper()
	made := map[string]bool{}
	eachSQL(t, func(file, content string) {
		if filepath.Dir(file) != "migrations" {
			return
		}
		text := sqlComments.ReplaceAllString(content, " ")
		for _, m := range sqlMakes.FindAllStringSubmatch(text, -1) {
			made[m[2]] = strings.EqualFold(m[1], "CREATE")
		}
		for _, m := range sqlRenames.FindAllStringSubmatch(text, -1) { // in a migration it follows the drop of what had that name
			made[m[1]], made[m[2]] = false, true
		}
	})
	maps.DeleteFunc(made, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(made))
}

// code is what the Go code of a package says of tables.
type code struct {
	literals map[string]bool
	appended []string // the tables that it appends rows to
}

// roomsCode reads the code of all packages but its tests, by their names below engine, without "internal".
func roomsCode(t *testing.T) map[string]*code {
	t.Helper()
	all := map[string]*code{}
	root := filepath.Join("..", "..", "engine")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		room := strings.TrimPrefix(filepath.ToSlash(dir), "internal/")
		if all[room] == nil {
			all[room] = &code{literals: map[string]bool{}}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					all[room].literals[s] = true
				}
			case *ast.CallExpr:
				if table := appendsTo(n); table != "" && room != "duck" { // which only passes on the tables that it is given
					all[room].appended = append(all[room].appended, table)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("saw %d packages: the walk does not find them", len(all))
	}
	return all
}

// appendsTo gives the table of the file that a call of AppendRows or AppendAll adds rows to; empty: it is no such call. One that is no literal is taken
// for one of vectors.
func appendsTo(call *ast.CallExpr) string {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	args := make([]string, len(call.Args))
	for i, arg := range call.Args {
		if l, ok := arg.(*ast.BasicLit); ok {
			args[i], _ = strconv.Unquote(l.Value)
		}
	}
	table := "temp"
	switch {
	case f.Sel.Name == "AppendRows" && len(args) > 0:
		table = args[0]
	case f.Sel.Name == "AppendAll" && len(args) > 1 && args[0] != "temp":
		table = args[1]
	}
	switch table {
	case "temp":
		return ""
	case "":
		return "vectors"
	}
	return table
}
