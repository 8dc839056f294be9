package engine

import (
	"context"
	"database/sql"
)

// summarySource gives the documents of summaries.
func summarySource(e *Engine) source {
	return source{SummaryKind, e.summaryDocuments, summaryOwners}
}

func (e *Engine) summaryDocuments() func(context.Context, *connection, numbers, func(*document) error) error {
	return func(ctx context.Context, c *connection, of numbers, do func(*document) error) error {
		return c.eachOf(ctx, of, "summaries_numbered", func(rows *sql.Rows) error {
			var scope string
			s, docNo, err := scanSummary(rows, &scope)
			if err != nil {
				return err
			}
			d := &document{kind: SummaryKind, words: e.analyse(s.fields())}
			locateSummary(d, s, scope, docNo)
			d.read(s.Text, e.analyzer)
			return do(d)
		})
	}
}

func summaryOwners(ctx context.Context, c *connection, ids []string, do func(id string, fields []field, embedded string)) error {
	return c.each(ctx, "summaries_by_id", func(rows *sql.Rows) error {
		s, _, err := scanSummary(rows)
		if err == nil {
			do(s.ID, s.fields(), s.Text)
		}
		return err
	}, sql.Named("ids", ids))
}
