package compact

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/window"
)

// Escalation is how far a summariser had to go until its text was shorter than what it stands for.
type Escalation string

// The levels of escalation.
const (
	Normal     Escalation = "normal"
	Aggressive Escalation = "aggressive" // only what lasts
	Extractive Escalation = "extractive" // sentences of the source, for the model gave nothing usable
	Truncated  Escalation = "truncated"  // cut to its length
	HostMade   Escalation = "imported"   // a host's own
	Recalled   Escalation = "checkpoint" // what a checkpoint says
	Stub       Escalation = "stub"       // a line that says that there is none yet
)

// Summary is text that stands for messages (a leaf, of depth 0) or for summaries (condensed, of depth 1 or more).
type Summary struct {
	ID               string     `json:"id"`
	ConversationID   string     `json:"conversation_id"`
	Key              string     `json:"key,omitempty"` // of an imported one, the host's
	Kind             string     `json:"kind"`          // leaf or condensed
	Depth            int        `json:"depth"`
	Text             string     `json:"text"`
	Tokens           int        `json:"tokens"`
	FirstSeq         int        `json:"first_seq"` // of the messages below it
	LastSeq          int        `json:"last_seq"`
	EarliestAt       time.Time  `json:"earliest_at"`
	LatestAt         time.Time  `json:"latest_at"`
	Messages         int        `json:"messages"`          // below it
	SourceTokens     int        `json:"source_tokens"`     // of these messages
	Descendants      int        `json:"descendants"`       // summaries below it
	DescendantTokens int        `json:"descendant_tokens"` // of these
	Model            string     `json:"model"`             // who wrote it
	Level            Escalation `json:"level"`
	Fallback         bool       `json:"fallback,omitempty"` // made without the model that was asked; RetryFallbacks makes it anew
	Attempts         int        `json:"attempts"`           // to write it
	FileIDs          []string   `json:"file_ids,omitempty"` // of large files that its sources refer to
	CreatedAt        time.Time  `json:"created_at"`
	UpdatedAt        time.Time  `json:"updated_at"`
	Sources          []Source   `json:"sources,omitempty"` // in their order
	// VectorErr: its text was just written, but the model failed or took too long, so it has no vector until RebuildIndex.
	VectorErr error `json:"-"`
}

// The kinds of summaries.
const (
	LeafKind      = "leaf"
	CondensedKind = "condensed"
)

// Source is what a summary was made from.
type Source struct {
	Kind kinds.Kind `json:"kind"` // message or summary
	ID   string     `json:"id"`
}

// fields is what the index holds of a summary.
func (s *Summary) fields() []index.Field { return []index.Field{{Text: s.Text, Weight: 1}} }

// row gives the summary as the columns of its table, in their order.
func (s *Summary) row(docNo int32) []driver.Value {
	files := s.FileIDs
	if files == nil {
		files = []string{}
	}
	return []driver.Value{s.ID, docNo, s.ConversationID, duck.NullText(s.Key), s.Kind, int32(s.Depth), s.Text, int32(s.Tokens), int32(s.FirstSeq), int32(s.LastSeq),
		s.EarliestAt, s.LatestAt, int32(s.Messages), int32(s.SourceTokens), int32(s.Descendants), int32(s.DescendantTokens), s.Model, string(s.Level),
		s.Fallback, int32(s.Attempts), files, s.CreatedAt, s.UpdatedAt}
}

// ScanSummary reads a row of the query summary_columns.
func ScanSummary(rows *sql.Rows, more ...any) (*Summary, int32, error) {
	var s Summary
	var docNo int32
	var files duckdb.Composite[[]string]
	dest := []any{&s.ID, &docNo, &s.ConversationID, duck.TextOf(&s.Key), &s.Kind, &s.Depth, &s.Text, &s.Tokens, &s.FirstSeq, &s.LastSeq,
		&s.EarliestAt, &s.LatestAt, &s.Messages, &s.SourceTokens, &s.Descendants, &s.DescendantTokens, &s.Model, &s.Level,
		&s.Fallback, &s.Attempts, &files, &s.CreatedAt, &s.UpdatedAt}
	err := rows.Scan(append(dest, more...)...)
	if list := files.Get(); len(list) > 0 {
		s.FileIDs = list
	}
	return &s, docNo, err
}

// SummaryByID gives nil when there is none.
func SummaryByID(ctx context.Context, c *duck.Conn, id string) (*Summary, int32, error) {
	s, docNo, err := SummaryAlone(ctx, c, id)
	if err != nil || s == nil {
		return nil, 0, err
	}
	s.Sources, err = sourcesOf(ctx, c, id)
	return s, docNo, err
}

// SummaryAlone is SummaryByID without its sources.
func SummaryAlone(ctx context.Context, c *duck.Conn, id string) (s *Summary, docNo int32, err error) {
	err = c.Each(ctx, "summary_by_id", func(rows *sql.Rows) (err error) {
		s, docNo, err = ScanSummary(rows)
		return err
	}, sql.Named("id", id))
	return s, docNo, err
}

// sourcesOf lists what a summary was made from.
func sourcesOf(ctx context.Context, c *duck.Conn, id string) (all []Source, err error) {
	all, err = duck.List(ctx, c, "summary_sources", func(rows *sql.Rows, s *Source) error {
		return rows.Scan(&s.Kind, &s.ID)
	}, sql.Named("summary_id", id))
	return all, err
}

// item is the summary's place in the context.
func (s *Summary) item() window.Item {
	return window.Item{Position: s.FirstSeq, Ref: s.ID, Summary: true, Tokens: s.Tokens, Depth: s.Depth}
}

// DescribeSummary makes the document of a summary, without any lock: words, passages, and vectors where the model gives them. Where it does not, VectorErr says why.
func (cp *Compactor) DescribeSummary(ctx context.Context, s *Summary) *index.Document {
	d := &index.Document{Kind: kinds.Summary, Words: cp.index.Analyse(s.fields())}
	s.VectorErr = cp.index.EmbedDocuments(ctx, []*index.Document{d}, []string{s.Text})
	d.Read(s.Text, cp.index.Analyzer)
	return d
}

// InsertSummary writes a summary, its sources and its document.
func (cp *Compactor) InsertSummary(ctx context.Context, tx *duck.Write, conversation *conversation.Conversation, s *Summary, d *index.Document) error {
	return cp.insertSummaries(ctx, tx, conversation, []*Summary{s}, []*index.Document{d})
}

// insertSummaries is InsertSummary for several.
func (cp *Compactor) insertSummaries(ctx context.Context, tx *duck.Write, conversation *conversation.Conversation, all []*Summary, documents []*index.Document) error {
	numbers, err := cp.index.NextDocNos(ctx, tx.Conn, len(all))
	if err != nil {
		return err
	}
	var rows, sources [][]driver.Value
	for i, s := range all {
		locateSummary(documents[i], s, conversation.Scope, numbers[i])
		rows = append(rows, s.row(numbers[i]))
		for j, source := range s.Sources {
			sources = append(sources, []driver.Value{s.ID, int32(j), string(source.Kind), source.ID})
		}
	}
	if err := cmp.Or(tx.AppendRows("summaries", rows), tx.AppendRows("summary_sources", sources)); err != nil {
		return err
	}
	return cp.index.InsertDocuments(ctx, tx, documents)
}

// locateSummary fills in what recall filters by.
func locateSummary(d *index.Document, s *Summary, scope string, docNo int32) {
	d.No, d.OwnerID, d.Scope, d.ConversationID, d.CreatedAt = docNo, s.ID, scope, s.ConversationID, s.LatestAt
	d.Stand = index.Stand{SessionNo: docNo, Place: 0}
}
