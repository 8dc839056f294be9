package recall

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// relation leads from a source, which is a candidate or the memory that the query names, to a document.
type relation struct {
	docNo, source int32
	weight        float64
	named         bool
}

// relating are the relations, as recall_rank reads them.
var relating = duck.Table[relation]{Name: "relating", About: 10, Columns: []duck.TableColumn[relation]{
	duck.Value("doc_no", func(e *relation) int32 { return e.docNo }),
	duck.Value("source", func(e *relation) int32 { return e.source }),
	duck.Value("weight", func(e *relation) float64 { return e.weight }),
	duck.Value("named", func(e *relation) bool { return e.named }),
}}

// switchBesides says which parts of recall_rank the signals take that bring candidates of their own, and which the way that scores are made.
func (r *recall) switchBesides(on map[string]bool) {
	w, ranked := r.weights, r.weights.Normalise == "rank"
	on["ranked"], on["scored"] = ranked, !ranked
	on["relating"] = len(r.relations) > 0
	on["relation"], on["relation_ranked"] = on["relating"] && !ranked, on["relating"] && ranked
	on["verbatim"] = w.Verbatim > 0
	on["fresh"], on["fresh_ranked"] = w.Fresh > 0 && !ranked, w.Fresh > 0 && ranked
}

// saysIt reports whether a document says the question word for word, where that was looked for.
func (r *recall) saysIt(docNo int32) bool {
	_, found := slices.BinarySearch(r.verbatim, docNo)
	return found
}

// sayings are the statements that look for what says a text, by kind.
var sayings = map[kinds.Kind]string{kinds.Memory: "recall_verbatim_memories", kinds.Message: "recall_verbatim_messages", kinds.Summary: "recall_verbatim_summaries",
	kinds.Note: "recall_verbatim_notes"}

// findVerbatim finds the documents that say the question word for word, where the weights ask for it. They are looked for in the file, whoever finds the others.
func (r *recall) findVerbatim(ctx context.Context, c *duck.Conn) error {
	if r.weights.Verbatim == 0 {
		return nil
	}
	start := time.Now()
	for _, kind := range r.query.Kinds {
		found, err := duck.Column[int32](ctx, c, sayings[kind], sql.Named("text", strings.TrimSpace(r.query.Text)))
		if err != nil {
			return err
		}
		r.verbatim = append(r.verbatim, found...)
	}
	slices.Sort(r.verbatim)
	r.verbatim = slices.Compact(r.verbatim) // a kind may be asked twice
	r.besides = r.verbatim
	r.result.Trace.Stages = append(r.result.Trace.Stages, Stage{Name: "verbatim", After: len(r.verbatim), Duration: time.Since(start)})
	return nil
}

// relateFound follows the relations of the memories that were found, or of the one that the query names, by one step; what they lead to are candidates too.
func (r *recall) relateFound(ctx context.Context, c *duck.Conn) error {
	if r.weights.Relation == 0 || !slices.Contains(r.query.Kinds, kinds.Memory) {
		return nil
	}
	start := time.Now()
	sources, named := []int32{}, r.query.RelatedTo != ""
	known := map[int32]bool{}
	for i := range r.found {
		known[r.found[i].No] = true
		if !named && r.found[i].Kind == kinds.Memory {
			sources = append(sources, r.found[i].No)
		}
	}
	if named {
		docNo, err := r.findNamed(ctx, c)
		if err != nil {
			return err
		}
		sources = append(sources, docNo)
	}
	c.List(sources)
	var err error
	r.relations, err = duck.List(ctx, c, "recall_relations", func(rows *sql.Rows, e *relation) error {
		e.named = named
		return rows.Scan(&e.source, &e.docNo, &e.weight)
	})
	if err != nil {
		return err
	}
	missing := false
	for _, e := range r.relations {
		if !known[e.docNo] {
			r.besides, missing = append(slices.Clip(r.besides), e.docNo), true
		}
	}
	if missing {
		err = r.gatherAgain(ctx, c)
	}
	r.result.Trace.Stages = append(r.result.Trace.Stages, Stage{Name: "relations", After: len(r.relations), Duration: time.Since(start)})
	return err
}

// findNamed finds the memory that the query names. One that the agent may not read is not found.
func (r *recall) findNamed(ctx context.Context, c *duck.Conn) (docNo int32, err error) {
	type found struct {
		docNo int32
		id    string
	}
	visible, _ := r.recaller.scopes.Now().ForReading(r.query.Agent, nil)
	all, err := duck.List(ctx, c, "recall_named", func(rows *sql.Rows, f *found) error { return rows.Scan(&f.docNo, &f.id) },
		sql.Named("id", r.query.RelatedTo), sql.Named("shortest", int32(ids.MinShort)), sql.Named("scopes", duck.ListArg(visible)))
	if err != nil {
		return 0, err
	}
	one, err := ids.One("memory", r.query.RelatedTo, all, func(f found) string { return f.id })
	return one.docNo, err
}

// gatherAgain finds the candidates once more, now that there are others beside those of the channels.
func (r *recall) gatherAgain(ctx context.Context, c *duck.Conn) error {
	if r.result.Trace.Resident {
		again, err := r.gatherResident(ctx, c)
		if again || err != nil {
			return err
		}
		r.result.Trace.Resident = false
		return r.gatherFile(ctx, c)
	}
	if err := r.fillBesides(ctx, c); err != nil {
		return err
	}
	var err error
	r.found, err = duck.List(ctx, c, "recall_gather", scanFound)
	return err
}

// fillBesides puts the candidates for other reasons than the channels' into the connection's table.
func (r *recall) fillBesides(ctx context.Context, c *duck.Conn) error {
	if len(r.besides) == 0 {
		return nil
	}
	duck.Kept[recallTables](c).filled = true
	if err := c.ExecTempDDL(ctx, sqlfiles.Query("recall_clear_besides")); err != nil {
		return err
	}
	rows := make([][]driver.Value, len(r.besides))
	for i, no := range r.besides {
		rows[i] = []driver.Value{no}
	}
	return c.AppendTemp("besides", rows...)
}
