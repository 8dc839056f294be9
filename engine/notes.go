package engine

import (
	"context"

	"github.com/mallardmem/mallard/engine/note"
)

// What stands in a host's Markdown files: package note.

// SyncNotes brings the notes of a folder to what its files say now; what is the same is passed over, what is gone leaves.
func (e *Engine) SyncNotes(ctx context.Context, r note.SyncRequest) (*note.Synced, error) {
	return e.notes.Sync(ctx, r)
}

// NoteFiles lists the files that have notes.
func (e *Engine) NoteFiles(ctx context.Context, r note.FilesRequest) ([]note.File, error) {
	return e.notes.Files(ctx, r)
}

// ReadNote gives lines of a file that has notes, as it was when it was read last.
func (e *Engine) ReadNote(ctx context.Context, r note.ReadRequest) (*note.Piece, error) {
	return e.notes.Read(ctx, r)
}

// ForgetNotes removes the notes of a file, or of all files of a folder, for good, and gives how many files that were.
func (e *Engine) ForgetNotes(ctx context.Context, r note.ForgetRequest) (n int, err error) {
	return e.notes.Forget(ctx, r)
}
