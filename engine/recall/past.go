package recall

import (
	"context"
	"database/sql/driver"
	"strconv"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/memory"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// moment is when the recall asks for.
func (q Query) moment() memory.Moment { return memory.Moment{AsOf: q.AsOf, KnownAt: q.KnownAt} }

// gatherPast has the file find the candidates of a moment of the past. How rare words are was counted before, among the documents of the present; from here on, every statement of this
// recall that asks for documents, their index or memories is answered for that moment.
func (r *recall) gatherPast(ctx context.Context, c *duck.Conn) (err error) {
	if err := r.askFile(ctx, c); err != nil {
		return err
	}
	start := time.Now()
	if err := memory.Then(ctx, c, r.query.moment()); err != nil {
		return err
	}
	models, err := index.ModelsOf(ctx, c)
	if err != nil {
		return err
	}
	knownAt, _ := r.query.moment().Stamps()
	if err := c.ExecTempDDL(ctx, sqlfiles.Query("recall_then"), "{known_at}", knownAt, "{n}", strconv.Itoa(models.Chosen.N)); err != nil {
		return err
	}
	r.result.Trace.Stages = append(r.result.Trace.Stages, Stage{Name: "past", Duration: time.Since(start)})
	if err := r.markAnew(ctx, c); err != nil {
		return err
	}
	if err := r.findVerbatim(ctx, c); err != nil {
		return err
	}
	if err := r.fillBesides(ctx, c); err != nil {
		return err
	}
	r.found, err = duck.List(ctx, c, "recall_gather", scanFound)
	return err
}

// markAnew finds the tags and metadata that are asked in the texts of the moment.
func (r *recall) markAnew(ctx context.Context, c *duck.Conn) error {
	if r.marked() == nil {
		return nil
	}
	r.tagged, r.described = nil, nil
	if err := r.mark(ctx, c); err != nil {
		return err
	}
	rows := [][]driver.Value{}
	for _, no := range r.marked() {
		rows = append(rows, []driver.Value{no})
	}
	if err := c.ExecTempDDL(ctx, sqlfiles.Query("recall_clear_marked")); err != nil {
		return err
	}
	return c.AppendTemp("marked", rows...)
}
