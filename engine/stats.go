package engine

import (
	"context"
	"database/sql"
	"os"

	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Stats is what a file holds.
type Stats struct {
	Path          string         `json:"path"`
	Bytes         int64          `json:"bytes"`  // of the file and its log; 0 in memory
	Schema        int            `json:"schema"` // number of the newest migration
	Language      string         `json:"language"`
	Model         string         `json:"model"` // of the vectors; "" when there are none
	Dims          int            `json:"dims"`
	Memories      int            `json:"memories"` // all but forgotten ones
	Conversations int            `json:"conversations"`
	Terms         int            `json:"terms"`
	Postings      int            `json:"postings"`
	Scopes        map[string]int `json:"scopes"` // memories that are not forgotten, by scope, and so on
	Categories    map[string]int `json:"categories"`
	Tiers         map[string]int `json:"tiers"`
	States        map[string]int `json:"states"`
	Standings     map[string]int `json:"standings"` // current, superseded, expired, forgotten
	Coverage      []Coverage     `json:"coverage"`
	// FastVectors is the share of the stored vectors in the layout that is scanned fast; below 1 after another program wrote
	// to the file. RebuildIndex with Vectors restores it.
	FastVectors float64 `json:"fast_vectors"`
	// Lexical is the backend of this engine, and FTS the index of DuckDB's text extension; nil: the file has none.
	Lexical LexicalBackend `json:"lexical"`
	FTS     *FTSIndex      `json:"fts,omitempty"`
}

// Coverage says how many documents of a kind can be found by vectors.
type Coverage struct {
	Kind      Kind `json:"kind"`
	Documents int  `json:"documents"`
	Vectors   int  `json:"vectors"`
}

// Stats counts what the file holds.
func (e *Engine) Stats(ctx context.Context) (*Stats, error) {
	s := &Stats{Path: e.path, Scopes: map[string]int{}, Categories: map[string]int{}, Tiers: map[string]int{}, States: map[string]int{}, Standings: map[string]int{}, Lexical: e.opts.Lexical}
	for _, name := range []string{e.path, e.path + ".wal"} {
		if info, err := os.Stat(name); err == nil {
			s.Bytes += info.Size()
		}
	}
	err := e.read(ctx, "stats", func(c *connection) error {
		chosen, err := chosenModel(ctx, c) // as this transaction sees it
		if err != nil {
			return err
		}
		s.Model, s.Dims, s.FastVectors = chosen.name, chosen.dims, 1
		if _, err := e.setting(ctx, c, "language", &s.Language); err != nil {
			return err
		}
		if _, err := c.one(ctx, "stats_totals", []any{&s.Conversations, &s.Terms, &s.Postings, &s.Schema}); err != nil {
			return err
		}
		err = c.each(ctx, "stats_memories", func(rows *sql.Rows) error {
			var scope, category, tier, state, standing string
			var n int
			if err := rows.Scan(&scope, &category, &tier, &state, &standing, &n); err != nil {
				return err
			}
			s.Standings[standing] += n
			if standing != "forgotten" {
				s.Memories += n
				s.Scopes[scope] += n
				s.Categories[category] += n
				s.Tiers[tier] += n
				s.States[state] += n
			}
			return nil
		}, sql.Named("at", e.now()))
		if err != nil {
			return err
		}
		if chosen.n > 0 {
			if err := c.oneDDL(ctx, sqlfiles.Query("stats_layout"), &s.FastVectors, "{table}", chosen.table()); err != nil {
				return err
			}
		}
		if s.FTS, err = e.ftsIndex(ctx, c); err != nil {
			return err
		}
		return c.each(ctx, "stats_coverage", func(rows *sql.Rows) error {
			var v Coverage
			defer func() { s.Coverage = append(s.Coverage, v) }()
			return rows.Scan(&v.Kind, &v.Documents, &v.Vectors)
		})
	})
	return s, err
}
