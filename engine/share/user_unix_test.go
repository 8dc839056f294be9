//go:build unix

package share_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/share"
)

const addressesAreShort = runtime.GOOS != "linux"

// anotherUser dials as one. Only root can be another; anybody else takes his own right away.
func anotherUser(t *testing.T, path string) {
	t.Helper()
	if os.Getuid() != 0 {
		if err := os.Chmod(path+".sock", 0); err != nil {
			t.Fatal(err)
		}
		if _, err := share.Dial(t.Context(), path, share.Caller{}); !errors.Is(err, engine.ErrLocked) {
			t.Errorf("without a right to the socket: %v", err)
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("/tmp", "share") // the test's own is not everybody's to run
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	binary := filepath.Join(folder, "share.test")
	content, err := os.ReadFile(self)
	if err := errors.Join(err, os.WriteFile(binary, content, 0o755), os.Chmod(folder, 0o755), os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.run=^TestOwnerOnly$")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "SHARE_TEST_DIAL="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
