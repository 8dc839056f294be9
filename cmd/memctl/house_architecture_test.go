package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// top is the folder of the module, as this package's tests see it.
var top = filepath.Join("..", "..")

// TestArchitecture holds docs/architecture.md against the import table and the code.
func TestArchitecture(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(top, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := readPage(string(content))
	packages := listPackages(t)
	t.Run("rooms", func(t *testing.T) { page.holdRooms(t, packages) })
	t.Run("boxes", page.holdBoxes)
	t.Run("owners", page.holdOwners)
	t.Run("names", func(t *testing.T) { page.holdNames(t, packages) })
}

// architecture is what the page says. A room is named by its folder, without "engine/" in front.
type architecture struct {
	text   string
	words  map[string]string   // that stand for many rooms
	boxes  [][]string          // the rooms of each line of the picture, from the roof down
	may    map[string][]string // by room, whom it may call
	owns   map[string][]string // by room, the tables in its row
	owners map[string]string   // by table
}

var (
	pageQuotes = regexp.MustCompile("`([^`]*)`")
	codeBlocks = regexp.MustCompile("(?s)```.*?```")
	pageWords  = regexp.MustCompile(`(?m)^- (ground|rooms): (.*)$`)
	tableName  = regexp.MustCompile(`^[a-z_]+(<n>)?$`)
	tableMade  = regexp.MustCompile(`(?i)\bCREATE TABLE (?:IF NOT EXISTS )?([a-z_]+(?:_\d+|\{n\})?) `)
	tableMoved = regexp.MustCompile(`(?i)\bALTER TABLE (\w+) RENAME TO `)
	queryNames = regexp.MustCompile(`(?m)^-- name: (\w+)`)
)

func readPage(text string) *architecture {
	p := &architecture{text: text, words: map[string]string{}, may: map[string][]string{}, owns: map[string][]string{}, owners: map[string]string{}}
	for _, found := range pageWords.FindAllStringSubmatch(text, -1) {
		p.words[found[1]] = found[2]
	}
	heading := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			heading = strings.TrimLeft(line, "# ")
		}
		if _, box, ok := strings.Cut(line, "│"); ok {
			p.boxes = append(p.boxes, strings.Fields(strings.ReplaceAll(box, "│", " ")))
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		switch {
		case !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|-") || cells[0] == "room" || cells[0] == "table":
		case heading == "The house" && len(cells) == 4:
			room, may := cells[0], strings.Trim(cells[3], "–")
			for _, word := range []string{"rooms", "ground"} { // rooms has ground in it
				may = regexp.MustCompile(`\b`+word+`\b`).ReplaceAllLiteralString(may, p.words[word])
			}
			p.may[room] = strings.Fields(may)
			for _, name := range pageQuotes.FindAllStringSubmatch(cells[2], -1) {
				if tableName.MatchString(name[1]) {
					p.owns[room] = append(p.owns[room], name[1])
				}
			}
		case heading == "Tables and their owners" && len(cells) == 2:
			p.owners[cells[0]] = cells[1]
		}
	}
	return p
}

// roomOf is the page's name of a package.
func roomOf(name string) string { return strings.TrimPrefix(name, "engine/") }

// holdRooms: the page has the rooms of the import table, and each may call whom the table lets it call.
func (p *architecture) holdRooms(t *testing.T, packages []listed) {
	if want := strings.ReplaceAll(ground, "engine/", ""); p.words["ground"] != want {
		t.Errorf("ground is, by the page: %s; by the table: %s", p.words["ground"], want)
	}
	inHouse := map[string]bool{}
	for _, rule := range house {
		if (rule.of == "sql" || rule.of == "wire" || rule.of == "engine" || strings.HasPrefix(rule.of, "engine/")) && !strings.Contains(rule.of, "*") {
			inHouse[rule.of] = true
		}
	}
	for _, listed := range packages { // and those that only a pattern of the table names
		if name := strings.TrimPrefix(listed.ImportPath, module+"/"); strings.HasPrefix(name, "engine/") {
			inHouse[name] = true
		}
	}
	for name := range inHouse {
		room := roomOf(name)
		said, ok := p.may[room]
		if !ok {
			t.Errorf("the page lacks the room %s", room)
			continue
		}
		may, _ := allowed(name)
		want := map[string]bool{}
		for _, other := range may {
			want[roomOf(other)] = true
		}
		got := map[string]bool{}
		for _, other := range said {
			got[other] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s may call, by the page: %s; by the table: %s", room, list(got), list(want))
		}
	}
	for room := range p.may {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(inHouse)), func(name string) bool { return roomOf(name) == room }) {
			t.Errorf("the page has the room %s, the import table has not", room)
		}
	}
}

func list(names map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(names)), " ")
}

// holdBoxes: the picture has every room once, above all rooms that it may call.
func (p *architecture) holdBoxes(t *testing.T) {
	at := map[string]int{}
	for i, line := range p.boxes {
		for _, room := range line {
			if _, ok := p.may[room]; !ok {
				t.Errorf("the picture has %s, which is no room", room)
			}
			if _, twice := at[room]; twice {
				t.Errorf("the picture has %s twice", room)
			}
			at[room] = i
		}
	}
	for room, may := range p.may {
		if _, ok := at[room]; !ok {
			t.Errorf("the picture lacks %s", room)
			continue
		}
		for _, other := range may {
			if at[other] <= at[room] {
				t.Errorf("%s may call %s, which stands no lower in the picture", room, other)
			}
		}
	}
}

// holdOwners: every table that is made has an owner on the page, whose row says so.
func (p *architecture) holdOwners(t *testing.T) {
	made := map[string]bool{}
	for _, f := range sqlFiles(t) {
		text := sqlComments.ReplaceAllString(f, " ")
		for _, found := range tableMade.FindAllStringSubmatch(text, -1) {
			made[strings.Replace(found[1], "{n}", "<n>", 1)] = true
		}
		for _, found := range tableMoved.FindAllStringSubmatch(text, -1) {
			delete(made, found[1])
		}
	}
	if len(made) < 15 {
		t.Fatalf("saw %d tables: the test does not find them", len(made))
	}
	for table := range made {
		if owner := p.owners[table]; !slices.Contains(p.owns[owner], table) {
			t.Errorf("the owner of %s is %q, whose row lacks it", table, owner)
		}
	}
	for table, owner := range p.owners {
		if want := owners[strings.TrimSuffix(table, "_<n>")]; want != filepath.Base(owner) {
			t.Errorf("the owner of %s is, by the page: %s; by the table of the house: %s", table, owner, want)
		}
	}
	owned := 0
	for _, tables := range p.owns {
		owned += len(tables)
	}
	if owned != len(made) || len(p.owners) != len(made) {
		t.Errorf("%d tables are made; the page has %d in the rooms' rows, %d with an owner", len(made), owned, len(p.owners))
	}
}

// sqlFiles gives the texts of all files of SQL, migrations in their order.
func sqlFiles(t *testing.T) (texts []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(top, "sql", "*", "*.sql"))
	if err != nil || len(names) < 10 {
		t.Fatalf("%d files of SQL, %v", len(names), err)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(content))
	}
	return texts
}

// holdNames: whatever the page quotes is a room, a table, a statement, a file or folder, or something that a package declares.
func (p *architecture) holdNames(t *testing.T, packages []listed) {
	known := map[string]bool{"engine": true, "embed": true, "rerank": true, "bench": true}
	for room := range p.may {
		known[room] = true
	}
	for table := range p.owners {
		known[table] = true
	}
	for _, text := range sqlFiles(t) {
		for _, found := range queryNames.FindAllStringSubmatch(text, -1) {
			known[found[1]] = true
		}
	}
	declared := declarations(t, packages)
	quotes := pageQuotes.FindAllStringSubmatch(codeBlocks.ReplaceAllString(p.text, ""), -1)
	if len(quotes) < 100 {
		t.Fatalf("saw %d quoted names: the test does not find them", len(quotes))
	}
	for _, quote := range quotes {
		name := quote[1]
		if known[name] || declared[name] {
			continue
		}
		if strings.Contains(name, "/") {
			if files, err := filepath.Glob(filepath.Join(top, filepath.FromSlash(name))); err == nil && len(files) > 0 {
				continue
			}
		}
		t.Errorf("the page names `%s`, which is no room, table, statement, file or declaration", name)
	}
}

// declarations gives what packages declare beside tests: "recall.Query", methods as "recall.(*Recaller).Recall" or "scope.Scopes.ForReading", and fields
// as "duck.File.Using".
func declarations(t *testing.T, packages []listed) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, listed := range packages {
		if listed.Name == "main" {
			continue
		}
		folder := filepath.Join(top, strings.TrimPrefix(strings.TrimPrefix(listed.ImportPath, module), "/"))
		names, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				for _, what := range declaredBy(d) {
					all[listed.Name+"."+what] = true
				}
			}
		}
	}
	return all
}

// declaredBy gives the names of a declaration, without the package.
func declaredBy(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		switch of := d.Recv.List[0].Type.(type) {
		case *ast.StarExpr:
			return []string{fmt.Sprintf("(*%s).%s", of.X, d.Name.Name)}
		default:
			return []string{fmt.Sprintf("%s.%s", of, d.Name.Name)}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names = append(names, name.Name)
				}
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
				if fields, ok := spec.Type.(*ast.StructType); ok {
					for _, field := range fields.Fields.List {
						for _, name := range field.Names {
							names = append(names, spec.Name.Name+"."+name.Name)
						}
					}
				}
			}
		}
	}
	return names
}
