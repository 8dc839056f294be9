package main

import (
	"cmp"
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
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/share"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// app is one call of the program: its streams and the flags that every command has.
type app struct {
	stdin  io.Reader
	stdout *printed
	stderr io.Writer

	db, agent, model, lexical, config, language string
	json, quiet                                 bool
	wait                                        time.Duration
	memory                                      megabytes
	scope                                       scopeFlag // of the command, where it has one

	progress *progress // of the work under way; nil: none
	running  bool      // flags and arguments were in order, the command itself is at work
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{stdin: stdin, stdout: &printed{Writer: stdout}, stderr: stderr}
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
		if err = a.stdout.err; err == nil {
			return exitOK
		}
		a.running = true // the work was done, and nobody will read of it
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
	canEmbed     access = 1 << iota // brings the model
	canWrite                        // has the file alone
	canCreate                       // makes the file when there is none
	canAsk                          // brings the language model, where one is configured
	canExplore                      // brings it where it is to say what large files hold
	holds                           // has the file for long, and answers others
	canAskHolder                    // asks the process that has the file, when there is one and it shares it
	canRerank                       // brings the reranker, where one is configured
)

// with opens the file, lets do work on it and closes it.
func (a *app) with(ctx context.Context, how access, do func(*engine.Engine) error) error {
	return a.withOptions(ctx, how, engine.Options{}, do)
}

func (a *app) withOptions(ctx context.Context, how access, o engine.Options, do func(*engine.Engine) error) error {
	return a.reach(ctx, how, o, func(r *share.Reader) error { return do(r.Engine) })
}

// asking is with for a command that the process which has the file can answer as well, if there is one and it shares the file.
func (a *app) asking(ctx context.Context, how access, do func(*share.Reader) error) error {
	return a.askingWith(ctx, how, engine.Options{}, do)
}

func (a *app) askingWith(ctx context.Context, how access, o engine.Options, do func(*share.Reader) error) error {
	if o.Reranker == nil { // that process has none of ours
		how |= canAskHolder
	}
	return a.reach(ctx, how, o, do)
}

func (a *app) reach(ctx context.Context, how access, o engine.Options, do func(*share.Reader) error) error {
	path, err := a.path(how)
	if err != nil {
		return err
	}
	o.ReadOnly, o.Language = how&canWrite == 0, a.language
	a.chooseLexical(&o)
	if how&canCreate == 0 && path != ":memory:" && !exists(path) {
		return fmt.Errorf("%w: there is no file %s; `memctl remember`, `append`, `import` and `session import` make one", engine.ErrNotFound, path)
	}
	if how&canEmbed != 0 {
		model, err := a.openEmbedder()
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
	o.Conversation, o.Rolling, o.Turns = c.Conversation, c.Rolling, c.Turns
	preset := cmp.Or(o.Extraction.Admission.Preset, c.Admission.Preset)
	o.Extraction = c.Extraction
	o.Extraction.Admission = c.Admission
	o.Extraction.Admission.Preset = preset
	o.EmbeddingCacheMB = c.Embedding.CacheMB
	if o.MemoryLimit == 0 {
		o.MemoryLimit = a.memoryLimit(c)
	}
	if how&holds == 0 {
		o.ResidentMB = -1 // it asks once
		if info, err := os.Stat(path); how&canExplore == 0 && err == nil && info.Size() < smallFile {
			o.Threads = 1
		}
	}
	if how&canAsk != 0 || how&canExplore != 0 && c.Conversation.SummarizeFiles {
		if o.LLM, o.Fallbacks, err = c.LLM.open(); err != nil {
			return err
		}
	}
	if how&canRerank != 0 && o.Reranker == nil {
		model, err := c.Reranker.open()
		if err != nil {
			return err
		}
		defer model.Close()
		o.Reranker = model.Reranker
	}
	o.RerankDeadline = time.Duration(c.Reranker.Deadline)
	o.Related = relatedWords
	bar := newProgress(a)
	defer bar.stop()
	o.Progress = bar.report
	r, err := a.open(ctx, path, how, o)
	if err != nil {
		return err
	}
	if r.Engine != nil { // else the holder was told
		for _, notice := range r.Engine.Notices() {
			a.note("%s", notice)
		}
	}
	if err := errors.Join(a.checkLanguage(ctx, r), a.checkScopes(ctx, r)); err != nil {
		return errors.Join(err, r.Close())
	}
	return errors.Join(do(r), r.Close()) // not deferred: an engine at work when it panics can't be closed
}

// smallFile is how many bytes a file has at least in which a second thread of the database finds something to do in one call: below, it is only waited for.
const smallFile = 16 << 20

// chooseLexical fills in where words are looked up.
func (a *app) chooseLexical(o *engine.Options) {
	if o.Lexical == "" {
		o.Lexical = setup.LexicalBackend(a.lexical)
	}
	if o.Lexical == setup.FTSBackend {
		o.FTS = os.Getenv("MEMCTL_FTS")
	}
}

// share lets other programs read the file meanwhile. Where that can't be they wait, as for any other that has it, and it is said why.
func (a *app) share(e *engine.Engine) (stop func()) {
	end, err := share.Serve(e)
	if err != nil {
		a.note("Other programs can't read the file meanwhile: %v", err)
		return func() {}
	}
	return func() {
		if err := end(); err != nil {
			a.note("The socket that others read through: %v", err)
		}
	}
}

// memoryLimit is that of the database: --memory, else what the configuration says, else 0.
func (a *app) memoryLimit(c *config) int { return int(cmp.Or(a.memory, c.Database.Memory)) }

// unnoticed is how long is waited for a file before it is said.
const unnoticed = 500 * time.Millisecond

// open opens the file. One that another process has is asked for through that one, where how says that it may be, or waited for.
func (a *app) open(ctx context.Context, path string, how access, o engine.Options) (*share.Reader, error) {
	if a.wait < 0 {
		return nil, usage("wait: %s; allowed: 0 or more", a.wait)
	}
	caller := share.Caller{Agent: a.agent, Lexical: o.Lexical}
	if o.Embedder != nil {
		caller.Model, caller.Fingerprint = o.Embedder.Model(), o.Embedder.Fingerprint()
	}
	var locked error
	quietly := min(a.wait, unnoticed)
	for i, wait := range []time.Duration{0, quietly, a.wait - quietly} {
		if i > 0 && wait == 0 {
			break
		}
		if i > 1 {
			a.note("Waiting for the file, %s at most: %v", a.wait, locked)
		}
		o.Wait = wait
		e, err := engine.Open(ctx, path, o)
		if err == nil {
			return share.Of(e), nil
		}
		if o.ReadOnly && errors.Is(err, engine.ErrReadOnly) {
			return a.renew(ctx, path, o, err)
		}
		if !errors.Is(err, engine.ErrLocked) {
			return nil, err
		}
		locked = err
		if how&canAskHolder == 0 {
			continue
		}
		switch r, err := share.Dial(ctx, path, caller); {
		case errors.Is(err, engine.ErrLocked): // to this process, for all that is known
			locked = fmt.Errorf("%w; %w", locked, err)
		case !errors.Is(err, share.ErrNotShared):
			return r, err
		}
	}
	return nil, locked
}

// renew brings a file up to date that an older version made, and opens it to be read.
func (a *app) renew(ctx context.Context, path string, o engine.Options, why error) (*share.Reader, error) {
	writing := o
	writing.ReadOnly, writing.Embedder = false, nil
	e, err := engine.Open(ctx, path, writing)
	if err == nil {
		err = e.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", why, err)
	}
	a.note("The file was made by another version of memctl. It is of this one now.")
	e, err = engine.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	return share.Of(e), nil
}

// checkLanguage refuses another language than the file's: its words would have to be made anew.
func (a *app) checkLanguage(ctx context.Context, r *share.Reader) error {
	if a.language == "" || r.Engine == nil {
		return nil
	}
	has, err := r.Engine.Language(ctx)
	if err == nil && has != a.language {
		err = usage("language is %q; the file's is %s, and stays: allowed: %[2]s, or another file", a.language, has)
	}
	return err
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
