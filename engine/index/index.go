package index

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

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/text"
)

// Field is one text of a document; weight is what a word in it counts.
type Field struct {
	Text   string
	Weight float32
}

// Indexed is the words of a document as the index keeps them.
type Indexed struct {
	Frequency map[string]float32 // by term, weighted
	Surfaces  map[string]string  // the term of each way of writing
	length    float32            // weighted number of words
}

// Document is a row of documents with its words, its passages, and their vectors.
type Document struct {
	No             int32
	Kind           kinds.Kind
	OwnerID        string
	Scope          string
	ConversationID string
	Stand          Stand
	Speaker        string
	Role           string // of a message
	SourceKind     string // of a message: what brought it about; kinds.Talk where nothing is said of that
	Category       string
	Tier           string
	CreatedAt      time.Time
	ValidFrom      time.Time
	InvalidatedAt  time.Time
	characters     int32
	asks           bool
	endsAsking     bool
	tells          float32
	wishes         bool
	noise          bool // a greeting, or the record of a look-up that found nothing
	Retired        bool // its owner is forgotten: the row stays, the index has nothing of it
	Hidden         bool // its owner is a memory that recall passes over unless it is asked for, as the macro set_apart says
	Use            Use
	Words          Indexed
	Vector         []float32 // nil: none
	Passages       []Passage // of a long one
	of             Model     // that made the vectors
	sums           []textSum // what the vectors of the whole and of the passages are found by in the cache; nil: they are not kept
}

// Use is what ranking wants to know of a memory: until when it is true, and how it was used.
type Use struct {
	ValidUntil, LastAccessedAt time.Time
	Importance, Confidence     float64
	AccessCount                int32
	TemporalType               string
	Trust                      string
}

// Analyse takes the fields of a document apart. It needs no lock.
func (ix *Index) Analyse(fields []Field) Indexed {
	x := Indexed{Frequency: map[string]float32{}, Surfaces: map[string]string{}}
	for _, f := range fields {
		if f.Text == "" {
			continue
		}
		for _, token := range ix.Analyzer.Tokens(f.Text) {
			x.Frequency[token.Term] += f.Weight
			x.Surfaces[token.Surface] = token.Term
			x.length += f.Weight
		}
	}
	return x
}

// InsertDocuments writes documents, their words and vectors.
func (ix *Index) InsertDocuments(ctx context.Context, tx *duck.Write, docs []*Document) error {
	if err := tx.AppendRows("documents", documentRows(docs)); err != nil {
		return err
	}
	ix.file.Size.Add(int64(len(docs)))
	tx.Written += len(docs)
	ix.noteWords(docs, false)
	return ix.insertIndex(ctx, tx, docs)
}

// InsertIndex writes the words and vectors of documents that are in place.
func (ix *Index) InsertIndex(ctx context.Context, tx *duck.Write, docs []*Document) error {
	ix.noteWords(docs, true)
	return ix.insertIndex(ctx, tx, docs)
}

func (ix *Index) insertIndex(ctx context.Context, tx *duck.Write, docs []*Document) error {
	postings, err := ix.postings(ctx, tx, docs)
	if err != nil {
		return err
	}
	if err := tx.AppendAll("postings", postingRows(postings)); err != nil {
		return err
	}
	return ix.insertVectors(ctx, tx, docs)
}

func documentRows(docs []*Document) [][]driver.Value {
	rows := make([][]driver.Value, len(docs))
	for i, d := range docs {
		rows[i] = []driver.Value{d.No, string(d.Kind), d.OwnerID, d.Scope, duck.NullText(d.ConversationID), d.Stand.SessionNo, d.Stand.Place,
			duck.NullText(d.Speaker), duck.NullText(d.Category), duck.NullText(d.Tier), d.CreatedAt, duck.NullTime(d.ValidFrom), duck.NullTime(d.InvalidatedAt),
			d.Words.length, d.characters, d.asks, d.endsAsking, d.tells, d.noise, !d.Retired, duck.NullText(d.Role), d.states(), duck.NullText(d.SourceKind)}
	}
	return rows
}

// Read fills in what recall wants to know of a text.
func (d *Document) Read(s string, a *text.Analyzer) {
	s = strings.TrimSpace(s)
	d.tells = a.Tells(s)
	d.wishes = text.Wishes(s)
	d.characters, d.noise = int32(utf8.RuneCountInString(s)), text.IsRecallNoise(s)
	d.asks, d.endsAsking = strings.ContainsAny(s, "?？"), strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？")
}

// states reports whether a document states a wish of a user's: what a model says, or a summary, is none of their own.
func (d *Document) states() bool {
	return d.wishes && d.Kind != kinds.Summary && (d.Role == "" || d.Role == "user")
}

// posting is a row of postings.
type posting struct {
	term, doc int32
	kind      kinds.Kind
	tf        float32
}

// postings gives the postings of live documents, those of a term side by side, and writes new words and the totals.
func (ix *Index) postings(ctx context.Context, tx *duck.Write, docs []*Document) ([]posting, error) {
	if err := ix.Words.learn(ctx, tx, docs); err != nil {
		return nil, err
	}
	var all []posting
	lengths, counts := map[kinds.Kind]float64{}, map[kinds.Kind]int64{}
	for _, d := range docs {
		if d.Retired {
			continue
		}
		for term, tf := range d.Words.Frequency {
			all = append(all, posting{ix.Words.terms[ix.Words.hash(term)], d.No, d.Kind, tf})
		}
		lengths[d.Kind] += float64(d.Words.length)
		counts[d.Kind]++
	}
	slices.SortFunc(all, func(a, b posting) int { return cmp.Or(cmp.Compare(a.term, b.term), cmp.Compare(a.doc, b.doc)) })
	for kind, n := range counts {
		if err := ix.Count(ctx, tx, kind, n, lengths[kind]); err != nil {
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

// RemoveIndex takes a document out of postings, totals and vectors; it can't be recalled any more.
func (ix *Index) RemoveIndex(ctx context.Context, tx *duck.Write, kind kinds.Kind, docNo int32) error {
	var length float32
	var live bool
	if _, err := tx.One(ctx, "document_length", []any{&length, &live}, sql.Named("doc_no", docNo)); err != nil || !live {
		return err
	}
	ix.noteGone(docNo)
	if _, err := tx.Exec(ctx, "postings_delete", sql.Named("doc_no", docNo)); err != nil {
		return err
	}
	if err := ix.Count(ctx, tx, kind, -1, -float64(length)); err != nil {
		return err
	}
	return ix.deleteVectors(ctx, tx, []int32{docNo})
}

// DeleteDocument removes a document with all that it is found by.
func (ix *Index) DeleteDocument(ctx context.Context, tx *duck.Write, kind kinds.Kind, docNo int32) error {
	if err := ix.RemoveIndex(ctx, tx, kind, docNo); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "document_delete", sql.Named("doc_no", docNo))
	return err
}

// DeleteDocuments is DeleteDocument of several.
func (ix *Index) DeleteDocuments(ctx context.Context, tx *duck.Write, kind kinds.Kind, numbers []int32) error {
	if len(numbers) == 0 {
		return nil
	}
	if err := ix.Retire(ctx, tx, kind, numbers); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "documents_delete", sql.Named("doc_nos", numbers))
	return err
}

// UpdateDocument writes what recall filters by.
func (ix *Index) UpdateDocument(ctx context.Context, tx *duck.Write, d *Document) error {
	ix.noteColumns(d)
	_, err := tx.Exec(ctx, "document_update", sql.Named("doc_no", d.No), sql.Named("scope", d.Scope),
		sql.Named("category", duck.NullText(d.Category)), sql.Named("tier", duck.NullText(d.Tier)), sql.Named("created_at", d.CreatedAt),
		sql.Named("valid_from", duck.NullTime(d.ValidFrom)), sql.Named("invalidated_at", duck.NullTime(d.InvalidatedAt)),
		sql.Named("length", d.Words.length), sql.Named("characters", d.characters), sql.Named("asks", d.asks),
		sql.Named("ends_asking", d.endsAsking), sql.Named("tells", d.tells), sql.Named("wishes", d.states()), sql.Named("noise", d.noise),
		sql.Named("live", !d.Retired))
	return err
}

// SettleTiers writes the tiers of documents, and nothing else of them. Where KeepsResident, all that recall filters by is to be filled in.
func (ix *Index) SettleTiers(ctx context.Context, tx *duck.Write, docs []*Document) error {
	numbers, tiers := make([]int32, len(docs)), make([]string, len(docs))
	for i, d := range docs {
		numbers[i], tiers[i] = d.No, d.Tier
		ix.noteColumns(d)
	}
	_, err := tx.Exec(ctx, "document_settle", sql.Named("doc_nos", numbers), sql.Named("tiers", tiers))
	return err
}

// Count keeps the totals of a kind. Whatever changes the words of a document comes by here.
func (ix *Index) Count(ctx context.Context, tx *duck.Write, kind kinds.Kind, documents int64, length float64) error {
	if err := ix.unmarkFTS(ctx, tx); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "kind_stats_add", sql.Named("kind", string(kind)), sql.Named("documents", documents), sql.Named("length", length))
	return err
}

// reserve is how many numbers are taken at a time; those not given out when the engine closes are lost, which does no harm.
const reserve = 64

// forget forgets what may have been rolled back: numbers of words and of documents.
func (ix *Index) forget() {
	ix.Words.Forget()
	ix.reserved, ix.unmarked = nil, false
	ix.cache.forget()
	ix.rolledBack()
}

// NextDocNos takes n new numbers. The writer's lock owns the reserve.
func (ix *Index) NextDocNos(ctx context.Context, c *duck.Conn, n int) ([]int32, error) {
	if len(ix.reserved) < n {
		var err error
		ix.reserved, err = duck.Column[int32](ctx, c, "doc_nos_next", sql.Named("n", int64(max(n, reserve))))
		if err != nil {
			return nil, err
		}
	}
	numbers := ix.reserved[:n:n]
	ix.reserved = ix.reserved[n:]
	return numbers, nil
}

// Retire takes documents of one kind out of postings, totals and vectors; they can't be recalled any more. The caller is in a write
// transaction.
func (ix *Index) Retire(ctx context.Context, tx *duck.Write, kind kinds.Kind, numbers []int32) error {
	var documents int64
	var length float64
	if _, err := tx.One(ctx, "documents_live", []any{&documents, &length}, sql.Named("doc_nos", numbers)); err != nil || documents == 0 {
		return err
	}
	if err := ix.Count(ctx, tx, kind, -documents, -length); err != nil {
		return err
	}
	ix.noteGone(numbers...)
	for _, query := range []string{"postings_retire", "documents_retire"} {
		if _, err := tx.Exec(ctx, query, sql.Named("doc_nos", numbers)); err != nil {
			return err
		}
	}
	return ix.deleteVectors(ctx, tx, numbers)
}
