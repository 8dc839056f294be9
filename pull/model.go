package pull

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ModelRequest says which model to fetch, and where to.
type ModelRequest struct {
	// Name is that of a known model, or the folder's name for another one; default for that the last part of From.
	Name string
	// To is the folder of models, in which the model gets a folder of its name. Required.
	To string
	// From is the repository at the hub (owner/name), or the address of a folder of files. Default the known model's.
	From string
	// Revision is a commit, branch or tag of the repository. Default the lock's, else "main".
	Revision string
	// Graph is the file of the repository that is fetched as the graph. Default onnx/model.onnx. Another one keeps its name.
	Graph string
	// Lock takes what is in no lock as it comes, and locks it in LockFile.
	Lock bool
}

// usualGraph is where repositories have the graph.
const usualGraph = "onnx/model.onnx"

// wish is a file that a model wants; one that may be absent is left out then.
type wish struct {
	File
	optional bool
}

// task is a pull of a model on its way.
type task struct {
	Source
	request  ModelRequest
	known    Known // its Name is "" for another one
	source   string
	revision string
	folder   string
	lock     bool   // what comes is locked
	wishes   []wish // in the order of fetching
}

// Model brings a model's folder, unless it is there as locked. The error is an Invalid, Unlocked, Mismatch, or a Missing, which says what would have to
// be done by hand.
func (s Source) Model(ctx context.Context, r ModelRequest) (*Pulled, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &task{Source: s, request: r}
	if err := t.identify(); err != nil {
		return nil, err
	}
	release, err := hold(ctx, filepath.Join(r.To, parts, t.request.Name))
	if err != nil {
		return nil, err
	}
	defer release()
	if err := t.consult(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(t.folder); err == nil {
		return t.inspect(ctx)
	}
	return t.pull(ctx)
}

// identify settles which model it is.
func (t *task) identify() error {
	r := &t.request
	if r.To == "" {
		return &Invalid{"to", "", "a folder for models"}
	}
	if r.Name == "" && r.From != "" {
		r.Name = path.Base(strings.TrimRight(r.From, "/"))
	}
	if err := checkName(r.Name); err != nil {
		return err
	}
	known, ok := FindKnown(r.Name)
	if ok && (r.From == "" || r.From == known.Source) {
		t.known = known
	}
	t.source = cmp.Or(r.From, t.known.Source)
	if t.source == "" {
		return &Invalid{"name", r.Name, "a known model"}
	}
	if t.known.Refused != "" {
		return &Invalid{"name", r.Name, "a model that can be run here; " + t.known.Refused}
	}
	if strings.Contains(t.source, "://") {
		if err := checkAddress("from", t.source); err != nil {
			return err
		}
	} else if owner, name, ok := strings.Cut(t.source, "/"); !ok || checkName(owner) != nil || checkName(name) != nil {
		return &Invalid{"from", t.source, "owner/name at the hub, or an address that begins with https:// or http://"}
	}
	if strings.ContainsAny(r.Revision, "?#\\ ") || strings.Contains(r.Revision, "..") {
		return &Invalid{"revision", r.Revision, "a commit, branch or tag"}
	}
	r.Graph = cmp.Or(r.Graph, usualGraph)
	if !filepath.IsLocal(filepath.FromSlash(r.Graph)) || path.Ext(r.Graph) != ".onnx" {
		return &Invalid{"graph", r.Graph, "the path of an .onnx file in the repository"}
	}
	t.folder = filepath.Join(r.To, r.Name)
	return nil
}

// consult asks the locks, the user's own first, what the files have to be.
func (t *task) consult() error {
	r := t.request
	own, err := readLock(r.To)
	if err != nil {
		return err
	}
	locked, ok := own.Models[r.Name]
	if !ok && t.known.Locked() {
		locked, ok = entry{t.known.Source, t.known.Revision, t.known.Files}, true
	}
	if ok && locked.Source == t.source && (r.Revision == "" || r.Revision == locked.Revision) && has(locked.Files, r.Graph) {
		t.revision = locked.Revision
		for _, f := range locked.Files {
			t.wishes = append(t.wishes, wish{f, false})
		}
		return nil
	}
	t.revision = cmp.Or(r.Revision, "main")
	if !r.Lock {
		return &Unlocked{r.Name, t.source, r.Revision}
	}
	t.lock = true
	t.wishes = []wish{{File{Path: "config.json"}, false}, {File{Path: "tokenizer.json"}, false}, {File{Path: r.Graph}, false}, {File{Path: r.Graph + "_data"}, true}}
	if t.known.Name == "" {
		for _, name := range []string{"1_Pooling/config.json", "sentence_bert_config.json", "config_sentence_transformers.json", "modules.json"} {
			t.wishes = append(t.wishes, wish{File{Path: name}, true})
		}
	}
	return nil
}

func has(files []File, path string) bool {
	for _, f := range files {
		if f.Path == path {
			return true
		}
	}
	return false
}

// inspect holds a folder that is there to the lock, or locks it as it is.
func (t *task) inspect(ctx context.Context) (*Pulled, error) {
	var files []File
	var missing []MissingFile
	for _, w := range t.wishes {
		size, sum, err := hashFile(filepath.Join(t.folder, filepath.FromSlash(w.Path)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if !w.optional {
				missing = append(missing, MissingFile{w.File, t.address(w.Path)})
			}
			continue
		case err != nil:
			return nil, err
		case w.SHA256 != "" && w.SHA256 != sum:
			return nil, fmt.Errorf("%w; move the folder away to fetch it again", &Mismatch{filepath.Join(t.folder, filepath.FromSlash(w.Path)), sum, w.SHA256})
		}
		files = append(files, File{w.Path, size, sum})
	}
	if missing != nil {
		return nil, &Missing{t.request.Name, missing, fmt.Errorf("%s is there, but not whole", t.folder), t.byHand()}
	}
	if err := t.settings(t.folder); err != nil {
		return nil, err
	}
	return t.done(ctx, files, true)
}

// pull fetches all files into a folder beside, and then gives that its name.
func (t *task) pull(ctx context.Context) (*Pulled, error) {
	if err := t.pin(ctx); err != nil {
		return nil, t.missing(nil, err)
	}
	staged := filepath.Join(t.request.To, parts, t.request.Name+"@"+strings.ReplaceAll(t.revision, "/", "_"))
	var files []File
	for i, w := range t.wishes {
		if size, sum, err := hashFile(filepath.Join(staged, filepath.FromSlash(w.Path))); err == nil && w.SHA256 == "" && isCommit(t.revision) {
			files = append(files, File{w.Path, size, sum}) // it came in an earlier call, of the same commit
			continue
		}
		got, err := t.fetch(ctx, t.address(w.Path), filepath.Join(staged, filepath.FromSlash(w.Path)), w.File)
		if w.optional && errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return nil, t.missing(t.wishes[i:], err)
		}
		files = append(files, got)
	}
	if err := t.settings(staged); err != nil {
		return nil, err
	}
	pulled, err := t.done(ctx, files, false)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(staged, t.folder); err != nil {
		return nil, err
	}
	return pulled, nil
}

// missing says of a failure what is not there. A hash that differs, a disk that is full and a call that was ended are told as they are.
func (t *task) missing(wishes []wish, err error) error {
	if errors.Is(err, context.Canceled) || errors.As(err, new(*Mismatch)) || errors.As(err, &written{}) {
		return err
	}
	if wishes == nil {
		wishes = t.wishes
	}
	var files []MissingFile
	for _, w := range wishes {
		if !w.optional {
			files = append(files, MissingFile{w.File, t.address(w.Path)})
		}
	}
	return &Missing{t.request.Name, files, err, t.byHand()}
}

func (t *task) byHand() string {
	return fmt.Sprintf("put the files into %s under these names, and call once more, which holds them to the lock.", t.folder)
}

// done notes the lock, if there is one to note, and says what was pulled.
func (t *task) done(ctx context.Context, files []File, already bool) (*Pulled, error) {
	if t.lock {
		if err := noteLock(ctx, t.request.To, t.request.Name, entry{t.source, t.revision, files}); err != nil {
			return nil, err
		}
	}
	return &Pulled{Name: t.request.Name, Folder: t.folder, Source: t.source, Revision: t.revision, Files: files, Already: already, Locked: t.lock}, nil
}

// address is where a file of the repository is.
func (t *task) address(file string) string {
	if strings.Contains(t.source, "://") {
		return strings.TrimRight(t.source, "/") + "/" + file
	}
	return t.Hub + "/" + t.source + "/resolve/" + url.PathEscape(t.revision) + "/" + file
}

// pin finds the commit that a branch or a tag is now, where the hub says so.
func (t *task) pin(ctx context.Context) error {
	if isCommit(t.revision) || strings.Contains(t.source, "://") {
		return nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, t.address(t.wishes[0].Path), nil)
	if err != nil {
		return err
	}
	response, hops, err := t.ask(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	for _, h := range append(hops, response.Header) {
		if commit := h.Get("X-Repo-Commit"); isCommit(commit) {
			t.revision = commit
			return nil
		}
	}
	return nil
}

func isCommit(revision string) bool {
	raw, err := hex.DecodeString(revision)
	return err == nil && len(raw) == 20
}

// settings writes what is known of a model and read from small files of its folder: so they need no fetching, and say what is meant here.
func (t *task) settings(folder string) error {
	k := t.known
	if k.Name == "" {
		return nil
	}
	files := map[string]any{"sentence_bert_config.json": map[string]any{"max_seq_length": k.Tokens}}
	if k.Kind == Embedding {
		files["1_Pooling/config.json"] = map[string]any{"word_embedding_dimension": k.Dims, "pooling_mode_" + map[string]string{"cls": "cls_token", "mean": "mean_tokens"}[k.Pooling]: true}
		if k.Query != "" || k.Passage != "" {
			files["config_sentence_transformers.json"] = map[string]any{"prompts": map[string]string{"query": k.Query, "document": k.Passage}}
		}
	}
	for name, content := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if _, err := os.Stat(file); err == nil {
			continue
		}
		text, err := json.Marshal(content)
		if err == nil {
			err = writeSynced(file, append(text, '\n'))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
