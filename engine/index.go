package engine

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/text"
)

// Kind says what a document is.
type Kind string

// The kinds that can be recalled.
const (
	MemoryKind  Kind = "memory"
	MessageKind Kind = "message"
	SummaryKind Kind = "summary"
)

// Kinds lists them all.
func Kinds() []Kind { return []Kind{MemoryKind, MessageKind, SummaryKind} }

// field is one text of a document; weight is what a word in it counts.
type field struct {
	text   string
	weight float32
}

// indexed is the words of a document as the index keeps them.
type indexed struct {
	frequency map[string]float32 // by term, weighted
	surfaces  map[string]string  // the term of each way of writing
	length    float32            // weighted number of words
}

// document is a row of documents with its words and its vector.
type document struct {
	no             int32
	kind           Kind
	ownerID        string
	scope          string
	conversationID string
	stand          stand
	speaker        string
	category       string
	tier           string
	createdAt      time.Time
	validFrom      time.Time
	invalidatedAt  time.Time
	characters     int32
	asks           bool
	endsAsking     bool
	tells          float32
	noise          bool // a greeting, or the record of a look-up that found nothing
	retired        bool // its owner is forgotten: the row stays, the index has nothing of it
	words          indexed
	vector         []float32 // nil: none
}

// analyse takes the fields of a document apart. It needs no lock.
func (e *Engine) analyse(fields []field) indexed {
	x := indexed{frequency: map[string]float32{}, surfaces: map[string]string{}}
	for _, f := range fields {
		if f.text == "" {
			continue
		}
		for _, token := range e.analyzer.Tokens(f.text) {
			x.frequency[token.Term] += f.weight
			x.surfaces[token.Surface] = token.Term
			x.length += f.weight
		}
	}
	return x
}

// insertDocuments writes documents, their words and vectors. The caller is in a write transaction.
func (e *Engine) insertDocuments(ctx context.Context, c *connection, docs []*document) error {
	if err := c.appendRows("documents", documentRows(docs)); err != nil {
		return err
	}
	e.size.Add(int64(len(docs)))
	c.written += len(docs)
	return e.insertIndex(ctx, c, docs)
}

// insertIndex writes the words and vectors of documents that are in place.
func (e *Engine) insertIndex(ctx context.Context, c *connection, docs []*document) error {
	postings, err := e.postings(ctx, c, docs)
	if err != nil {
		return err
	}
	if err := c.appendAll("mallard", "postings", postingRows(postings)); err != nil {
		return err
	}
	return e.insertVectors(c, docs)
}

func documentRows(docs []*document) [][]driver.Value {
	rows := make([][]driver.Value, len(docs))
	for i, d := range docs {
		rows[i] = []driver.Value{d.no, string(d.kind), d.ownerID, d.scope, nullText(d.conversationID), d.stand.sessionNo, d.stand.place,
			nullText(d.speaker), nullText(d.category), nullText(d.tier), d.createdAt, nullTime(d.validFrom), nullTime(d.invalidatedAt),
			d.words.length, d.characters, d.asks, d.endsAsking, d.tells, d.noise, !d.retired}
	}
	return rows
}

// read fills in what recall wants to know of a text.
func (d *document) read(s string, a *text.Analyzer) {
	s = strings.TrimSpace(s)
	d.tells = a.Tells(s)
	d.characters, d.noise = int32(utf8.RuneCountInString(s)), text.IsRecallNoise(s)
	d.asks, d.endsAsking = strings.ContainsAny(s, "?？"), strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？")
}

// posting is a row of postings.
type posting struct {
	term, doc int32
	kind      Kind
	tf        float32
}

// postings gives the postings of live documents, those of a term side by side, and writes new words and the totals.
func (e *Engine) postings(ctx context.Context, c *connection, docs []*document) ([]posting, error) {
	if err := e.words.learn(ctx, c, docs); err != nil {
		return nil, err
	}
	var all []posting
	lengths, counts := map[Kind]float64{}, map[Kind]int64{}
	for _, d := range docs {
		if d.retired {
			continue
		}
		for term, tf := range d.words.frequency {
			all = append(all, posting{e.words.terms[e.words.hash(term)], d.no, d.kind, tf})
		}
		lengths[d.kind] += float64(d.words.length)
		counts[d.kind]++
	}
	slices.SortFunc(all, func(a, b posting) int { return cmp.Or(cmp.Compare(a.term, b.term), cmp.Compare(a.doc, b.doc)) })
	for kind, n := range counts {
		if err := e.count(ctx, c, kind, n, lengths[kind]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// postingRows gives postings as the columns of their table; each row is good until the next.
func postingRows(postings []posting) iter.Seq[[]driver.Value] {
	return func(yield func([]driver.Value) bool) {
		row := make([]driver.Value, 4)
		for _, p := range postings {
			row[0], row[1], row[2], row[3] = p.term, string(p.kind), p.doc, p.tf
			if !yield(row) {
				return
			}
		}
	}
}

// removeIndex takes a document out of postings, totals and vectors; it can't be recalled any more.
func (e *Engine) removeIndex(ctx context.Context, c *connection, kind Kind, docNo int32) error {
	var length float32
	var live bool
	if _, err := c.one(ctx, "document_length", []any{&length, &live}, sql.Named("doc_no", docNo)); err != nil || !live {
		return err
	}
	if _, err := c.exec(ctx, "postings_delete", sql.Named("doc_no", docNo)); err != nil {
		return err
	}
	if err := e.count(ctx, c, kind, -1, -float64(length)); err != nil {
		return err
	}
	return e.deleteVectors(ctx, c, docNo)
}

// updateDocument writes what recall filters by.
func (e *Engine) updateDocument(ctx context.Context, c *connection, d *document) error {
	_, err := c.exec(ctx, "document_update", sql.Named("doc_no", d.no), sql.Named("scope", d.scope),
		sql.Named("category", nullText(d.category)), sql.Named("tier", nullText(d.tier)), sql.Named("created_at", d.createdAt),
		sql.Named("valid_from", nullTime(d.validFrom)), sql.Named("invalidated_at", nullTime(d.invalidatedAt)),
		sql.Named("length", d.words.length), sql.Named("characters", d.characters), sql.Named("asks", d.asks),
		sql.Named("ends_asking", d.endsAsking), sql.Named("tells", d.tells), sql.Named("noise", d.noise),
		sql.Named("live", !d.retired))
	return err
}

// count keeps the totals of a kind. Whatever changes the words of a document comes by here.
func (e *Engine) count(ctx context.Context, c *connection, kind Kind, documents int64, length float64) error {
	if err := e.unmarkFTS(ctx, c); err != nil {
		return err
	}
	_, err := c.exec(ctx, "kind_stats_add", sql.Named("kind", string(kind)), sql.Named("documents", documents), sql.Named("length", length))
	return err
}

// reserve is how many numbers are taken at a time; those not given out when the engine closes are lost, which does no harm.
const reserve = 64

// forgetIndex forgets what may have been rolled back: numbers of words and of documents.
func (e *Engine) forgetIndex() {
	e.words.forget()
	e.reserved, e.unmarked = nil, false
}

// nextDocNos takes n new numbers. The caller is in a write transaction, and has the writer's lock, which owns the reserve.
func (e *Engine) nextDocNos(ctx context.Context, c *connection, n int) ([]int32, error) {
	if len(e.reserved) < n {
		e.reserved = nil
		err := c.each(ctx, "doc_nos_next", func(rows *sql.Rows) error {
			var no int32
			defer func() { e.reserved = append(e.reserved, no) }()
			return rows.Scan(&no)
		}, sql.Named("n", int64(max(n, reserve))))
		if err != nil {
			return nil, err
		}
	}
	numbers := e.reserved[:n:n]
	e.reserved = e.reserved[n:]
	return numbers, nil
}
