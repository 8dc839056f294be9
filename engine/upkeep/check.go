package upkeep

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Fault is a contradiction that Check found.
type Fault struct {
	Fault   string `json:"fault"`
	Subject string `json:"subject"` // the id, number or name it is about
}

func (f Fault) String() string { return f.Fault + ": " + f.Subject }

// checks are the queries that give faults, one per row. In each of them stands what reads the same tables: all of it in one would hold all at once. Of a file
// in which nothing was found yet, one finds nothing either where the tables are empty in which a row has to be for a fault of it; where none is
// named it is always asked. To plan them is most of what it takes to check a small file.
var checks = [...]struct {
	name string
	of   []string
}{
	{"check_memories", []string{"memories"}},
	{"check_relations", []string{"memories", "memory_relations"}},
	{"check_messages", []string{"messages"}},
	{"check_notes", []string{"notes", "note_files"}},
	{"check_documents", []string{"documents"}},
	{"check_words", []string{"surfaces", "terms"}},
	{"check_unposted", []string{"documents"}},
	{"check_postings", []string{"postings"}},
	{"check_posted_words", []string{"postings"}},
	{"check_totals", []string{"documents", "kind_stats"}},
	{"check_vectors", nil},
	{"check_embedding_cache", []string{"embedding_cache"}},
	{"check_versions", []string{"memory_versions", "dropped_versions"}},
	{"check_past", []string{"past_documents", "past_postings", "past_passages", "past_vectors"}},
	{"check_sequences", []string{"conversations"}},
	{"check_conversations", []string{"conversations", "compaction_debts", "compactions", "cursors", "context_snapshots"}},
	{"check_rolling", []string{"conversations", "compactions", "checkpoints", "flush_state"}},
	{"check_context", []string{"messages", "context_items"}},
	{"check_lost_summaries", []string{"summaries"}},
	{"check_summaries", []string{"summaries", "summary_sources"}}, // a summary in the context that there is not was found before
	{"check_circles", []string{"summaries", "summary_sources"}},
	{"check_contents", []string{"messages", "parts", "large_files", "payloads"}},
	{"check_extraction", []string{"drafts", "admissions", "extraction_cursors"}},
	{"check_lineage", []string{"memory_sources", "retractions", "retraction_effects"}},
}

// Check proves the file's integrity. It reads all that is stored: every block in use against its checksum, the log as far as it is acknowledged, every
// value of every table. And nothing contradicts itself: every live row has its document, words and totals, nothing is left over, vectors are of
// unit length, scopes are not blank, every message is in its context or under one summary or set aside, summaries agree with what they
// were made from, contents have the hash they are named by, and no macro but ours is in the way. An intact file gives no faults; Doctor
// explains those of another. Writers wait while the log is read, and where a checkpoint comes in between, while the blocks are. Of a file that can't be
// read it says what can't be, and then nothing of contradictions. Progress is told of blocks and tables.
func (u *Upkeep) Check(ctx context.Context) ([]Fault, error) {
	faults, empty, err := u.checkStored(ctx)
	if err != nil {
		return faults, err
	}
	found, err := u.checkRows(ctx, empty)
	if len(faults) > 0 && ctx.Err() == nil && !errors.Is(err, fault.ErrClosed) {
		err = nil // why it can't be read is said already
	}
	return append(faults, found...), err
}

// checkRows looks for contradictions. Empty are the tables in which there is nothing.
func (u *Upkeep) checkRows(ctx context.Context, empty map[string]bool) (faults []Fault, err error) {
	known := append(sqlfiles.MacroNames(), "as_vector")
	filled := func(table string) bool { return !empty[`"main"."`+table+`"`] }
	err = u.file.Read(ctx, "check", func(c *duck.Conn) error {
		for _, check := range checks {
			if len(faults) == 0 && len(check.of) > 0 && !slices.ContainsFunc(check.of, filled) {
				continue
			}
			err := c.Each(ctx, check.name, func(rows *sql.Rows) error {
				var f Fault
				if err := rows.Scan(&f.Fault, &f.Subject); err != nil {
					return err
				}
				faults = append(faults, f)
				return nil
			})
			if err != nil {
				return err
			}
		}
		models, err := index.ModelsOf(ctx, c)
		if err != nil {
			return err
		}
		for _, m := range models.Beside { // those of the chosen one are in the view that check_vectors reads
			err := c.EachIn(ctx, m.Table(), "vectors_check_beside", func(rows *sql.Rows) error {
				var f Fault
				err := rows.Scan(&f.Fault, &f.Subject)
				faults = append(faults, f)
				return err
			})
			if err != nil {
				return err
			}
		}
		return c.Each(ctx, "check_macros", func(rows *sql.Rows) error {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			if !slices.Contains(known, name) {
				faults = append(faults, Fault{"macro that is not Mallard's", name})
			}
			return nil
		})
	})
	if err != nil {
		return faults, err
	}
	files, err := u.contents.CheckPayloadFiles(ctx, false)
	if err != nil {
		return faults, err
	}
	for _, sum := range files.Missing {
		faults = append(faults, Fault{missingContent, sum})
	}
	altered, err := u.contents.AlteredFiles(ctx, files.Missing)
	for _, sum := range altered {
		faults = append(faults, Fault{alteredContent, sum})
	}
	return faults, err
}

// Faults of contents, those in the file and those in the folder beside it.
const (
	missingContent = "content that is missing"
	alteredContent = "content that was altered"
)
