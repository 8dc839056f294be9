package faulttest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// played is what a child that nothing traces said until its end, which it comes to by itself: one that hangs longer is ended, and says where it hung.
type played struct {
	marks  []mark
	status string
	stderr string
}

// play runs a child in a role. What it does may take so long.
func play(t *testing.T, takes time.Duration, role string, args ...string) (p played) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), takes+deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), childRole+"="+role)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = deadline
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		p.status = err.Error()
	}
	p.stderr = stderr.String()
	for lines := bufio.NewScanner(&stdout); lines.Scan(); {
		var m mark
		if json.Unmarshal(lines.Bytes(), &m) == nil {
			p.marks = append(p.marks, m)
		}
	}
	return p
}

// report logs the child's notes, and fails the test for its faults, and for its death.
func (p played) report(t *testing.T) {
	t.Helper()
	for _, m := range p.marks {
		switch {
		case m.Fault != "":
			t.Error(m.Fault)
		case m.Note != "":
			t.Log(m.Note)
		}
	}
	if p.status != "" {
		const most = 8000
		t.Errorf("the process ended with %s: %s\n%s", p.status, lastWords(p.stderr), p.stderr[:min(len(p.stderr), most)])
	}
}
