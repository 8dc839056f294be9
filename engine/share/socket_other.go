//go:build !unix

package share

import (
	"context"
	"errors"
	"net"
	"os"
)

// listen makes a socket that those may use who may write into the folder.
func listen(address string) (net.Listener, error) {
	if err := os.Remove(address); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", address)
}

func dial(ctx context.Context, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", address)
}
