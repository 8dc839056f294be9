package compact

import (
	"context"
	"database/sql"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
)

// summarySource gives the documents of summaries.
func summarySource(cp *Compactor) index.Source {
	return index.Source{Kind: kinds.Summary, Reader: cp.summaryDocuments, Owners: summaryOwners}
}

func (cp *Compactor) summaryDocuments() func(context.Context, *duck.Conn, duck.Numbers, func(*index.Document) error) error {
	return func(ctx context.Context, c *duck.Conn, of duck.Numbers, do func(*index.Document) error) error {
		return c.EachOf(ctx, of, "summaries_numbered", func(rows *sql.Rows) error {
			var scope string
			s, docNo, err := ScanSummary(rows, &scope)
			if err != nil {
				return err
			}
			d := &index.Document{Kind: kinds.Summary, Words: cp.index.Analyse(s.fields())}
			d.Divide(s.Text)
			locateSummary(d, s, scope, docNo)
			d.Read(s.Text, cp.index.Analyzer)
			return do(d)
		})
	}
}

func summaryOwners(ctx context.Context, c *duck.Conn, ids []string, do func(id string, fields []index.Field, embedded string)) error {
	return c.Each(ctx, "summaries_by_id", func(rows *sql.Rows) error {
		s, _, err := ScanSummary(rows)
		if err == nil {
			do(s.ID, s.fields(), s.Text)
		}
		return err
	}, sql.Named("ids", ids))
}
