// Package sqlfiles holds every SQL statement of the project: migrations, macros, views and named queries.
//
// A named query starts with a line "-- name: x" and ends where the next one starts; the comment lines after its name say what
// it is for. All of it is plain SQL with $name parameters, which pastes into a DuckDB shell.
//
// A file of queries is named by the room of the engine that runs them, room.sql or room_topic.sql: a statement that writes a table is the
// owner's, one that reads is that of the lowest room which needs it.
package sqlfiles

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
)

//go:embed migrations/*.sql macros/*.sql views/*.sql queries/*.sql
var files embed.FS

// Migration is one forward step of the schema.
type Migration struct {
	Version int    // from 1, without gaps
	Name    string // the file's name without its version and ending
	SQL     string
	Hash    string // SHA-256 of SQL in hexadecimal
}

// Migrations gives all migrations by ascending version.
var Migrations = sync.OnceValue(func() []Migration {
	var all []Migration
	for _, name := range names("migrations") {
		number, rest, ok := strings.Cut(strings.TrimSuffix(path.Base(name), ".sql"), "_")
		version, err := strconv.Atoi(number)
		if !ok || err != nil || version != len(all)+1 {
			panic("sqlfiles: migration " + name + " is not the next number")
		}
		text := read(name)
		all = append(all, Migration{version, rest, text, hash(text)})
	}
	return all
})

// Macros is the text that makes all macros and types anew.
var Macros = sync.OnceValue(func() string {
	var b strings.Builder
	for _, name := range names("macros") {
		b.WriteString(read(name))
		b.WriteByte('\n')
	}
	return b.String()
})

// Definitions is the text that makes all macros, types and views anew, and its hash.
func Definitions() (text, sum string) {
	var b strings.Builder
	for _, dir := range []string{"macros", "views"} {
		for _, name := range names(dir) {
			b.WriteString(read(name))
			b.WriteByte('\n')
		}
	}
	return b.String(), hash(b.String())
}

// Query gives the statement of that name. An unknown name is a mistake in the program: it panics.
func Query(name string) string {
	q, ok := queries()[name]
	if !ok {
		panic("sqlfiles: no query named " + name)
	}
	return q
}

// QueryNames gives the names of all queries in order.
func QueryNames() []string {
	var all []string
	for name := range queries() {
		all = append(all, name)
	}
	sort.Strings(all)
	return all
}

var macroName = regexp.MustCompile(`(?im)^CREATE (?:OR REPLACE )?MACRO (\w+)`)

// MacroNames gives the names of all macros that Definitions makes.
func MacroNames() []string {
	var all []string
	for _, name := range names("macros") {
		for _, m := range macroName.FindAllStringSubmatch(read(name), -1) {
			all = append(all, m[1])
		}
	}
	return all
}

// Parts gives a named query as it is with some parts on: a line that ends with "-- if x", and the lines from such a one to "-- end if", are in it
// only where x is on. With everything on it is the text in the file. A part that nobody switches is a mistake in the program: it panics.
func Parts(name string, on map[string]bool) string {
	var kept []string
	out := false // of a part that is off
	for line := range strings.SplitSeq(Query(name), "\n") {
		code, part, conditional := strings.Cut(line, "-- if ")
		alone := strings.TrimSpace(code) == ""
		if _, known := on[part]; conditional && !known {
			panic("sqlfiles: query " + name + " has a part " + part + ", which nobody switches")
		}
		switch {
		case conditional && alone:
			out = !on[part]
		case strings.TrimSpace(line) == "-- end if":
			out = false
		case !out && (!conditional || on[part]):
			kept = append(kept, code)
		}
	}
	return strings.Join(kept, "\n")
}

var queries = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, name := range names("queries") {
		for _, block := range strings.Split("\n"+read(name), "\n-- name: ")[1:] {
			title, body, _ := strings.Cut(block, "\n")
			title = strings.TrimSpace(title)
			if _, twice := all[title]; twice || title == "" {
				panic(fmt.Sprintf("sqlfiles: %s: query name %q is empty or used twice", name, title))
			}
			all[title] = strings.TrimSpace(body)
		}
	}
	return all
})

func names(dir string) []string {
	all, err := fs.Glob(files, dir+"/*.sql")
	if err != nil || len(all) == 0 {
		panic("sqlfiles: no files in " + dir)
	}
	sort.Strings(all)
	return all
}

func read(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic("sqlfiles: " + err.Error())
	}
	return string(b)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
