package engine

import (
	"crypto/rand"
	"regexp"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Prefixes of ids.
const (
	memoryPrefix       = "mem_"
	conversationPrefix = "conv_"
	messagePrefix      = "msg_"
	summaryPrefix      = "sum_"
	filePrefix         = "file_"
	compactionPrefix   = "cmp_"
	grantPrefix        = "grant_"
)

// shortID is how many characters of an id's ending are shown, and the fewest that are accepted.
const (
	shortID  = 8
	minShort = 6
)

// validID is what an id that a caller brings may look like.
var validID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{2,127}$`)

const allowedID = "3 to 128 letters, digits, '.', '_', ':' or '-', the first a letter or digit"

const idLetters = "0123456789abcdefghjkmnpqrstvwxyz"

// newID gives an id that Options.NewID made, or says what is wrong with it. Whether it is taken shows when it is written.
func (e *Engine) newID(prefix string, at time.Time) (string, error) {
	id := e.opts.NewID(prefix, at)
	if !strings.HasPrefix(id, prefix) || len(id) == len(prefix) || !validID.MatchString(id) {
		return "", fault.Invalid("what Options.NewID gave", id, fault.Quote(prefix)+" and up to 120 letters, digits, '.', '_', ':' or '-' after it")
	}
	return id, nil
}

// randomID gives the prefix, ten characters of time (milliseconds, sortable) and sixteen random ones.
func randomID(prefix string, at time.Time) string {
	var body [26]byte
	ms := uint64(at.UnixMilli())
	for i := 9; i >= 0; i-- {
		body[i] = idLetters[ms&31]
		ms >>= 5
	}
	rand.Read(body[10:])
	for i, b := range body[10:] {
		body[10+i] = idLetters[b&31]
	}
	return prefix + string(body[:])
}

// ShortID is the ending of an id that people are shown; Get and the other verbs accept it while it is unique.
func ShortID(id string) string {
	if len(id) <= shortID {
		return id
	}
	return id[len(id)-shortID:]
}
