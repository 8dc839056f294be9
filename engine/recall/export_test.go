package recall

import (
	"context"
	"database/sql"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
)

// EachFTSHit calls scan for every row that a recall takes from the extension's index: term, kind, number of the document and frequency.
func EachFTSHit(ctx context.Context, c *duck.Conn, terms []string, kinds []kinds.Kind, scan func(*sql.Rows) error) error {
	if err := clearTables(ctx, c); err != nil {
		return err
	}
	asked := make([]askedTerm, len(terms))
	for i, term := range terms {
		asked[i] = askedTerm{int32(i), term, 1}
	}
	if err := askTerms(c, asked); err != nil {
		return err
	}
	if err := askFTS(ctx, c, kinds); err != nil {
		return err
	}
	rows, err := c.SQL.QueryContext(ctx, "SELECT a.term, f.kind::VARCHAR, f.doc_no, f.tf FROM temp.main.fts_hits AS f JOIN temp.main.asked_terms AS a USING (word)")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
