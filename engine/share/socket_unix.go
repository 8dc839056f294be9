//go:build unix

package share

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// mostAddress is how long a socket's address may be, in bytes: 104 with its end on BSD and macOS, 108 on Linux.
const mostAddress = 103

// listen makes a socket that only its owner may use. Until it has its name nobody listens to it: its rights are set by then, and a socket that a killed
// process left under the name is replaced at once.
func listen(address string) (_ net.Listener, err error) {
	folder, unmade := filepath.Dir(address), "."+strings.ToLower(rand.Text()[:8])+".sock"
	short, done, err := within(folder, unmade)
	if err != nil {
		return nil, err
	}
	defer done()
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), address)
	defer file.Close()
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: short}); err != nil {
		return nil, err
	}
	unmade = filepath.Join(folder, unmade)
	if err := os.Chmod(unmade, 0o600); err != nil {
		return nil, errors.Join(err, os.Remove(unmade))
	}
	if err := syscall.Listen(fd, syscall.SOMAXCONN); err != nil {
		return nil, errors.Join(err, os.Remove(unmade))
	}
	if err := os.Rename(unmade, address); err != nil {
		return nil, errors.Join(err, os.Remove(unmade))
	}
	return net.FileListener(file)
}

func dial(ctx context.Context, address string) (net.Conn, error) {
	short, done, err := reach(address)
	if err != nil {
		return nil, err
	}
	defer done()
	return new(net.Dialer).DialContext(ctx, "unix", short)
}
