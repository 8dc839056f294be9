package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/mallardmem/mallard/engine"
)

// WatchRequest names the transcripts to follow; the fields are those of an ImportRequest.
type WatchRequest struct {
	Paths  []string // files, which need not exist yet, and folders, whose files may come later
	Host   Host
	Agent  string
	Scope  string
	Redact bool
	// Debounce is how long a file has to be quiet before it is read; one that never is, is read after ten times as long. Default 300 ms.
	Debounce time.Duration
	// Report hears of every file that brought something, or could not be read. Optional.
	Report func(FileReport)
	// Ready is called when what was there at first is stored, and everything after is heard of. Optional.
	Ready func()
}

// defaultDebounce lets a host finish what it writes in one go.
const defaultDebounce = 300 * time.Millisecond

// Watch imports transcripts and then follows them as they grow, until the context ends, which is no error: what was stored by then is
// whole, and a later call goes on from there. Errors: engine.ErrInvalid, fs.ErrNotExist, and those of the engine's writing.
func Watch(ctx context.Context, e *engine.Engine, r WatchRequest) error {
	err := watch(ctx, e, r)
	if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return fmt.Errorf("watch sessions: %w", err)
}

func watch(ctx context.Context, e *engine.Engine, r WatchRequest) (err error) {
	if err := checkHost(r.Host); err != nil {
		return err
	}
	if r.Debounce < 0 {
		return fmt.Errorf("%w: debounce is %s; allowed: 0 or more", engine.ErrInvalid, r.Debounce)
	}
	if len(r.Paths) == 0 {
		if r.Host == "" {
			return fmt.Errorf("%w: paths and host are empty; allowed: either", engine.ErrInvalid)
		}
		if r.Paths, err = Find(r.Host); err != nil {
			return err
		}
	}
	f := &follower{r: r, wait: or(r.Debounce, defaultDebounce), dirty: map[string]bool{}, links: map[string]string{}}
	for _, path := range r.Paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		f.roots = append(f.roots, path)
	}
	if f.im, err = newImporter(ctx, e, ImportRequest{Host: r.Host, Agent: r.Agent, Scope: r.Scope, Redact: r.Redact}); err != nil {
		return err
	}
	f.im.open = &kept{of: map[string]*keptFile{}}
	defer f.im.open.close()
	if f.watcher, err = fsnotify.NewWatcher(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.watcher.Close()) }()
	return f.follow(ctx)
}

// follower follows the files below its roots.
type follower struct {
	r       WatchRequest
	roots   []string // absolute
	im      *importer
	watcher *fsnotify.Watcher
	wait    time.Duration
	dirty   map[string]bool   // files to read when it is quiet
	since   time.Time         // the first of them became so
	links   map[string]string // where a root that is a link to a file leads, and the root
}

func (f *follower) follow(ctx context.Context) error {
	if err := f.scan(); err != nil {
		return err
	}
	if err := f.read(ctx); err != nil {
		return err
	}
	if f.r.Ready != nil {
		f.r.Ready()
	}
	quiet := time.NewTimer(f.wait)
	defer quiet.Stop()
	for {
		if len(f.dirty) == 0 {
			quiet.Stop()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, ok := <-f.watcher.Events:
			if !ok {
				return fsnotify.ErrClosed
			}
			if err := f.notice(event); err != nil {
				return err
			}
		case err := <-f.watcher.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return err
			}
			if err := f.scan(); err != nil { // some were lost: look at everything
				return err
			}
		case <-quiet.C:
			if err := f.read(ctx); err != nil {
				return err
			}
			continue
		}
		if len(f.dirty) > 0 {
			quiet.Reset(max(0, min(f.wait, time.Until(f.since.Add(10*f.wait)))))
		}
	}
}

// scan looks at every root.
func (f *follower) scan() error {
	for _, root := range f.roots {
		if err := f.look(root); err != nil {
			return err
		}
	}
	return nil
}

// look listens to every folder that matters to a root, and notes every file in them. It listens first, so that what comes meanwhile is
// not missed.
func (f *follower) look(root string) error {
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		if err := f.listen(filepath.Dir(root)); err != nil {
			return err
		}
	}
	info, err := os.Stat(root)
	switch {
	case err != nil:
		return nil
	case info.IsDir():
		return f.enter(root)
	}
	f.mark(root)
	target, err := filepath.EvalSymlinks(root)
	if err != nil || target == root {
		return nil
	}
	f.links[target] = root
	return f.listen(filepath.Dir(target))
}

// listen hears of a folder; of one that is not there yet, of the nearest above it.
func (f *follower) listen(folder string) error {
	err := f.watcher.Add(folder)
	above := filepath.Dir(folder)
	if err == nil || !errors.Is(err, fs.ErrNotExist) || above == folder {
		return err
	}
	if err := f.listen(above); err != nil {
		return err
	}
	if _, err := os.Stat(folder); err == nil { // it came just now
		return f.listen(folder)
	}
	return nil
}

// enter listens to a folder and those in it, and notes their files. One that may not be read is reported.
func (f *follower) enter(folder string) error {
	return filepath.WalkDir(within(folder), func(path string, d fs.DirEntry, err error) error {
		path = filepath.Clean(path)
		if err == nil && d.IsDir() {
			err = f.watcher.Add(path)
		}
		switch {
		case errors.Is(err, fs.ErrPermission):
			f.tell(FileReport{Path: path, Error: err.Error()})
			return fs.SkipDir
		case errors.Is(err, fs.ErrNotExist): // gone again
		case errors.Is(err, syscall.ENOSPC):
			return fmt.Errorf("%s: the system lets no more folders be watched (on Linux fs.inotify.max_user_watches): %w", path, err)
		case err != nil:
			return err
		case !d.IsDir() && f.wanted(path):
			f.mark(path)
		}
		return nil
	})
}

// wanted reports whether a file is to be followed.
func (f *follower) wanted(path string) bool {
	for _, root := range f.roots {
		if path == root || below(path, root) && maybeTranscript(path) {
			return true
		}
	}
	return false
}

// below reports whether a path is a folder, or in it.
func below(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+string(filepath.Separator))
}

func (f *follower) mark(path string) {
	if len(f.dirty) == 0 {
		f.since = time.Now()
	}
	f.dirty[path] = true
}

// notice takes one event of the file system.
func (f *follower) notice(event fsnotify.Event) error {
	path := filepath.Clean(event.Name)
	info, err := os.Stat(path)
	folder := err == nil && info.IsDir()
	if event.Has(fsnotify.Create) || event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename) {
		for _, root := range f.roots {
			err = nil
			switch {
			case below(root, path): // it, or a folder on the way to it
				err = f.look(root)
			case folder && below(path, root):
				err = f.enter(path)
			}
			if err != nil {
				return err
			}
		}
	}
	if root, ok := f.links[path]; ok {
		path = root
	}
	if !folder && !event.Has(fsnotify.Chmod) && f.wanted(path) {
		f.mark(path)
	}
	return nil
}

// read brings in what became dirty.
func (f *follower) read(ctx context.Context) error {
	if len(f.dirty) == 0 {
		return nil
	}
	if err := f.im.refresh(ctx); err != nil {
		return err
	}
	var files []found
	for _, path := range slices.Sorted(maps.Keys(f.dirty)) {
		rest, err := f.im.rest(ctx, path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if rest != nil {
			f.tell(*rest)
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			files = append(files, foundAt(path, slices.Contains(f.roots, path), info))
		} else {
			f.im.open.drop(path)
		}
	}
	clear(f.dirty)
	inOrder(files)
	for _, file := range files {
		report, err := f.im.file(ctx, file)
		if err != nil {
			return fmt.Errorf("%s: %w", file.path, err)
		}
		f.tell(report)
	}
	return nil
}

// tell reports a file that brought something, or could not be read.
func (f *follower) tell(report FileReport) {
	if f.r.Report != nil && !report.Unchanged && report.Ignored == "" && (report.Lines > 0 || report.Error != "" || report.Excluded != "") {
		f.r.Report(report)
	}
}
