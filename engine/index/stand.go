package index

import (
	"time"
)

// SessionGap is how long a silence may be within one session of a conversation. The migration 0002 has it too.
const SessionGap = 6 * time.Hour

// Stand is where a document stands in the talk: the session, which is numbered like its first document, and the place in it, from
// 0. Recall looks at what stands just before and after. What belongs to no session stands alone in one of its own.
type Stand struct {
	SessionNo int32
	Place     int32
}

// After gives the stand that follows s, or the first of a new session when s is none.
func (s *Stand) After(docNo int32) Stand {
	if s == nil {
		return Stand{docNo, 0}
	}
	return Stand{s.SessionNo, s.Place + 1}
}
