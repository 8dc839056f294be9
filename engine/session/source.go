package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// source is a file as it is read.
type source struct {
	in   *os.File
	size int64
	id   string    // tells it from others that had its name before
	at   time.Time // when it was written last
}

func sourceOf(in *os.File) (source, error) {
	info, err := in.Stat()
	if err != nil {
		return source{}, err
	}
	return source{in, info.Size(), fileID(info), info.ModTime()}, nil
}

// compressed reports whether a file is one that Codex put away.
func compressed(path string) bool { return strings.HasSuffix(path, ".zst") }

// stamp is what a cursor keeps of it: who it is, and when it was written last.
func (s source) stamp() string { return fmt.Sprintf("%s@%d", s.id, s.at.UnixNano()) }

// sameAs says whether a source is the file that a stamp was made of, and whether it was written since.
func (s source) sameAs(stamp string) (same, written bool) {
	id, _, _ := strings.Cut(stamp, "@")
	return id == s.id, stamp != s.stamp()
}

// unpack gives what is in a compressed file, in a file that close removes.
func (s source) unpack(ctx context.Context) (plain source, close func(), err error) {
	out, err := os.CreateTemp("", "transcript-*")
	if err != nil {
		return s, nil, err
	}
	os.Remove(out.Name()) // so that nothing is left of it, whatever becomes of the program; where an open file can't go, it goes below
	close = func() {
		out.Close()
		os.Remove(out.Name())
	}
	plain = s
	plain.in = out
	if plain.size, err = decompress(ctx, out, s.in); err != nil {
		close()
		return s, nil, fmt.Errorf("decompress: %w", err)
	}
	return plain, close, nil
}

func decompress(ctx context.Context, out io.Writer, in io.Reader) (n int64, err error) {
	d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return 0, err
	}
	defer d.Close()
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		more, err := io.CopyN(out, d, 1<<20)
		n += more
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		}
	}
}
