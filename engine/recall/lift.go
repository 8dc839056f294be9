package recall

import (
	"context"
	"database/sql"
	"slices"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
)

// Lift says what message hits are shown as.
type Lift string

// The ways to lift.
const (
	NoLift        Lift = ""
	LiftToSession Lift = "session" // the best message of each session, with the others of that session that were found
	LiftToSummary Lift = "summary" // the leaf summary above the message; a message without one stays
)

// Lifts lists those that lift.
func Lifts() []Lift { return []Lift{LiftToSession, LiftToSummary} }

// Lifted says of a hit which messages made it one.
type Lifted struct {
	To       Lift         `json:"to"`
	FirstSeq int          `json:"first_seq"` // of the session, or of what the summary stands for
	LastSeq  int          `json:"last_seq"`
	From     []LiftedFrom `json:"from"` // best first
}

// LiftedFrom is a message that was found.
type LiftedFrom struct {
	ID    string  `json:"id"`
	Seq   int     `json:"seq"`
	Score float64 `json:"score"`
}

// liftSpread is how many messages are looked for, for each hit that is wanted, when several of them may become one.
const liftSpread = 5

// above is what a message is lifted to.
type above struct {
	key     string // of the group
	docNo   int32  // of the summary
	of      Lifted
	summary *Hit
}

// lift groups message hits by what is above them. The best score of a group wins, and with it the place.
func (r *recall) lift(ctx context.Context, c *duck.Conn) error {
	if r.query.Lift == NoLift {
		return nil
	}
	r.step = "lift"
	tops, err := r.above(ctx, c)
	if err != nil {
		return err
	}
	groups := map[string]int{}
	var hits []Hit
	for _, h := range r.result.Hits {
		top, from := tops[h.ID], LiftedFrom{h.ID, h.Seq, h.Score}
		key := h.ID
		if top != nil {
			key = top.key
		}
		i, known := groups[key]
		switch {
		case !known:
			groups[key] = len(hits)
			if top != nil {
				h = top.instead(h, from)
			}
			hits = append(hits, h)
		case top != nil && hits[i].Lifted == nil: // the summary was found by itself, and better
			of := top.of
			of.From = []LiftedFrom{from}
			hits[i].Lifted = &of
		case top != nil:
			hits[i].Lifted.From = append(hits[i].Lifted.From, from)
		}
	}
	r.result.Hits = hits[:min(len(hits), r.limit)]
	return nil
}

// instead is the hit that takes the place of the first message of a group.
func (a *above) instead(h Hit, from LiftedFrom) Hit {
	of := a.of
	of.From = []LiftedFrom{from}
	if a.summary != nil {
		score, signals := h.Score, h.Signals
		h = *a.summary
		h.Score, h.Signals = score, signals
	}
	h.Lifted = &of
	return h
}

// above finds what is above each message hit, by the message's id.
func (r *recall) above(ctx context.Context, c *duck.Conn) (map[string]*above, error) {
	var ids []string
	for _, h := range r.result.Hits {
		if h.Kind == kinds.Message {
			ids = append(ids, h.ID)
		}
	}
	tops := map[string]*above{}
	if len(ids) == 0 {
		return tops, nil
	}
	var docNos []int32
	query := "lift_to_session"
	if r.query.Lift == LiftToSummary {
		query = "lift_to_summary"
	}
	err := c.Each(ctx, query, func(rows *sql.Rows) error {
		var id string
		a := &above{of: Lifted{To: r.query.Lift}}
		if err := rows.Scan(&id, &a.key, &a.docNo, &a.of.FirstSeq, &a.of.LastSeq); err != nil {
			return err
		}
		if tops[id] = a; !slices.Contains(docNos, a.docNo) {
			docNos = append(docNos, a.docNo)
		}
		return nil
	}, sql.Named("ids", ids))
	if err != nil || r.query.Lift != LiftToSummary || len(docNos) == 0 {
		return tops, err
	}
	summaries, err := hitsOf(ctx, c, []kinds.Kind{kinds.Summary}, docNos, r.query.Level)
	for _, a := range tops {
		if h, ok := summaries[a.docNo]; ok {
			a.summary = &h
		}
	}
	return tops, err
}
