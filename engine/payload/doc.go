// Package payload keeps large contents by their hash: the bytes of messages and blocks as a host wrote them, texts and bytes of large files.
//
// It owns the table payloads and the folder beside the file, where the largest lie. A content is in the folder, synced and under its name, before the
// row that refers to it is committed. A purge removes those that nothing refers to any more; what else no row names, such as what a broken write left, is removed
// by CheckPayloadFiles, which Doctor and Shred call.
//
// It asks duck for transactions, and has no lock: what lies in the folder never changes, and orphans are removed with the writer's lock.
package payload

import (
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/setup"
)

// Contents are those of one file.
type Contents struct {
	file *duck.File
	opts setup.Options
}

// New gives the contents of a file, after it has removed what a process that ended had begun to write.
func New(file *duck.File, o setup.Options) (*Contents, error) {
	ct := &Contents{file: file, opts: o}
	if file.Writable() {
		return ct, ct.clearUnfinished()
	}
	return ct, nil
}
