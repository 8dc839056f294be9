package salvage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// Request names a damaged file, and the new one that gets what can be read of it.
type Request struct {
	// From is the damaged file. Neither it nor what lies beside it is written to.
	From string
	// To is the new file. It must not exist, nor anything beside it that would belong to it.
	To string
	// Reader makes a process that calls ServeRecovery with its standard input and output; what it is to do it is told there. A damaged block may
	// abort DuckDB, and then only that process. Nil: what is damaged is read in this process, which may be aborted.
	Reader func(ctx context.Context) *exec.Cmd
	// Options of the new file, which say how vectors that are lost are made, what memory reading may take, and who is told of progress. ReadOnly is
	// of no concern.
	Options setup.Options
}

// Recovered is what became of a damaged file.
type Recovered struct {
	File string `json:"file"` // the new one
	// Steps are what had to be done to make the damaged file readable, on a copy.
	Steps []string `json:"steps"`
	// Behind: what was read may be what the file said before its last checkpoint, for the header that would tell is gone.
	Behind bool `json:"behind"`
	// Blocks are the blocks in use whose checksum is wrong.
	Blocks []int64          `json:"damaged_blocks"`
	Log    RecoveredLog     `json:"log"`
	Tables []RecoveredTable `json:"tables"`
	// Repairs are the steps of Doctor in the new file, and Left what contradicts itself all the same, for rows are gone.
	Repairs []upkeep.Repair  `json:"repairs"`
	Left    []upkeep.Finding `json:"left"`
}

// RecoveredTable is what became of a table. Those of the index are made anew, and not named.
type RecoveredTable struct {
	Table string `json:"table"`
	Rows  int    `json:"rows"` // in the new file
	// Doubtful is how many of these were read from damaged blocks: some of their values may be others than were written.
	Doubtful int `json:"doubtful"`
	// Lost is how many rows could not be read, or contradicted the others.
	Lost int `json:"lost"`
	// LostIDs and DoubtfulIDs are the first of their ids, where those could be read.
	LostIDs     []string `json:"lost_ids,omitempty"`
	DoubtfulIDs []string `json:"doubtful_ids,omitempty"`
	// Why is the first error that reading it gave.
	Why string `json:"why,omitempty"`
	// Without are columns that could not be read of some rows, and are empty there.
	Without []string `json:"without,omitempty"`
}

// RecoveredLog is what became of the log.
type RecoveredLog struct {
	Bytes        int64 `json:"bytes"`        // that were there
	Transactions int   `json:"transactions"` // that were read
	// Lost is how many could not be, as far as their ends can be told.
	Lost int `json:"lost"`
	// LostIDs are ids that stand in these, and are not in the new file.
	LostIDs []string `json:"lost_ids,omitempty"`
}

// Whole reports whether everything is in the new file as it was written.
func (r *Recovered) Whole() bool {
	for _, t := range r.Tables {
		if t.Lost > 0 || t.Doubtful > 0 || len(t.Without) > 0 {
			return false
		}
	}
	return !r.Behind && r.Log.Lost == 0 && len(r.Left) == 0
}

// Recover makes a new file of what can be read of a damaged one and of its log, with an index made anew, and says what is lost. First the copy that it
// reads is brought into a state that DuckDB opens: a checkpoint that was broken off is undone, a damaged header replaced, the log cut at the last whole
// transaction before the damage or left out, and damaged blocks of metadata are believed. Then rows are read table by table, and around damage range by range; what lies
// in damaged blocks is believed last. The new file is there when it is whole, and else not. Errors: ErrInvalid, ErrExists, ErrNotFound, ErrLocked while somebody has the damaged
// file open, ErrCorrupt where nothing can be read.
func Recover(ctx context.Context, r Request, open Opener) (*Recovered, error) {
	found, err := recoverFile(ctx, r, open)
	if err != nil {
		return nil, fmt.Errorf("recover %s: %w", r.From, err)
	}
	return found, nil
}

func recoverFile(ctx context.Context, r Request, open Opener) (_ *Recovered, err error) {
	r.Options = r.Options.WithDefaults()
	r.Options.ReadOnly = false
	if err := r.Options.Validate(); err != nil {
		return nil, err
	}
	if err := errors.Join(fault.CheckText("from", r.From), fault.CheckText("to", r.To)); err != nil {
		return nil, err
	}
	for field, name := range map[string]*string{"from": &r.From, "to": &r.To} {
		if strings.TrimSpace(*name) == "" || *name == ":memory:" {
			return nil, fault.Invalid(field, *name, "the name of a file")
		}
		if *name, err = filepath.Abs(*name); err != nil {
			return nil, err
		}
	}
	switch info, err := os.Stat(r.From); {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%w: there is no such file", fault.ErrNotFound)
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fault.Invalid("from", r.From, "a file, not a folder")
	}
	if _, err := os.Stat(filepath.Dir(r.To)); err != nil {
		return nil, fmt.Errorf("%w: the folder must exist", err)
	}
	own, err := duck.Acquire(r.From)
	if err != nil {
		return nil, err
	}
	defer own.Release()
	if err := duck.FreeName(r.To, own.Path); err != nil {
		return nil, err
	}
	if duck.Exists(r.To + ".files") {
		return nil, fmt.Errorf("%w: %s", fault.ErrExists, r.To+".files")
	}
	damaged, err := duck.Hold(r.From, true)
	if err != nil {
		return nil, err
	}
	defer damaged.File.Close()
	s := &salvage{request: r, opener: open, reader: &reader{start: r.Reader}, found: &Recovered{File: r.To, Steps: []string{}, Blocks: []int64{}, Repairs: []upkeep.Repair{}, Left: []upkeep.Finding{}}}
	if s.folder, err = os.MkdirTemp(filepath.Dir(r.To), filepath.Base(r.To)+".*"+duck.UnmadeSuffix); err != nil {
		return nil, err
	}
	defer os.RemoveAll(s.folder)
	defer s.reader.stop()
	if err := s.run(ctx, damaged); err != nil {
		return nil, err
	}
	return s.found, nil
}

// salvage is a recovery under way, in a folder of its own beside the new file.
type salvage struct {
	request Request
	opener  Opener
	folder  string
	reader  *reader
	found   *Recovered

	data []int64  // damaged blocks that hold no metadata
	ids  []string // that stand in what is lost of the log
}

// copied is the damaged file's copy, fresh the new file.
func (s *salvage) copied() string { return filepath.Join(s.folder, "damaged.db") }

func (s *salvage) fresh() string { return filepath.Join(s.folder, "fresh.db") }

func (s *salvage) run(ctx context.Context, damaged *duck.Held) error {
	if err := s.copyAll(ctx, damaged); err != nil {
		return err
	}
	if err := s.mend(ctx); err != nil {
		return err
	}
	stored, err := s.open(ctx)
	if err != nil {
		return err
	}
	if err := s.makeFresh(ctx, stored); err != nil {
		return err
	}
	if err := s.copyTables(ctx, stored); err != nil {
		return err
	}
	s.reader.stop()
	if err := s.finish(ctx, stored); err != nil {
		return err
	}
	if folder := s.fresh() + ".files"; duck.Exists(folder) {
		if err := os.Rename(folder, s.request.To+".files"); err != nil {
			return err
		}
	}
	if err := duck.Place(s.fresh(), s.request.To); err != nil {
		os.RemoveAll(s.request.To + ".files")
		return err
	}
	return nil
}

func (s *salvage) step(format string, args ...any) {
	s.found.Steps = append(s.found.Steps, fmt.Sprintf(format, args...))
}
