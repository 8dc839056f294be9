package faulttest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// recording is what a process did to the files of a folder, in the order in which the kernel did it, and what it said meanwhile.
type recording []operation

// operation is one of these things.
type operation struct {
	kind    byte   // as the tracer has them; 'm' is what the process said
	acted   bool   // by the tracer
	path    string // in the folder
	other   string
	data    []byte
	at      int64 // where it was written; the size of a truncation
	made    bool  // an opening that made the file
	emptied bool  // one that made it empty
	result  int64 // negative: the call failed
}

// changes reports whether the file system is another one after it.
func (o operation) changes() bool { return o.kind != 'm' && o.result >= 0 }

// readRecording reads what a tracer wrote down.
func readRecording(name string) (r recording, err error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	type head struct {
		Kind, Flags uint8
		Path, Other uint16
		Data        uint32
		At, Result  int64
	}
	for in := bytes.NewReader(content); in.Len() > 0; {
		var h head
		if err := binary.Read(in, binary.LittleEndian, &h); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		o := operation{kind: h.Kind, acted: h.Flags == 1, at: h.At, result: h.Result}
		texts := make([]byte, int(h.Path)+int(h.Other)+int(h.Data))
		if _, err := io.ReadFull(in, texts); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		o.path, texts = string(texts[:h.Path]), texts[h.Path:]
		o.other, o.data = string(texts[:h.Other]), texts[h.Other:]
		if o.kind == 'o' {
			o.made, o.emptied = h.At&1 > 0, h.At&2 > 0
		}
		r = append(r, o)
	}
	return r, nil
}

// action is what the tracer does to calls; the zero value lets all of them run.
type action struct {
	do    string // fail, short, kill, half
	kinds string // of calls; "*": any
	first int    // from 1
	count int    // of calls; 0: until the process says lift
	errno syscall.Errno
}

func (a action) String() string {
	return fmt.Sprintf("%s/%s/%d/%d/%d", a.do, a.kinds, a.first, a.count, int(a.errno))
}

// readAction reads what String wrote.
func readAction(s string) (a action, err error) {
	parts := strings.Split(s, "/")
	if len(parts) != 5 {
		return a, fmt.Errorf("%q has %d parts, not 5", s, len(parts))
	}
	a.do, a.kinds = parts[0], parts[1]
	var errs [3]error
	var errno int
	a.first, errs[0] = strconv.Atoi(parts[2])
	a.count, errs[1] = strconv.Atoi(parts[3])
	errno, errs[2] = strconv.Atoi(parts[4])
	a.errno = syscall.Errno(errno)
	return a, errors.Join(errs[:]...)
}

// tracer is the program, compiled once for all tests.
var tracer = sync.OnceValues(func() (string, error) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		return "", err
	}
	place, err := workplace()
	if err != nil {
		return "", err
	}
	program := filepath.Join(place, "tracer")
	if out, err := exec.Command(compiler, "-O2", "-Wall", "-Werror", "-o", program, filepath.Join("testdata", "tracer.c")).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

// traced is a process that has ended, with what it did.
type traced struct {
	log       string // the file with the recording
	folder    string // where it did it: "life", beside the recording
	from      string // what was in it before: "from", beside them; "": nothing
	recording recording
	status    int // of its exit; 128 and the signal that killed it
	stderr    string
}

// staging is how a child runs under the tracer.
type staging struct {
	action
	place string // a folder of the test's, with or without the folder life in it; default one that is made
	from  string // a folder whose files it finds; "": none
	role  string
	args  []string // after the folder
}

// run runs a child until its end.
func run(s staging) (p traced, err error) {
	program, err := tracer()
	if err != nil {
		return p, err
	}
	if s.do == "" {
		s.do, s.kinds = "none", "*"
	}
	if s.place == "" {
		if s.place, err = newFolder(); err != nil {
			return p, err
		}
	}
	p = traced{log: filepath.Join(s.place, "recording"), folder: filepath.Join(s.place, "life")}
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return p, err
	}
	if s.from != "" {
		p.from = filepath.Join(s.place, "from")
		if err := errors.Join(os.CopyFS(p.from, os.DirFS(s.from)), os.CopyFS(p.folder, os.DirFS(s.from))); err != nil {
			return p, err
		}
	}
	args := []string{p.log, p.folder, s.do, s.kinds, strconv.Itoa(s.first), strconv.Itoa(s.count), strconv.Itoa(int(s.errno)), os.Args[0], p.folder}
	cmd := exec.Command(program, append(args, s.args...)...)
	cmd.Env = append(os.Environ(), childRole+"="+s.role, "GODEBUG=asyncpreemptoff=1") // preemption by signals would stop it for nothing
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return p, err
	}
	p.status, p.stderr = cmd.ProcessState.ExitCode(), stderr.String()
	if p.recording, err = readRecording(p.log); err != nil {
		err = fmt.Errorf("%w; %s", err, p.stderr)
	}
	return p, err
}

// place is the folder that all of it is in.
func (p traced) place() string { return filepath.Dir(p.log) }

// wasKilled reports whether the tracer ended the process.
func (p traced) wasKilled() bool { return p.status == 128+int(syscall.SIGKILL) }

// staged is run in a folder that goes when the test ends.
func staged(t *testing.T, s staging) traced {
	t.Helper()
	if s.place == "" {
		s.place = scratch(t)
	}
	p, err := run(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// needTracer skips a test where processes can't be traced, and with -short, as under the race detector, which sees nothing of what children do. Such
// tests wait for disks and children, so they run side by side.
func needTracer(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: a process for every moment of a file's life")
	}
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skipf("the tracer knows Linux on amd64, not %s on %s", runtime.GOOS, runtime.GOARCH)
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skipf("no C compiler for the tracer: %v", err)
	}
	program, err := tracer()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, os.DevNull, "/", "none", "*", "0", "0", "0", "/bin/true").CombinedOutput(); err != nil {
		t.Skipf("processes can't be traced here: %v: %s", err, out)
	}
}

// fastFolder is in memory where the system has such a place: what is tested is what the files hold, not the disk.
func fastFolder() string {
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err == nil && info.IsDir() {
		return memory
	}
	return os.TempDir()
}

// workplace has all folders of this run, until its end.
var workplace = sync.OnceValues(func() (string, error) { return os.MkdirTemp(fastFolder(), "mallard-faults-") })

func newFolder() (string, error) {
	place, err := workplace()
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(place, "")
}

// scratch is a folder of the test's own.
func scratch(t testing.TB) string {
	t.Helper()
	folder, err := newFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}
