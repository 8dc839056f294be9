package session

import "time"

// Report says what an import brought.
type Report struct {
	Files     []FileReport `json:"files"`
	Messages  int          `json:"messages"`  // added, events among them
	Events    int          `json:"events"`    // records of the host that are no turns of talk
	Known     int          `json:"known"`     // messages that were stored before
	Parts     int          `json:"parts"`     // blocks that were added to messages stored before
	Summaries int          `json:"summaries"` // of the host, that stand for messages now
	Skipped   int          `json:"skipped"`   // lines that can't be read
	Failed    int          `json:"failed"`    // files
}

// FileReport says what one transcript brought.
type FileReport struct {
	Path           string `json:"path"`
	Host           Host   `json:"host,omitempty"`
	ConversationID string `json:"conversation_id,omitempty"` // of its own thread
	Title          string `json:"title,omitempty"`
	Threads        int    `json:"threads"` // conversations in it
	Lines          int64  `json:"lines"`   // that were read
	Messages       int    `json:"messages"`
	Events         int    `json:"events"`
	Known          int    `json:"known"`
	Parts          int    `json:"parts"`
	Summaries      int    `json:"summaries"`
	Checkpoints    int    `json:"checkpoints,omitempty"`
	Moved          int    `json:"moved"` // messages that left the branch or came back
	// Skipped lines, with the reasons.
	Skipped []Fault `json:"skipped,omitempty"`
	// Pending bytes at the end are a line that is not whole yet.
	Pending int64 `json:"pending,omitempty"`
	// IngestedAt is when the file last brought a new message, now or before.
	IngestedAt time.Time `json:"ingested_at,omitzero"`
	Unchanged  bool      `json:"unchanged,omitempty"` // since the last time
	// Excluded says why nothing of it, or of a sub-agent in it, was stored, by the session gates of the engine's options.
	Excluded string `json:"excluded,omitempty"`
	// Ignored says why a file of a folder is no transcript; Error why one that was named, or is one, could not be read.
	Ignored   string `json:"ignored,omitempty"`
	Error     string `json:"error,omitempty"`
	VectorErr string `json:"vector_error,omitempty"` // the messages are stored, but the model failed
}

// add takes what a file brought.
func (r *Report) add(f FileReport) {
	r.Files = append(r.Files, f)
	r.Messages += f.Messages
	r.Events += f.Events
	r.Known += f.Known
	r.Parts += f.Parts
	r.Summaries += f.Summaries
	r.Skipped += len(f.Skipped)
	if f.Error != "" {
		r.Failed++
	}
}
