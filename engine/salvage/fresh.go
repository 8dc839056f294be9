package salvage

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/payload"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/upkeep"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Fresh is what completes the new file: the parts of an engine that has it open.
type Fresh struct {
	File     *duck.File
	Contents *payload.Contents
	Index    *index.Index
	Upkeep   *upkeep.Upkeep
}

// Opener opens a file as engine.Open does.
type Opener func(ctx context.Context, path string, o setup.Options) (*Fresh, error)

// makeFresh makes the new file, empty, with the schema that the damaged file has: opening it brings both to this program's.
func (s *salvage) makeFresh(ctx context.Context, all *stored) (err error) {
	if err := duck.MakeFile(ctx, s.fresh()); err != nil {
		return err
	}
	return duck.MakeSchema(ctx, s.fresh(), s.request.Options, all.Version, func(tx *duck.Write) error {
		if all.Model == 0 {
			return nil
		}
		return index.Model{N: all.Model, Dims: all.Dims}.CreateVectors(ctx, tx)
	})
}

// finish opens the new file, makes the index anew and puts right what follows from other rows.
func (s *salvage) finish(ctx context.Context, all *stored) error {
	if err := s.matchModel(ctx, all); err != nil {
		return err
	}
	e, err := s.openFresh(ctx)
	if err != nil {
		return err
	}
	err = s.complete(ctx, e)
	return errors.Join(err, e.File.Close())
}

// openFresh opens the new file, without a model where it has the vectors of another.
func (s *salvage) openFresh(ctx context.Context) (*Fresh, error) {
	e, err := s.opener(ctx, s.fresh(), s.request.Options)
	if errors.Is(err, fault.ErrModelMismatch) {
		s.step("the file's vectors are of another model than the one at hand; those that are lost are not made anew")
		s.request.Options.Embedder = nil
		e, err = s.opener(ctx, s.fresh(), s.request.Options)
	}
	if err != nil && ctx.Err() == nil && tableOf(s.found.Tables, "settings").Doubtful > 0 {
		s.step("the settings make no sense, and are those of a new file: %s", err)
		if err := s.forgetSettings(ctx); err != nil {
			return nil, err
		}
		e, err = s.opener(ctx, s.fresh(), s.request.Options)
	}
	return e, err
}

func (s *salvage) forgetSettings(ctx context.Context) error {
	return s.inFresh(ctx, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, sqlfiles.Query("recover_settings"))
		return err
	})
}

// matchModel keeps of the models the one whose vectors were copied, and of the vectors none where its row was lost, or read from a damaged block.
func (s *salvage) matchModel(ctx context.Context, all *stored) error {
	if all.Model == 0 {
		return nil
	}
	return s.inFresh(ctx, func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, sqlfiles.Query("recover_other_models"), all.Model, all.Dims); err != nil {
			return err
		}
		var kept int
		if err := db.QueryRowContext(ctx, sqlfiles.Query("recover_models_left")).Scan(&kept); err != nil || kept == 1 {
			return err
		}
		s.step("which model the vectors are of can't be read; those of the model at hand are made")
		_, err := db.ExecContext(ctx, strings.ReplaceAll(sqlfiles.Query("vectors_drop"), "{n}", strconv.Itoa(all.Model)))
		return err
	})
}

// inFresh does something in the new file that opening it would refuse.
func (s *salvage) inFresh(ctx context.Context, do func(*sql.DB) error) (err error) {
	db, err := duck.OpenDatabase(ctx, s.fresh(), s.request.Options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(db)
}

// complete makes what is not in the rows of the damaged file, and puts right what follows from others.
func (s *salvage) complete(ctx context.Context, e *Fresh) error {
	if err := s.define(ctx, e); err != nil {
		return err
	}
	if err := s.copyContents(ctx, e); err != nil {
		return err
	}
	if _, err := e.Index.RebuildIndex(ctx, index.RebuildRequest{}); err != nil {
		return err
	}
	d := &upkeep.Diagnosis{}
	var err error
	if d.Findings, err = e.Upkeep.Findings(ctx); err != nil {
		return err
	}
	if err := e.Upkeep.Repair(ctx, d); err != nil {
		return err
	}
	s.found.Repairs = append(s.found.Repairs, d.Repairs...)
	s.found.Left = append(s.found.Left, slices.DeleteFunc(d.Left, func(f upkeep.Finding) bool { return f.Harmless })...)
	return s.nameLost(ctx, e)
}

// define makes macros and views, which the new file may have a note of from the damaged one, and the sequence of documents.
func (s *salvage) define(ctx context.Context, e *Fresh) error {
	if err := e.File.Lock(ctx); err != nil {
		return err
	}
	defer e.File.Unlock()
	if err := e.File.Redefine(ctx); err != nil {
		return err
	}
	return e.File.Prepare(ctx, func(tx *duck.Write) error {
		if e.Index.Chosen.N > 0 {
			if err := e.Index.Chosen.Point(ctx, tx); err != nil {
				return err
			}
		}
		var highest int64
		if _, err := tx.One(ctx, "recover_highest", []any{&highest}); err != nil {
			return err
		}
		return tx.ExecDDL(ctx, sqlfiles.Query("recover_numbers"), "{next}", strconv.FormatInt(highest+1, 10))
	})
}

// copyContents copies the payloads that lie in the folder beside the damaged file and are referred to.
func (s *salvage) copyContents(ctx context.Context, e *Fresh) error {
	return e.File.Read(ctx, "payload files", func(c *duck.Conn) error {
		return c.Each(ctx, "payloads_apart", func(rows *sql.Rows) error {
			var name string
			var size int64
			if err := rows.Scan(&name, &size); err != nil {
				return err
			}
			if name != filepath.Base(name) || strings.Trim(name, ".") == "" { // read from a damaged block
				return nil
			}
			return payload.CopyApart(filepath.Join(s.request.From+".files", name), e.Contents.ApartName(name), size)
		})
	})
}

// nameLost names what stands in lost transactions and is not in the new file.
func (s *salvage) nameLost(ctx context.Context, e *Fresh) error {
	if len(s.ids) == 0 {
		return nil
	}
	known := map[string]bool{}
	err := e.File.Read(ctx, "lost ids", func(c *duck.Conn) error {
		return c.Each(ctx, "recover_known", func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			known[id] = true
			return err
		}, sql.Named("ids", s.ids))
	})
	s.found.Log.LostIDs = slices.DeleteFunc(s.ids, func(id string) bool { return known[id] })
	return err
}
