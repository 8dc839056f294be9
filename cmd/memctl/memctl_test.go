package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"memctl":        main,
		"hold":          hold,
		"share":         shareFile,
		"notes":         notes,
		"another-model": anotherModel,
		"break":         tamper,
		"damage":        damage,
	})
}

// TestScripts runs the scripts of testdata. They have these commands beside those of testscript:
//
//	exits CODE PROGRAM ARG…   runs a program that must end with that exit code
//	await FILE                waits until there is a file of that name
//	many NUMBER FILE          writes so many memories of no interest, to be imported
//	sqlite FILE STATEMENTS    runs the statements in a file on a database of SQLite
//
// and the condition fts: MEMCTL_FTS names DuckDB's text extension.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("testdata has no scripts: %v", err)
	}
	if testing.Short() {
		scripts = slices.DeleteFunc(scripts, func(path string) bool {
			return slices.Contains(inWhole, strings.TrimSuffix(filepath.Base(path), ".txtar"))
		})
	}
	models, err := filepath.Abs(filepath.Join("..", "..", "embed", "hugot", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	crossEncoders, err := filepath.Abs(filepath.Join("..", "..", "testdata", "crossencoder"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files: scripts,
		Setup: func(env *testscript.Env) error {
			env.Setenv("MEMCTL_DB", filepath.Join(env.WorkDir, "memory.db"))
			env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("TESTMODELS", models)
			env.Setenv("CROSSENCODER", crossEncoders)
			env.Setenv("MEMCTL_FTS", os.Getenv("MEMCTL_FTS"))
			return nil
		},
		Condition: func(condition string) (bool, error) {
			if condition != "fts" {
				return false, fmt.Errorf("unknown condition %s", condition)
			}
			return os.Getenv("MEMCTL_FTS") != "", nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits, "await": await, "many": many, "sqlite": sqlite},
	})
}

// inWhole are scripts that the short form leaves out, for they take longest and show again what tests of the engine show.
var inWhole = []string{"bench", "conversation", "demo", "explain", "history", "lineage", "model", "recover", "scopes", "share", "shred", "sql", "values", "hosts"}

func many(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: many NUMBER FILE")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"text\": \"Box %d stands in row %d of the yard.\"}\n", 1000+i, i%17)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o600))
}

func sqlite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sqlite FILE STATEMENTS")
	}
	db, err := sql.Open(sqliteDriver, ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(ts.ReadFile(args[1]))
	ts.Check(errors.Join(err, db.Close()))
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	name := ts.MkAbs(args[0])
	for start := time.Now(); !exists(name); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			ts.Fatalf("%s does not appear", name)
		}
	}
}

// hold FILE READY is a process that has a memory file open for writing, or with a third argument for reading; it makes the file
// READY when it does, and ends when it is killed.
func hold() {
	e, err := engine.Open(context.Background(), os.Args[1], engine.Options{ReadOnly: len(os.Args) > 3})
	if err == nil {
		defer e.Close()
		err = os.WriteFile(os.Args[2], nil, 0o600)
	}
	exitOn(err)
	time.Sleep(time.Hour)
}

// damage FILE WHERE flips a bit at a byte of a file, or with "blocks" in each that holds anything but the first two.
func damage() {
	content, err := os.ReadFile(os.Args[1])
	exitOn(err)
	if at, err := strconv.Atoi(os.Args[2]); err == nil {
		content[at] ^= 1
	} else {
		for at := 3*4096 + 2<<18; at+1<<18 <= len(content); at += 1 << 18 {
			content[at+1000] ^= 1
		}
	}
	exitOn(os.WriteFile(os.Args[1], content, 0o600))
}

// notes N prints that many memories for an import.
func notes() {
	n, err := strconv.Atoi(os.Args[1])
	exitOn(err)
	for i := range n {
		fmt.Printf("{\"text\": \"Container %d stands in row %d of yard %d and waits for a ship.\"}\n", i, i%97, i%7)
	}
}

// anotherModel FILE embeds a file anew with a model that memctl does not know.
func anotherModel() {
	ctx := context.Background()
	e, err := engine.Open(ctx, os.Args[1], engine.Options{Embedder: enginetest.Words{}, ReplaceModel: true})
	exitOn(err)
	_, err = e.RebuildIndex(ctx, index.RebuildRequest{Vectors: true})
	exitOn(errors.Join(err, e.Close()))
}

// tamper is the command break FILE STATEMENT: it runs a statement that memctl would not, as damage does.
func tamper() {
	db, err := sql.Open("duckdb", os.Args[1])
	exitOn(err)
	_, err = db.Exec(os.Args[2])
	exitOn(errors.Join(err, db.Close()))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestExamples holds the examples of all commands against their flags and arguments.
func TestExamples(t *testing.T) {
	root := newRootCommand(newApp(nil, os.Stdout, os.Stderr))
	seen := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if cmd.Long == "" || cmd.Short == "" || cmd.Example == "" {
			t.Errorf("%s: wants Short, Long and Example", cmd.CommandPath())
		}
		for l := range strings.Lines(cmd.Example) {
			for _, call := range strings.Split(l, " | ") {
				if args := shellWords(call); len(args) > 0 && args[0] == "memctl" {
					seen++
					checkExample(t, args[1:])
				}
			}
		}
	}
	walk(root)
	if seen < 40 {
		t.Errorf("saw %d examples: the walk does not find them", seen)
	}
}

func checkExample(t *testing.T, args []string) {
	t.Helper()
	root := newRootCommand(newApp(nil, os.Stdout, os.Stderr))
	cmd, rest, err := root.Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err == nil && cmd.HasSubCommands() && cmd.Name() != "conversation" {
		err = errors.New("names no subcommand")
	}
	if err != nil {
		t.Errorf("memctl %s: %v", strings.Join(args, " "), err)
	}
}

// shellWords splits a line as a shell does, up to a redirection.
func shellWords(s string) (words []string) {
	var quote rune
	var word strings.Builder
	open := false
	for _, r := range strings.TrimSpace(s) + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, open = r, true
		case r != ' ':
			word.WriteRune(r)
			open = true
		case open:
			if word.String() == ">" {
				return words
			}
			words = append(words, word.String())
			word.Reset()
			open = false
		}
	}
	return words
}
