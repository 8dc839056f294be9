package session

import (
	"os"
	"slices"
)

// mostKept bounds the outlines in memory, and the open files.
const mostKept = 64

// kept holds the transcripts that were read last, so that following them is to read only what is new. Their files stay open: what was
// written to one right before its name went over to another file, or to none, can still be read. A nil kept keeps nothing.
type kept struct {
	of    map[string]*keptFile // by path
	paths []string             // the one that was read longest ago first
}

type keptFile struct {
	t  *Transcript
	in *os.File // nil where files have no ids: there an open one could not be renamed or removed
}

func (k *kept) get(path string) *keptFile {
	if k == nil {
		return nil
	}
	return k.of[path]
}

// put keeps a transcript, and says whether it does. Its file is closed here, but where it has no id by the caller.
func (k *kept) put(path string, t *Transcript, s source) bool {
	if k == nil {
		return false
	}
	now := &keptFile{t: t}
	if s.id != "" {
		now.in = s.in
	}
	if before := k.of[path]; before == nil || before.in != now.in {
		k.drop(path)
	}
	k.of[path] = now
	k.paths = append(slices.DeleteFunc(k.paths, func(p string) bool { return p == path }), path)
	if len(k.paths) > mostKept {
		k.drop(k.paths[0])
	}
	return true
}

func (k *kept) drop(path string) {
	if v := k.get(path); v != nil {
		v.close()
		delete(k.of, path)
		k.paths = slices.DeleteFunc(k.paths, func(p string) bool { return p == path })
	}
}

func (k *kept) close() {
	for _, v := range k.of {
		v.close()
	}
}

func (v *keptFile) close() {
	if v.in != nil {
		v.in.Close()
	}
}
