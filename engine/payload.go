package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// mostInline is how many bytes of a host's own writing stay beside the row; more than that go to the table payloads.
const mostInline = 1 << 16

// mostInTable is how many bytes of a payload the file itself holds; more than that lie in the folder beside it.
const mostInTable = 16 << 20

// payloads are contents on their way to the file, by their SHA-256.
type payloads map[string][]byte

// add gives the hash of a content.
func (p payloads) add(content []byte) string {
	sum := sha256.Sum256(content)
	name := hex.EncodeToString(sum[:])
	p[name] = content
	return name
}

// keptRaw is where the exact bytes of something are: beside its row, or in payloads under their hash.
type keptRaw struct {
	inline []byte
	sha256 string
}

// keep decides where bytes are kept.
func (p payloads) keep(raw []byte) keptRaw {
	if len(raw) <= mostInline {
		return keptRaw{inline: raw}
	}
	return keptRaw{sha256: p.add(raw)}
}

// apart reports whether a content lies in the folder.
func (e *Engine) apart(content []byte) bool {
	return len(content) > mostInTable && e.path != ":memory:"
}

// putPayloads writes those contents that the file does not have. The caller is in a write transaction, and has put those that lie apart
// into the folder; one that was taken for an orphan since is put there again.
func (e *Engine) putPayloads(ctx context.Context, c *connection, p payloads) error {
	for name, content := range p {
		var inTable any = content
		if e.apart(content) {
			inTable = nil
			if err := e.putApart(name, content); err != nil {
				return err
			}
		}
		_, err := c.exec(ctx, "payload_put", sql.Named("sha256", name), sql.Named("bytes", int64(len(content))), sql.Named("content", inTable))
		if err != nil {
			return err
		}
	}
	return nil
}

// content is a payload that can be read; the caller closes it.
type content struct {
	io.ReaderAt
	io.Closer
	bytes int64
}

// openPayload finds the content of a hash that a row names.
func (e *Engine) openPayload(ctx context.Context, c *connection, name string) (*content, error) {
	var size int64
	var inTable []byte
	found, err := c.one(ctx, "payload_get", []any{&size, &inTable}, sql.Named("sha256", name))
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("%w: no payload %s", ErrCorrupt, name)
	}
	if inTable != nil || size == 0 {
		return &content{bytes.NewReader(inTable), io.NopCloser(nil), size}, nil
	}
	f, err := os.Open(e.apartName(name))
	if err != nil {
		return nil, fmt.Errorf("%w: payload %s: %w", ErrCorrupt, name, err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != size {
		f.Close()
		return nil, fmt.Errorf("%w: payload %s is not of %d bytes", ErrCorrupt, f.Name(), size)
	}
	return &content{f, f, size}, nil
}

// readPayload gives a whole content.
func (e *Engine) readPayload(ctx context.Context, c *connection, name string) ([]byte, error) {
	from, err := e.openPayload(ctx, c, name)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return io.ReadAll(io.NewSectionReader(from, 0, from.bytes))
}
