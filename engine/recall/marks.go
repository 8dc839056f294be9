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
	if r.query.describes() && r.described == nil {
		start := time.Now()
		pointers, values := memory.Where(r.query.Where)
		described, err := duck.Column[int32](ctx, c, "recall_described", sql.Named("pointers", pointers), sql.Named("values", values),
			sql.Named("sources", duck.ListArg(r.query.Sources)), sql.Named("trust", duck.ListArg(r.query.Trust)))
		if r.described = append([]int32{}, described...); err != nil {
			return err
		}
		r.result.Trace.Stages = append(r.result.Trace.Stages, Stage{Name: "metadata", After: len(r.described), Duration: time.Since(start)})
	}
	return nil
}

// describes reports whether what is known of memories in the file restricts a recall: metadata, their source, their trust.
func (q *Query) describes() bool { return len(q.Where) > 0 || q.Sources != nil || q.Trust != nil }

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
