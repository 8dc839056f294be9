package assemble

import (
	"context"
	"database/sql"

	"github.com/mallardmem/mallard/engine/internal/duck"
)

// partners reads the messages that hold the other half of a call and its result of which only one is a contender, and so on.
func (a *assembly) partners(ctx context.Context, c *duck.Conn) error {
	asked := map[string]bool{}
	for !a.whole() {
		var ids []string
		for _, id := range a.halves() {
			if !asked[id] {
				asked[id] = true
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			return nil
		}
		known := map[int]bool{}
		for i := range a.contenders {
			known[a.contenders[i].Position] = true
		}
		var missing []int32
		err := c.Each(ctx, "assemble_partners", func(rows *sql.Rows) error {
			var position int32
			err := rows.Scan(&position)
			if !known[int(position)] {
				missing = append(missing, position)
			}
			return err
		}, a.own(), sql.Named("calls", ids))
		if err != nil {
			return err
		}
		if err := a.loadAt(ctx, c, missing); err != nil {
			return err
		}
	}
	return nil
}

// halves gives the ids of calls whose result is no contender, and of results that no contender before them calls for. Where not all items
// are contenders, any id may be of such a half, for ids come again.
func (a *assembly) halves() (ids []string) {
	const called, answered, half = 1, 2, 3
	state := map[string]int{}
	for i := range a.contenders {
		at := &a.contenders[i].plan
		for _, id := range at.Calls {
			if at.Position < a.low || state[id] == half {
				state[id] = half
			} else {
				state[id] = called
			}
		}
		for _, id := range at.Results {
			if at.Position < a.low || state[id] == 0 || state[id] == half {
				state[id] = half
			} else {
				state[id] = answered
			}
		}
	}
	for id, s := range state {
		if s != answered {
			ids = append(ids, id)
		}
	}
	return ids
}
