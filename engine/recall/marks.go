package recall

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/memory"
)

// mark finds the documents that have the tags of the question and the metadata, sources and trust asked, where there are any. Both are looked up in the file, once,
// whoever finds the candidates.
func (r *recall) mark(ctx context.Context, c *duck.Conn) error {
	if len(r.tags) > 0 && r.tagged == nil {
		tagged, err := duck.Column[int32](ctx, c, "recall_tagged", sql.Named("tags", lowered(r.tags)))
		if r.tagged = append([]int32{}, tagged...); err != nil {
			return err
		}
	}
	if q := r.query; q.describes() && r.described == nil {
		start := time.Now()
		pointers, values := memory.Where(q.Where)
		states, layers := q.standing()
		described, err := duck.Column[int32](ctx, c, "recall_described", sql.Named("pointers", append([]string{}, pointers...)), sql.Named("values", append([]string{}, values...)),
			sql.Named("sources", duck.ListArg(q.Sources)), sql.Named("trust", duck.ListArg(q.Trust)),
			sql.Named("states", duck.ListArg(states)), sql.Named("layers", duck.ListArg(layers)))
		if r.described = append([]int32{}, described...); err != nil {
			return err
		}
		r.result.Trace.Stages = append(r.result.Trace.Stages, Stage{Name: "metadata", After: len(r.described), Duration: time.Since(start)})
	}
	return nil
}

// describes reports whether what is known of memories in the file restricts a recall: metadata, their source, their trust, their state and layer.
func (q *Query) describes() bool {
	return len(q.Where) > 0 || q.Sources != nil || q.Trust != nil || q.apart()
}

// marked gives the documents that mark found, ascending; nil: neither tags nor metadata are asked.
func (r *recall) marked() []int32 {
	switch {
	case r.described == nil:
		return r.tagged
	case r.tagged == nil:
		return r.described
	}
	both := []int32{}
	for _, no := range r.described {
		if _, found := slices.BinarySearch(r.tagged, no); found {
			both = append(both, no)
		}
	}
	return both
}

// apart reports whether memories are asked for by what else is passed over: those that nobody confirmed, or that were archived.
func (q *Query) apart() bool { return q.States != nil || q.Layers != nil }

// standing gives the states and layers of memories that are asked for; nil: any. Whoever asks for layers alone means what is confirmed, and with the
// archive what was archived.
func (q *Query) standing() (states []memory.State, layers []memory.Layer) {
	states, layers = q.States, q.Layers
	if states == nil && layers != nil {
		states = []memory.State{memory.Confirmed}
		if slices.Contains(layers, memory.ArchiveLayer) {
			states = append(states, memory.Archived)
		}
	}
	return states, layers
}

// lowered gives texts as statements compare them: in lower case. Nil stays nil.
func lowered(list []string) []string {
	if list == nil {
		return nil
	}
	lower := make([]string, len(list))
	for i, text := range list {
		lower[i] = strings.ToLower(text)
	}
	return lower
}
