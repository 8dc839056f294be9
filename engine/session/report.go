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
	Memories  int          `json:"memories"`  // of what the host learned
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
	Moved          int    `json:"moved"`    // messages that left the branch or came back
	Marked         int    `json:"marked"`   // messages that the host shows now and withheld before, or the other way round
	Redacted       int    `json:"redacted"` // messages of which the host took back what they said
	Memories       int    `json:"memories"` // that were added
	// Read is what a database had, by table; LeftOut what of it is not stored, by the reason.
	Read    map[string]int `json:"read,omitempty"`
	LeftOut map[string]int `json:"left_out,omitempty"`
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

// Leave counts what is not stored.
func (f *FileReport) Leave(why string, n int) {
	if f.LeftOut == nil {
		f.LeftOut = map[string]int{}
	}
	f.LeftOut[why] += n
}

// Add takes what a file brought.
func (r *Report) Add(f FileReport) {
	r.Files = append(r.Files, f)
	r.Messages += f.Messages
	r.Events += f.Events
	r.Known += f.Known
	r.Parts += f.Parts
	r.Summaries += f.Summaries
	r.Skipped += len(f.Skipped)
	r.Memories += f.Memories
	if f.Error != "" {
		r.Failed++
	}
}
