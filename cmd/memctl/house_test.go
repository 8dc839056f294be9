package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	module    = "github.com/mallardmem/mallard"
	mostLines = 500
)

// ground is what every room above it may use, and rooms are those that the engine is made of.
const (
	ground = "engine/internal/fault engine/internal/duck engine/ids engine/kinds engine/setup engine/text engine/window"
	rooms  = "sql " + ground + " engine/payload engine/scope engine/query engine/index engine/interchange engine/memory engine/note engine/recall engine/conversation engine/chain engine/checkpoint engine/compact engine/extract engine/lineage engine/turn engine/assemble engine/build engine/lookup engine/upkeep engine/salvage"
)

// house says who may import what of this module; the first rule whose pattern fits a package counts. In patterns "*" is one
// name of a path. Providers are all below embed and rerank.
var house = []struct{ of, may string }{
	{"sql", ""},
	{"engine/window", ""},
	{"engine/text/internal/*", ""},
	{"engine/enginetest/golden", ""},
	{"engine/text/dates", "engine/text/internal/char"},
	{"engine/text/standin", "engine/text/internal/char"},
	{"engine/text", "engine/text/internal/char"},
	{"engine/text/extract", "engine/text engine/text/internal/char"},
	{"engine/text/capture", "engine/text engine/text/extract"},
	{"engine/vec", ""},
	{"engine/internal/duckfile", ""},
	{"engine/internal/fault", ""},
	{"engine/internal/door", "sql engine/internal/fault"},
	{"engine/kinds", ""},
	{"engine/internal/resident", "engine/kinds"},
	{"engine/ids", "engine/internal/fault"},
	{"wire", ""},
	{"engine/llm", "wire"},
	{"engine/prompts", ""},
	{"engine/setup", "engine/internal/fault engine/ids engine/text"},
	{"engine/interchange", "engine/internal/fault"},
	{"engine/internal/duck", "sql engine/internal/duckfile engine/internal/fault engine/ids engine/setup"},
	{"engine/payload", "engine/internal/fault engine/internal/duck engine/internal/duckfile engine/setup"},
	{"engine/scope", "engine/internal/fault engine/internal/duck"},
	{"engine/query", "sql engine/internal/fault engine/internal/door engine/internal/duck"},
	{"engine/index", "engine/internal/resident sql engine/internal/fault engine/internal/duck engine/kinds engine/setup engine/text"},
	{"engine/memory", "sql " + ground + " engine/index engine/interchange engine/scope engine/vec"},
	{"engine/note", "sql " + ground + " engine/index engine/scope"},
	{"engine/recall", "engine/internal/resident sql " + ground + " engine/text/dates engine/index engine/memory engine/note engine/scope engine/vec"},
	{"engine/conversation", "sql " + ground + " engine/text/extract engine/text/standin engine/index engine/interchange engine/payload engine/scope engine/prompts"},
	{"engine/chain", "sql " + ground + " engine/conversation"},
	{"engine/checkpoint", "sql " + ground + " engine/text/extract engine/index engine/scope engine/conversation engine/prompts engine/chain"},
	{"engine/compact", "sql " + ground + " engine/text/extract engine/text/standin engine/index engine/payload engine/scope engine/conversation engine/prompts engine/chain engine/checkpoint"},
	{"engine/extract", "sql " + ground + " engine/text/capture engine/index engine/memory engine/scope engine/conversation engine/prompts"},
	{"engine/lineage", "sql " + ground + " engine/index engine/memory engine/scope engine/conversation engine/compact"},
	{"engine/turn", "sql " + ground + " engine/text/capture engine/index engine/scope engine/memory engine/recall engine/extract engine/conversation"},
	{"engine/assemble", "engine/internal/resident sql " + ground + " engine/index engine/recall engine/conversation engine/compact engine/prompts"},
	{"engine/build", "sql " + ground + " engine/index engine/memory engine/scope engine/recall engine/conversation engine/checkpoint engine/assemble engine/prompts"},
	{"engine/lookup", "engine/internal/resident sql " + ground + " engine/text/standin engine/index engine/memory engine/note engine/scope engine/recall engine/conversation engine/compact engine/assemble engine/prompts"},
	{"engine/upkeep", "sql " + ground + " engine/index engine/payload engine/conversation engine/compact engine/internal/duckfile"},
	{"engine/salvage", "sql " + ground + " engine/index engine/payload engine/upkeep engine/internal/duckfile"},
	{"engine", rooms},
	{"engine/faulttest", "engine engine/enginetest " + rooms},
	{"engine/enginetest", "engine engine/internal/duckfile " + rooms},
	{"engine/foreign", "engine engine/session " + rooms},
	{"engine/*", "engine " + rooms},
	{"embed/wordpiece", ""},
	{"embed/distill", "embed/static embed/wordpiece"},
	{"embed/ort", "embed/wordpiece"},
	{"embed/hugotrun", "embed/wordpiece embed/ort"},
	{"embed/onnx/onnxtest", "embed/onnx embed/ort"},
	{"embed/*", "embed/wordpiece embed/ort embed/hugotrun wire"},
	{"rerank/*", "embed/wordpiece embed/ort embed/hugotrun wire"},
	{"pull", ""},
	{"probe", "embed/wordpiece"},
	{"bench", "bench/* engine engine/* embed/* rerank/*"},
	{"bench/*", "bench bench/* engine engine/* embed/* rerank/*"},
	{"testdata/demo", ""},
	{"testdata/crossencoder", ""},
	{"testdata/minilm", ""},
	{"cmd/memctl", "engine engine/* engine/text/dates embed/* rerank/* wire pull probe bench bench/* testdata/demo"},
}

func TestImports(t *testing.T) {
	packages := listPackages(t)
	for _, p := range packages {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		may, ok := allowed(name)
		if !ok {
			t.Errorf("package %s has no place in the house", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			ours, ok := strings.CutPrefix(imported, module+"/")
			if ok && !slices.ContainsFunc(may, func(pattern string) bool { return fits(pattern, ours) }) {
				t.Errorf("%s imports %s; allowed: %s", name, ours, strings.Join(may, " "))
			}
		}
	}
}

// TestEngineLinks keeps what runs models and serves networks out of programs that only want the engine.
func TestEngineLinks(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./engine")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, module+"/engine") {
		t.Fatalf("go list gave %d packages without the engine", len(packages))
	}
	for _, p := range packages {
		for _, never := range []string{
			"github.com/knights-analytics/", "github.com/gomlx/", "github.com/yalue/onnxruntime_go", "google.golang.org/grpc",
			"github.com/modelcontextprotocol/", "github.com/fsnotify/", "modernc.org/",
		} {
			if strings.HasPrefix(p, never) {
				t.Errorf("engine links %s", p)
			}
		}
	}
}

func TestPackageNames(t *testing.T) {
	forbidden := []string{"util", "utils", "common", "helper", "helpers", "types", "models", "service", "manager", "store"}
	for _, p := range listPackages(t) {
		for _, name := range append(strings.Split(p.ImportPath, "/"), p.Name) {
			if slices.Contains(forbidden, name) {
				t.Errorf("package %s: %s says nothing", p.ImportPath, name)
			}
		}
	}
}

func TestFileSizes(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		ext := filepath.Ext(path)
		if d.IsDir() || !slices.Contains([]string{".go", ".sql", ".md"}, ext) {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, line := range strings.Split(string(content), "\n") {
			if strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, ">>>>>>> ") {
				t.Errorf("%s has the mark of a merge: %s", path, line)
			}
		}
		if ext == ".md" {
			return nil
		}
		seen++
		if lines := bytes.Count(content, []byte("\n")); lines > mostLines && !generated(content) {
			t.Errorf("%s has %d lines; allowed: %d", path, lines, mostLines)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 50 {
		t.Fatalf("saw %d files: the walk does not find them", seen)
	}
}

// TestWindows keeps windows that are neither parted nor ordered out of our statements: "OVER ()". DuckDB 1.5.5 deals their rows out as it
// collected them, in blocks of which one may be empty; the thread that has it may still be filling its states when all rows are counted
// and another thread finishes with them, which ends the whole instance (DuckDB issues 22352, 22846, 25713).
func TestWindows(t *testing.T) {
	seen := 0
	eachSQL(t, func(file, content string) {
		all, bare := windows(content)
		seen += all
		for _, w := range bare {
			t.Errorf("sql/%s has the window %q; allowed: PARTITION BY, ORDER BY or the name of a window that has one", file, w)
		}
	})
	if seen < 20 {
		t.Fatalf("saw %d windows: the test does not find them", seen)
	}
	for text, want := range map[string]int{
		"SELECT max(n) OVER (), sum(n) over ( ) FROM t":                                                                                  2,
		"SELECT max(n) OVER\n\t(ROWS 2 PRECEDING), min(n) OVER (/* all */) FROM t":                                                       2,
		"SELECT max(n) OVER w FROM t WINDOW v AS (ORDER BY n), w AS (), u AS (RANGE)":                                                    2,
		"SELECT max(n) OVER (PARTITION BY a), min(n) OVER (\n ORDER BY a), sum(n) OVER w FROM t WINDOW w AS (PARTITION BY a) -- OVER ()": 0,
		"WITH w AS (SELECT 1) SELECT rank() OVER (ORDER BY 1)":                                                                           0,
	} {
		if _, bare := windows(text); len(bare) != want {
			t.Errorf("windows(%q) gives %q; want %d", text, bare, want)
		}
	}
}

var (
	sqlComments  = regexp.MustCompile(`--[^\n]*|(?s:/\*.*?\*/)`)
	sqlWindows   = regexp.MustCompile(`(?i)\bOVER\s*\(\s*\w*|\bWINDOW((\s+|\s*,\s*)\w+\s+AS\s*\([^()]*\))+`)
	windowBodies = regexp.MustCompile(`(?i)\bAS\s*\(\s*\w*`)
	whole        = regexp.MustCompile(`(?i)\(\s*(PARTITION|ORDER)$`)
)

// windows counts the windows that a text of SQL describes, and gives those that are neither parted nor ordered.
func windows(text string) (all int, bare []string) {
	for _, found := range sqlWindows.FindAllString(sqlComments.ReplaceAllString(text, " "), -1) {
		bodies := []string{found}
		if !strings.HasPrefix(strings.ToUpper(found), "OVER") {
			bodies = windowBodies.FindAllString(found, -1)
		}
		for _, body := range bodies {
			all++
			if !whole.MatchString(body) {
				bare = append(bare, body)
			}
		}
	}
	return all, bare
}

// eachSQL calls do with every file below sql, in the order of their names.
func eachSQL(t *testing.T, do func(file, content string)) {
	t.Helper()
	files := os.DirFS(filepath.Join("..", "..", "sql"))
	err := fs.WalkDir(files, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".sql" {
			return err
		}
		content, err := fs.ReadFile(files, file)
		if err == nil {
			do(file, string(content))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

type listed struct {
	ImportPath, Name string
	Imports          []string // of the package itself, without its tests
}

func listPackages(t *testing.T) (packages []listed) {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Imports", "./...", "./testdata/crossencoder", "./testdata/demo", "./testdata/minilm") // the pattern passes over testdata
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	if len(packages) < 5 {
		t.Fatalf("go list gave %d packages: the test looks in the wrong place", len(packages))
	}
	return packages
}

// allowed gives what a package may import.
func allowed(name string) (may []string, ok bool) {
	for _, rule := range house {
		if fits(rule.of, name) {
			return strings.Fields(rule.may), true
		}
	}
	return nil, false
}

func fits(pattern, name string) bool {
	above, below := strings.CutSuffix(pattern, "/*")
	rest, ok := strings.CutPrefix(name, above+"/")
	return name == pattern || below && ok && !strings.Contains(rest, "/")
}

// generated reports whether a file says so before its package clause.
func generated(content []byte) bool {
	head, _, _ := bytes.Cut(content, []byte("\npackage "))
	for l := range bytes.Lines(head) {
		if bytes.HasPrefix(l, []byte("// Code generated ")) && bytes.HasSuffix(bytes.TrimSpace(l), []byte(" DO NOT EDIT.")) {
			return true
		}
	}
	return false
}
