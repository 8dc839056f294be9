package assemble

import (
	"context"
	"database/sql"
	"math"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/window"
)

// settleTail reads on until it is certain where the fresh tail begins.
func (a *assembly) settleTail(ctx context.Context, c *duck.Conn) error {
	a.tailAt = math.MaxInt
	if a.policy.TailCount <= 0 {
		return nil
	}
	if err := a.untilUser(ctx, c); err != nil {
		return err
	}
	for reach := 2 * window.TailMargin; ; reach *= 2 {
		items := a.plans()
		tail := a.policy.Tail(items, a.request.Budget)
		if a.low <= a.totals.first || margin(items, min(tail, nthNewest(items, a.policy.TailCount))) {
			if tail < len(items) {
				a.tailAt = items[tail].Position
			}
			return nil
		}
		if err := a.extend(ctx, c, max(a.low-reach, a.totals.first)); err != nil {
			return err
		}
	}
}

// margin reports whether enough is known before an item for the fresh tail to begin there.
func margin(items []window.Item, at int) bool {
	messages := 0
	for _, it := range items[:at] {
		if it.Summary {
			return true
		}
		if len(it.Results) == 0 {
			messages++
		}
	}
	return messages >= window.TailMargin
}

// nthNewest is the index of the message that so many messages begin with, or 0.
func nthNewest(items []window.Item, n int) int {
	for i := len(items) - 1; i >= 0; i-- {
		if !items[i].Summary {
			n--
		}
		if n <= 0 {
			return i
		}
	}
	return 0
}

// untilUser reads on to the newest message of a user, if there is none among the contenders: the fresh tail begins there at the latest.
func (a *assembly) untilUser(ctx context.Context, c *duck.Conn) error {
	if a.policy.TailTokens < 0 || a.low <= a.totals.first {
		return nil
	}
	for i := range a.contenders {
		if p := a.contenders[i].plan; p.Role == window.User && len(p.Results) == 0 {
			return nil
		}
	}
	from := 0
	if _, err := c.One(ctx, "assemble_asked", []any{&from}, a.own(), sql.Named("before", int32(a.low))); err != nil || from == 0 {
		return err
	}
	return a.extend(ctx, c, from)
}
