package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// app is one call of the program: its streams and the flags that every command has.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	db, agent, model, lexical, config string
	json, quiet                       bool
	wait                              time.Duration
	scope                             scopeFlag // of the command, where it has one

	progress *progress // of the work under way; nil: none
	running  bool      // flags and arguments were in order, the command itself is at work
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{stdin: stdin, stdout: stdout, stderr: stderr}
}

// run executes a command line and gives the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := newRootCommand(a)
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("interrupted: %w", err)
	}
	if !a.running { // the flag may stand behind the one that is wrong
		a.json = a.json || slices.Contains(args, "--json")
	}
	code := a.exitCode(err)
	switch {
	case errors.Is(err, errReported):
	case a.json:
		json.NewEncoder(a.stderr).Encode(map[string]string{"error": worded(err)})
	default:
		fmt.Fprintf(a.stderr, "memctl: %s\n", printable(worded(err)))
		if code == exitUsage {
			fmt.Fprintf(a.stderr, "See `%s --help`.\n", cmd.CommandPath())
		}
	}
	return code
}

// errReported is the failure of a command that has printed what failed.
var errReported = errors.New("reported")

// usageError: a flag or an argument that only the command itself could judge is wrong.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func (e usageError) Unwrap() error { return e.error }

func (a *app) exitCode(err error) int {
	if wrong := (usageError{}); !a.running || errors.As(err, &wrong) || errors.Is(err, engine.ErrInvalid) || errors.Is(err, engine.ErrBadScope) {
		return exitUsage
	}
	return exitFailed
}

// text is what the caller has to say: the arguments as one text, or standard input when the only one is "-".
func (a *app) text(args []string) (string, error) {
	if len(args) != 1 || args[0] != "-" {
		return strings.Join(args, " "), nil
	}
	b, err := io.ReadAll(a.stdin)
	if err != nil {
		return "", fmt.Errorf("standard input: %w", err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// input opens a file, or standard input for "-".
func (a *app) input(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.stdin), nil
	}
	return os.Open(name)
}

// readJSON reads a file that a person wrote into dest; a key that dest has no field for is an error.
func (a *app) readJSON(name string, dest any) error {
	in, err := a.input(name)
	if err != nil {
		return err
	}
	defer in.Close()
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	if err := d.Decode(dest); err != nil {
		return usage("%s: %w", name, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return usage("%s: more than one JSON document", name)
	}
	return nil
}

// access says what a command does with the file. Zero only reads, and needs no vectors: it works whatever model they are from.
type access int

const (
	canEmbed   access = 1 << iota // brings the model
	canWrite                      // has the file alone
	canCreate                     // makes the file when there is none
	canAsk                        // brings the language model, where one is configured
	canExplore                    // brings it where it is to say what large files hold
)

// with opens the file, lets do work on it and closes it.
func (a *app) with(ctx context.Context, how access, do func(*engine.Engine) error) error {
	return a.withOptions(ctx, how, engine.Options{}, do)
}

func (a *app) withOptions(ctx context.Context, how access, o engine.Options, do func(*engine.Engine) error) error {
	path, err := a.path(how)
	if err != nil {
		return err
	}
	o.ReadOnly = how&canWrite == 0
	if o.Lexical == "" {
		o.Lexical = engine.LexicalBackend(a.lexical)
	}
	if o.Lexical == engine.FTSBackend {
		o.FTS = os.Getenv("MEMCTL_FTS")
	}
	if how&canCreate == 0 && path != ":memory:" && !exists(path) {
		return fmt.Errorf("%w: there is no file %s; `memctl remember`, `append`, `import` and `session import` make one", engine.ErrNotFound, path)
	}
	if how&canEmbed != 0 {
		model, err := openModel(a.model)
		if err != nil {
			return err
		}
		defer model.Close()
		a.noteModel(model)
		o.Embedder = model.Embedder
	}
	c, err := loadConfig(a.config)
	if err != nil {
		return err
	}
	o.Conversation = c.Conversation
	if how&canAsk != 0 || how&canExplore != 0 && c.Conversation.SummarizeFiles {
		if o.LLM, err = c.LLM.open(); err != nil {
			return err
		}
	}
	o.Related = relatedWords
	bar := newProgress(a)
	defer bar.stop()
	o.Progress = bar.report
	e, err := a.open(ctx, path, o)
	if err != nil {
		return err
	}
	for _, notice := range e.Notices() {
		a.note("%s", notice)
	}
	if err := a.checkScopes(ctx, e); err != nil {
		return errors.Join(err, e.Close())
	}
	return errors.Join(do(e), e.Close()) // not deferred: an engine at work when it panics can't be closed
}

// unnoticed is how long is waited for a file before it is said.
const unnoticed = 500 * time.Millisecond

// open opens the file. One that another process has is waited for.
func (a *app) open(ctx context.Context, path string, o engine.Options) (*engine.Engine, error) {
	if a.wait < 0 {
		return nil, usage("wait: %s; allowed: 0 or more", a.wait)
	}
	o.Wait = min(a.wait, unnoticed)
	e, err := engine.Open(ctx, path, o)
	if errors.Is(err, engine.ErrLocked) && a.wait > o.Wait {
		a.note("Waiting for the file, %s at most: %v", a.wait, err)
		o.Wait = a.wait - o.Wait
		e, err = engine.Open(ctx, path, o)
	}
	return e, err
}

// path is the file's: --db, else MEMCTL_DB, else the user's own, whose folder is made with it.
func (a *app) path(how access) (string, error) {
	if a.db != "" {
		return a.db, nil
	}
	if path := os.Getenv("MEMCTL_DB"); path != "" {
		return path, nil
	}
	folder, err := dataFolder()
	if err != nil {
		return "", fmt.Errorf("%w; name a file with --db", err)
	}
	folder = filepath.Join(folder, "mallard")
	if how&canCreate != 0 {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return "", err
		}
	}
	return filepath.Join(folder, "mallard.db"), nil
}
