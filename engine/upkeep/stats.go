package upkeep

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"regexp"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/setup"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Stats is what a file holds.
type Stats struct {
	Path          string         `json:"path"`
	Bytes         int64          `json:"bytes"`     // of the file and its log; 0 in memory
	LogBytes      int64          `json:"log_bytes"` // of the log alone
	Schema        int            `json:"schema"`    // number of the newest migration
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
	Passages      int            `json:"passages,omitempty"`  // of long documents
	Undivided     int            `json:"undivided,omitempty"` // long documents from before there were passages; RebuildIndex makes them
	// Next is the model whose vectors RebuildIndex is making, or was when it was broken off; nil: none.
	Next *NextModel `json:"next,omitempty"`
	// FastVectors is the share of the stored vectors in the layout that is scanned fast; below 1 after another program wrote
	// to the file. RebuildIndex with Vectors restores it.
	FastVectors float64 `json:"fast_vectors"`
	// Reopened is how often DuckDB failed and was opened anew, since Open; Notices are as Engine.Notices gives them.
	Reopened int      `json:"reopened"`
	Notices  []string `json:"notices,omitempty"`
	// KeptLogs are logs that a crash had damaged, as they were before Open cut them.
	KeptLogs []string `json:"kept_logs,omitempty"`
	// Resident is what the resident index holds.
	Resident index.ResidentState `json:"resident"`
	// EmbeddingCache is what is kept of what the model said; nil where there is nothing and nothing would be.
	EmbeddingCache *index.CacheState `json:"embedding_cache,omitempty"`
	// Lexical is the backend of this engine, and FTS the index of DuckDB's text extension; nil: the file has none.
	Lexical setup.LexicalBackend `json:"lexical"`
	FTS     *index.FTSIndex      `json:"fts,omitempty"`
}

// globbed is a name as a pattern that only it fits.
func globbed(name string) string { return globSigns.ReplaceAllString(name, `\$0`) }

var globSigns = regexp.MustCompile(`[*?\[\\]`)

// Coverage says how many documents of a kind can be found by vectors.
type Coverage struct {
	Kind      kinds.Kind `json:"kind"`
	Documents int        `json:"documents"`
	Vectors   int        `json:"vectors"`
}

// NextModel says how far the vectors are that will take the place of those there are. The latter are asked until then.
type NextModel struct {
	Model     string `json:"model"`
	Dims      int    `json:"dims"`
	Documents int    `json:"documents"` // that are to have one
	Vectors   int    `json:"vectors"`
}

// Stats counts what the file holds.
func (u *Upkeep) Stats(ctx context.Context) (*Stats, error) {
	s := &Stats{Path: u.file.Path(), Scopes: map[string]int{}, Categories: map[string]int{}, Tiers: map[string]int{}, States: map[string]int{}, Standings: map[string]int{}, Lexical: u.opts.Lexical}
	for name, bytes := range map[string]*int64{u.file.Path(): &s.Bytes, u.file.Path() + duck.LogSuffix: &s.LogBytes} {
		if info, err := os.Stat(name); err == nil {
			*bytes = info.Size()
		}
	}
	s.Bytes += s.LogBytes
	s.Notices = u.file.Notices()
	s.Resident = u.index.ResidentState()
	s.KeptLogs, _ = filepath.Glob(globbed(u.file.Path()) + duck.DamagedLogSuffix + "-*") // the pattern is a good one
	err := u.file.Read(ctx, "stats", func(c *duck.Conn) error {
		models, err := index.ModelsOf(ctx, c) // as this transaction sees them
		if err != nil {
			return err
		}
		chosen, next := models.Chosen, models.Next
		s.Reopened = u.file.Healing.Times
		s.Model, s.Dims, s.FastVectors = chosen.Name, chosen.Dims, 1
		if _, err := u.file.Setting(ctx, c, "language", &s.Language); err != nil {
			return err
		}
		if _, err := c.One(ctx, "stats_totals", []any{&s.Conversations, &s.Terms, &s.Postings, &s.Schema}); err != nil {
			return err
		}
		err = c.Each(ctx, "stats_memories", func(rows *sql.Rows) error {
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
		}, sql.Named("at", u.file.Now()))
		if err != nil {
			return err
		}
		if chosen.N > 0 {
			if err := c.OneDDL(ctx, sqlfiles.Query("stats_layout"), &s.FastVectors, "{table}", chosen.Table()); err != nil {
				return err
			}
		}
		if next.N > 0 {
			s.Next = &NextModel{Model: next.Name, Dims: next.Dims}
			err := c.EachIn(ctx, next.Table(), "stats_next", func(rows *sql.Rows) error { return rows.Scan(&s.Next.Documents, &s.Next.Vectors) })
			if err != nil {
				return err
			}
		}
		if _, err := c.One(ctx, "stats_passages", []any{&s.Passages, &s.Undivided}); err != nil {
			return err
		}
		if s.FTS, err = u.index.FTSState(ctx, c); err != nil {
			return err
		}
		if s.EmbeddingCache, err = u.index.CacheState(ctx, c); err != nil {
			return err
		}
		s.Coverage, err = duck.List(ctx, c, "stats_coverage", func(rows *sql.Rows, v *Coverage) error {
			return rows.Scan(&v.Kind, &v.Documents, &v.Vectors)
		})
		return err
	})
	return s, err
}
