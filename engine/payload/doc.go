// Package payload keeps large contents by their hash: the bytes of messages and blocks as a host wrote them, texts of large files.
//
// It owns the table payloads and the folder beside the file, where the largest lie. A content is in the folder, synced and under its name, before the
// row that refers to it is committed. What a purge leaves without a reference goes by RemoveUnused; a file of the folder that no row names, by
// CheckPayloadFiles.
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
