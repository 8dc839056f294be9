package ids

import (
	"crypto/rand"
	"regexp"
	"time"
)

// Prefixes of ids.
const (
	Memory       = "mem_"
	Conversation = "conv_"
	Message      = "msg_"
	Summary      = "sum_"
	File         = "file_"
	Compaction   = "cmp_"
	Grant        = "grant_"
	Draft        = "drf_"
	Call         = "call_"
	Import       = "imp_"
	Retraction   = "ret_"
	NoteFile     = "notes_"

	ContextSnapshot = "shot_"
	Checkpoint      = "ckpt_"
)

// How many characters of an id's ending are shown, and the fewest that are accepted.
const (
	short    = 8
	MinShort = 6
)

// Valid is what an id that a caller brings may look like.
var Valid = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{2,127}$`)

// Allowed says of Valid, in words, what that is.
const Allowed = "3 to 128 letters, digits, '.', '_', ':' or '-', the first a letter or digit"

// Letters are those of which an id is made behind its prefix: none of them is taken for another.
const Letters = "0123456789abcdefghjkmnpqrstvwxyz"

// Random gives the prefix, ten characters of time (milliseconds, sortable) and sixteen random ones.
func Random(prefix string, at time.Time) string {
	var body [26]byte
	ms := uint64(at.UnixMilli())
	for i := 9; i >= 0; i-- {
		body[i] = Letters[ms&31]
		ms >>= 5
	}
	rand.Read(body[10:])
	for i, b := range body[10:] {
		body[10+i] = Letters[b&31]
	}
	return prefix + string(body[:])
}

// Short is the ending of an id that people are shown; Get and the other verbs accept it while it is unique.
func Short(id string) string {
	if len(id) <= short {
		return id
	}
	return id[len(id)-short:]
}
