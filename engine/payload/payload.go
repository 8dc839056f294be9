package payload

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// mostInline is how many bytes of a host's own writing stay beside the row; more than that go to the table payloads.
const mostInline = 1 << 16

// MostInTable is how many bytes of a payload the file itself holds; more than that lie in the folder beside it.
const MostInTable = 16 << 20

// Pending are contents on their way to the file, by their SHA-256.
type Pending map[string][]byte

// Add gives the hash of a content.
func (p Pending) Add(content []byte) string {
	sum := sha256.Sum256(content)
	name := hex.EncodeToString(sum[:])
	p[name] = content
	return name
}

// Raw is where the exact bytes of something are: beside its row, or in payloads under their hash.
type Raw struct {
	Inline []byte
	SHA256 string
}

// Keep decides where bytes are kept.
func (p Pending) Keep(raw []byte) Raw {
	if len(raw) <= mostInline {
		return Raw{Inline: raw}
	}
	return Raw{SHA256: p.Add(raw)}
}

// apart reports whether a content lies in the folder.
func (ct *Contents) apart(content []byte) bool {
	return len(content) > MostInTable && ct.file.Path() != ":memory:"
}

// PutPayloads writes those contents that the file does not have. The caller has put those that lie apart
// into the folder; one that was taken for an orphan since is put there again.
func (ct *Contents) PutPayloads(ctx context.Context, tx *duck.Write, p Pending) error {
	for name, content := range p {
		var inTable any = content
		if ct.apart(content) {
			inTable = nil
			if err := ct.putApart(name, content); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "payload_put", sql.Named("sha256", name), sql.Named("bytes", int64(len(content))), sql.Named("content", inTable))
		if err != nil {
			return err
		}
	}
	return nil
}

// RemoveUnused removes those contents that no row refers to any more, and tells how many they were, and which files of the folder held some of them: the
// caller removes these when it is committed.
func (ct *Contents) RemoveUnused(ctx context.Context, tx *duck.Write, names []string) (removed int, files []string, err error) {
	if len(names) == 0 {
		return 0, nil, nil
	}
	var unused []string
	err = tx.Each(ctx, "payloads_unused", func(rows *sql.Rows) error {
		var name string
		var apart bool
		err := rows.Scan(&name, &apart)
		unused = append(unused, name)
		if apart {
			files = append(files, ct.ApartName(name))
		}
		return err
	}, sql.Named("sha256s", names))
	if err != nil || len(unused) == 0 {
		return 0, nil, err
	}
	_, err = tx.Exec(ctx, "payloads_delete", sql.Named("sha256s", unused))
	return len(unused), files, err
}

// Content is a payload that can be read; the caller closes it.
type Content struct {
	io.ReaderAt
	io.Closer
	Bytes int64
}

// OpenPayload finds the content of a hash that a row names.
func (ct *Contents) OpenPayload(ctx context.Context, c *duck.Conn, name string) (*Content, error) {
	var size int64
	var inTable []byte
	found, err := c.One(ctx, "payload_get", []any{&size, &inTable}, sql.Named("sha256", name))
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("%w: no payload %s", fault.ErrCorrupt, name)
	}
	if inTable != nil || size == 0 {
		return &Content{bytes.NewReader(inTable), io.NopCloser(nil), size}, nil
	}
	f, err := os.Open(ct.ApartName(name))
	if err != nil {
		return nil, fmt.Errorf("%w: payload %s: %w", fault.ErrCorrupt, name, err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != size {
		f.Close()
		return nil, fmt.Errorf("%w: payload %s is not of %d bytes", fault.ErrCorrupt, f.Name(), size)
	}
	return &Content{f, f, size}, nil
}

// ReadPayload gives a whole content.
func (ct *Contents) ReadPayload(ctx context.Context, c *duck.Conn, name string) ([]byte, error) {
	from, err := ct.OpenPayload(ctx, c, name)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return io.ReadAll(io.NewSectionReader(from, 0, from.Bytes))
}
