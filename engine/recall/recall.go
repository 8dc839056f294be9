package recall

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/internal/resident"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/setup"
)

// Recall finds the documents that answer a question, best first: both channels with their neighbours, dates, speakers, fusion,
// floors, light rerank, boosts, decay, noise and diversity, as the weights say (docs/recall.md). The result is never nil; with an
// error it has the trace of what was done. When the model fails, a recall that did not name its mode goes on with words alone and
// says so in Notices. Errors: ErrInvalid, ErrNotFound (weights, conversation), ErrNoEmbedder, ErrNoFTS, ErrBadVector; ErrConflict where the file went over to another model again and again.
func (rc *Recaller) Recall(ctx context.Context, q Query) (*Result, error) {
	start := time.Now()
	var r *recall
	var err error
	for range mostChanges {
		r = &recall{recaller: rc, query: q.withDefaults(), result: &Result{}}
		r.result.Trace.Query = q.Text
		if err = r.run(ctx); !errors.Is(err, errModelChanged) {
			break
		}
	}
	r.result.Trace.Duration = time.Since(start)
	if err != nil {
		r.result.Trace.Failure, r.result.Trace.Error = r.step, err.Error()
		return r.result, fmt.Errorf("recall: %w", err)
	}
	return r.result, nil
}

// errModelChanged is that the file went over to another model after the question was embedded: the recall begins anew, mostChanges times at most.
var errModelChanged = fmt.Errorf("%w: the file goes by another model", fault.ErrConflict)

const mostChanges = 5

// recall is one recall on its way.
type recall struct {
	recaller *Recaller
	query    Query
	result   *Result
	step     string // the stage under way
	limit    int    // of the hits; several of those that are looked for may become one

	weights       Weights
	scopes        []string
	conversations []string // ids
	question      question
	embedder      setup.Embedder // of the file's model, when the recall began; nil: none
	model         index.Model
	tags          []string
	tagged        []int32 // documents that have them, once these were looked for
	described     []int32 // memories that have the metadata, the source and the trust asked, likewise
	at            time.Time
	population    map[kinds.Kind]int64 // documents that words were counted in
	rarity        *resident.Rarity     // nil: counted in the file
	asksFile      bool                 // the question stands in the connection's tables
	found         []resident.Found
	positions     map[int32]int32   // of candidates, by their fused score
	modelScores   map[int32]float64 // what the reranker says of documents; nil: it is not asked, or says nothing
	read          map[int32]said    // what texts say of the question, where they were read; nil: none was
	candidates    []Candidate
	verbatim      []int32    // documents that say the question word for word, ascending; empty where the weights don't ask
	relations     []relation // that lead to documents, likewise
	besides       []int32    // documents that are candidates for either reason
}

func (r *recall) run(ctx context.Context) error {
	goOn, err := r.settle()
	if err != nil || !goOn {
		return err
	}
	if r.limit = r.query.Limit; r.query.Lift != NoLift {
		r.query.Limit = min(liftSpread*r.limit, MaxLimit)
	}
	if r.recaller.opts.Lexical == setup.FTSBackend {
		r.step = "lexical"
		if _, err := r.recaller.index.RefreshFTS(ctx, "lexical"); err != nil {
			return err
		}
	}
	// What is asked stands in tables of one connection, which therefore is kept while the model thinks; no transaction is open then.
	return r.recaller.file.Lend(ctx, "read", func(c *duck.Conn) error {
		done := false
		defer func() {
			if !done { // also after a panic: what the transaction had put into the tables is gone
				duck.Kept[recallTables](c).recalls = 0
			}
		}()
		if err := r.ask(ctx, c); err != nil {
			return err
		}
		if err := r.embed(ctx); err != nil {
			return err
		}
		tables := duck.Kept[recallTables](c)
		was := *tables
		defer func() {
			if r.result.Trace.Past { // its statements were planned for other tables
				c.Unprepare()
			}
		}()
		err := c.Passing(ctx, func() error {
			if err := r.gather(ctx, c); err != nil {
				return err
			}
			if err := r.rank(ctx, c); err != nil {
				return err
			}
			if err := r.show(ctx, c); err != nil {
				return err
			}
			if err := r.lift(ctx, c); err != nil {
				return err
			}
			if err := r.showPassages(ctx, c); err != nil {
				return err
			}
			return r.explain(ctx, c)
		})
		*tables, done = was, err == nil
		return err
	})
}

func (r *recall) notice(format string, args ...any) {
	r.result.Notices = append(r.result.Notices, fmt.Sprintf(format, args...))
}

// lexicalOnly reports whether no vector is asked.
func (r *recall) lexicalOnly() bool { return r.result.Mode == LexicalMode }

// show completes the candidates that are wanted, and makes hits of those that are left.
func (r *recall) show(ctx context.Context, c *duck.Conn) error {
	r.step = "show"
	wanted := r.candidates
	if !r.query.Explain {
		wanted = nil
		for _, v := range r.candidates {
			if v.Dropped == "" {
				wanted = append(wanted, v)
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	docNos := make([]int32, len(wanted))
	for i, v := range wanted {
		docNos[i] = v.DocNo
	}
	hits, err := hitsOf(ctx, c, r.query.Kinds, docNos, r.query.Level)
	if err != nil {
		return err
	}
	now := r.recaller.file.Now() // later than what others wrote since the recall began
	for i := range wanted {
		v := &wanted[i]
		h := hits[v.DocNo]
		v.ID, v.Kind = h.ID, h.Kind
		if v.Dropped == "" {
			h.Score, h.Confidence, h.Signals = v.Decayed, v.Confidence, *v
			r.result.Hits = append(r.result.Hits, h)
			if h.CreatedAt.After(now) {
				r.notice("%s is dated %s, which is still to come: it counts as new", h.ID, h.CreatedAt.Format(time.RFC3339))
			}
		}
	}
	if r.query.Explain {
		r.result.Candidates = wanted
	}
	return nil
}

// showings are the statements that read what is shown of documents, by kind.
var showings = map[kinds.Kind]string{kinds.Memory: "recall_memories", kinds.Message: "recall_messages", kinds.Summary: "recall_summaries", kinds.Note: "recall_notes"}

// hitsOf reads what is shown of documents, by their numbers.
func hitsOf(ctx context.Context, c *duck.Conn, among []kinds.Kind, docNos []int32, level memory.Level) (map[int32]Hit, error) {
	c.List(docNos)
	hits := map[int32]Hit{}
	var mute []int32
	for _, kind := range among {
		name := showings[kind]
		err := c.Each(ctx, name, func(rows *sql.Rows) error {
			docNo, h, says, err := scanHit(rows, level)
			if hits[docNo] = h; !says {
				mute = append(mute, docNo)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return hits, showTools(ctx, c, hits, mute)
}

// showTools gives messages that say nothing themselves what tools were given and gave.
func showTools(ctx context.Context, c *duck.Conn, hits map[int32]Hit, mute []int32) error {
	if mute == nil {
		return nil
	}
	c.List(mute)
	return c.Each(ctx, "recall_tool_texts", func(rows *sql.Rows) error {
		var docNo int32
		var text string
		err := rows.Scan(&docNo, &text)
		h := hits[docNo]
		h.Text = text + h.Text
		hits[docNo] = h
		return err
	})
}

// scanHit reads a row of the query recall_memories, and of its like for other kinds. says is false of a message without a text.
func scanHit(rows *sql.Rows, level memory.Level) (docNo int32, h Hit, says bool, err error) {
	var m memory.Memory
	var caption string
	var seq, first, last sql.NullInt64
	err = rows.Scan(&docNo, &h.ID, &h.Kind, &h.Scope, duck.TextOf(&h.Category), duck.TextOf(&h.Tier), duck.TextOf(&h.ConversationID), &h.CreatedAt,
		&m.Text, duck.TextOf(&m.L0), duck.TextOf(&m.L1), duck.TextOf(&m.L2), duck.TextOf(&h.Session), duck.TextOf(&h.Speaker), duck.TextOf(&h.Role), &seq, duck.TextOf(&caption), duck.TextOf(&h.SourceKind),
		duck.TextOf(&h.Path), &first, &last)
	h.Seq, h.Text, h.FirstLine, h.LastLine = int(seq.Int64), m.Level(level), int(first.Int64), int(last.Int64)
	if h.Kind != kinds.Memory {
		if h.Text = m.Text; caption != "" {
			h.Text += " [" + caption + "]"
		}
	}
	return docNo, h, h.Kind != kinds.Message || m.Text != "", err
}
