package upkeep

import (
	"context"
	"database/sql"
	"errors"
	"slices"

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

// checks are the queries that give faults, one per row. In each of them stands what reads the same tables: all of it in one would hold all at once.
var checks = [...]string{
	"check_memories", "check_relations", "check_messages", "check_documents", "check_words", "check_unposted", "check_postings", "check_posted_words",
	"check_totals", "check_vectors",
	"check_sequences", "check_conversations", "check_context", "check_lost_summaries", "check_summaries", "check_circles", "check_contents",
	"check_extraction",
}

// Check proves the file's integrity. It reads all that is stored: every block in use against its checksum, the log as far as it is acknowledged, every
// value of every table. And nothing contradicts itself: every live row has its document, words and totals, nothing is left over, vectors are of
// unit length, scopes are not blank, every message is in its context or under one summary or set aside, summaries agree with what they
// were made from, contents have the hash they are named by, and no macro but ours is in the way. An intact file gives no faults; Doctor
// explains those of another. Writers wait while the log is read, and where a checkpoint comes in between, while the blocks are. Of a file that can't be
// read it says what can't be, and then nothing of contradictions. Progress is told of blocks and tables.
func (u *Upkeep) Check(ctx context.Context) (faults []Fault, err error) {
	if faults, err = u.checkStored(ctx); err != nil {
		return faults, err
	}
	found, err := u.checkRows(ctx)
	if len(faults) > 0 && ctx.Err() == nil && !errors.Is(err, fault.ErrClosed) {
		err = nil // why it can't be read is said already
	}
	return append(faults, found...), err
}

// checkRows looks for contradictions.
func (u *Upkeep) checkRows(ctx context.Context) (faults []Fault, err error) {
	known := append(sqlfiles.MacroNames(), "as_vector")
	err = u.file.Read(ctx, "check", func(c *duck.Conn) error {
		for _, name := range checks {
			err := c.Each(ctx, name, func(rows *sql.Rows) error {
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
