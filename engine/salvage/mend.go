package salvage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/duckfile"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// mostLostIDs is how many ids of lost transactions are named.
const mostLostIDs = 1000

// copyAll copies the damaged file and what a crash left beside it.
func (s *salvage) copyAll(ctx context.Context, damaged *duck.Held) error {
	if err := s.copyFile(ctx, damaged.File, s.copied()); err != nil {
		return err
	}
	for _, suffix := range []string{duck.LogSuffix, duck.SecondLogSuffix, duck.JournalSuffix, duck.WitnessSuffix} {
		in, err := os.Open(damaged.Path + suffix)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := errors.Join(s.copyFile(ctx, in, s.copied()+suffix), in.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (s *salvage) copyFile(ctx context.Context, in *os.File, name string) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	const megabyte = 1 << 20
	for at := int64(0); at < info.Size() && err == nil; at += megabyte {
		s.request.Options.Progress("megabytes", int(at/megabyte), int(info.Size()/megabyte)+1)
		if err = ctx.Err(); err == nil {
			_, err = io.Copy(out, io.NewSectionReader(in, at, min(megabyte, info.Size()-at)))
		}
	}
	return errors.Join(err, out.Close())
}

// mend brings the copy into a state that DuckDB may open. Blocks of metadata are believed, without which nothing is found; others are not yet.
func (s *salvage) mend(ctx context.Context) error {
	file, err := os.OpenFile(s.copied(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	restored, err := duckfile.Restore(s.copied()+duck.JournalSuffix, file)
	if err != nil {
		return err
	}
	if restored == duckfile.BeforeSwitch {
		s.step("a checkpoint was broken off, and is undone")
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	done, behind, err := duckfile.MendHeaders(file, info.Size())
	if errors.Is(err, duckfile.ErrDamaged) {
		return fmt.Errorf("%w: %w", fault.ErrCorrupt, err)
	}
	if err != nil {
		return err
	}
	s.found.Steps, s.found.Behind = append(s.found.Steps, done...), behind
	f, err := s.mendBlocks(ctx, file)
	if err != nil {
		return err
	}
	return s.mendLog(f)
}

// mendBlocks looks for damaged blocks, and believes those of metadata.
func (s *salvage) mendBlocks(ctx context.Context, file *os.File) (*duckfile.File, error) {
	f, err := duckfile.ReadFile(file)
	if err != nil {
		return nil, err
	}
	damaged, err := f.Verify(func(done, total int64) error {
		s.request.Options.Progress("blocks", int(done), int(total))
		return ctx.Err()
	})
	if err != nil && !errors.Is(err, duckfile.ErrDamaged) {
		return nil, err
	}
	s.found.Blocks = append(s.found.Blocks, damaged...)
	metadata := f.Metadata(damaged)
	s.data = slices.DeleteFunc(damaged, func(number int64) bool { return slices.Contains(metadata, number) })
	if len(metadata) > 0 {
		s.step("damaged blocks of metadata are believed: %v", metadata)
	}
	return f, duckfile.Believe(file, metadata)
}

// mendLog leaves of the log what can be replayed: nothing of one that is not the file's, else what is whole from its beginning.
func (s *salvage) mendLog(f *duckfile.File) error {
	if duck.Exists(s.copied() + duck.SecondLogSuffix) {
		return nil // another program's: DuckDB joins the two
	}
	last, known, err := duckfile.ReadWitness(s.copied() + duck.WitnessSuffix)
	if err != nil {
		return err
	}
	known = known && last.ID == f.ID && last.Iteration == f.Iteration && last.Length > 0
	l, err := duck.ScanLog(s.copied() + duck.LogSuffix)
	if err != nil {
		return err
	}
	if l == nil {
		if known {
			s.found.Log.Lost++
			s.step("the log is gone; %d bytes of it were acknowledged", last.Length)
		}
		return nil
	}
	s.found.Log.Bytes = l.Size
	switch own := l.Named && l.ID == f.ID; {
	case own && l.Iteration == f.Iteration:
		s.found.Behind = false // a checkpoint would have taken the log in
	case own && l.Iteration+1 == f.Iteration && !known:
		s.step("the log is in the file already")
		return duck.Remove(s.copied() + duck.LogSuffix)
	case !l.Named, own && known, l.Iteration == f.Iteration && alike(l.ID, f.ID): // the header has no checksum
		if l, err = s.claimLog(f); err != nil {
			return err
		}
		s.step("the header of the log was damaged and is made anew")
	default:
		s.step("the log is of another file, or of another state of it, and is left out")
		return s.loseLog(0)
	}
	s.found.Log.Transactions = l.Commits
	if !l.Whole() {
		s.step("the log is whole up to byte %d of %d, and cut there", l.End, l.Size)
		if err := s.loseLog(l.End); err != nil {
			return err
		}
	}
	if known && last.Length > l.End && s.found.Log.Lost == 0 {
		s.found.Log.Lost++ // at least: their ends are gone too
		s.step("%d bytes of the log were acknowledged, and %d are left", last.Length, l.End)
	}
	return nil
}

// alike reports whether one of two IDs may be the other with a damaged byte.
func alike(a, b duckfile.ID) bool {
	differing := 0
	for i := range a {
		if a[i] != b[i] {
			differing++
		}
	}
	return differing <= 1
}

func (s *salvage) claimLog(f *duckfile.File) (*duckfile.Log, error) {
	log, err := os.OpenFile(s.copied()+duck.LogSuffix, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(duckfile.Claim(log, f), log.Close()); err != nil {
		return nil, err
	}
	return duck.ScanLog(s.copied() + duck.LogSuffix)
}

// idInLog is how ids stand in a log, if the engine made them.
var idInLog = regexp.MustCompile(`(?:` + ids.Memory + `|` + ids.Conversation + `|` + ids.Message + `|` + ids.Summary + `|` + ids.File + `)[` + ids.Letters + `]{26}`)

// loseLog cuts the log, and notes what stands behind that.
func (s *salvage) loseLog(from int64) error {
	log, err := os.OpenFile(s.copied()+duck.LogSuffix, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return err
	}
	lost, err := duckfile.Ends(log, from, info.Size())
	if err != nil {
		return err
	}
	s.found.Log.Lost += lost
	const part, overlap = 1 << 20, 64
	for at := from; lost > 0 && at < info.Size(); at += part {
		b := make([]byte, min(part+overlap, info.Size()-at))
		if _, err := log.ReadAt(b, at); err != nil {
			return err
		}
		for _, id := range idInLog.FindAll(b, -1) {
			if len(s.ids) < mostLostIDs && !slices.Contains(s.ids, string(id)) {
				s.ids = append(s.ids, string(id))
			}
		}
	}
	if from == 0 {
		return duck.Remove(s.copied() + duck.LogSuffix)
	}
	return log.Truncate(from)
}

// open finds the state of the copy that can be read: with its log, without it, or as it was before the last checkpoint.
func (s *salvage) open(ctx context.Context) (*stored, error) {
	ask := func() (*stored, error) {
		a, err := s.reader.ask(ctx, task{Act: listing, Damaged: s.copied()}, s.request.Options)
		if err != nil {
			return nil, err
		}
		if a.Error == "" && !slices.ContainsFunc(a.Stored.Tables, func(t storedTable) bool { return t.Name == "memories" }) {
			a.Error = "it has no memories"
		}
		if a.Error != "" {
			return nil, fmt.Errorf("%w: %s", errUnreadable, a.Error)
		}
		return a.Stored, nil
	}
	found, err := ask()
	if !errors.Is(err, errUnreadable) {
		return found, err
	}
	if duck.Exists(s.copied() + duck.LogSuffix) {
		s.reader.stop()
		s.step("the file can't be read with its log, which is left out: %s", err)
		s.found.Log.Transactions = 0
		if err := errors.Join(s.loseLog(0), duck.Remove(s.copied()+duck.SecondLogSuffix)); err != nil {
			return nil, err
		}
		if found, err = ask(); !errors.Is(err, errUnreadable) {
			return found, err
		}
	}
	s.reader.stop()
	s.step("the file can't be read as its last checkpoint left it, and is read as the one before did; what was written since is lost: %s", err)
	s.found.Log.Lost++
	s.found.Behind = true
	if err := s.older(ctx); err != nil {
		return nil, err
	}
	if found, err = ask(); errors.Is(err, errUnreadable) {
		err = fmt.Errorf("%w: nothing can be read: %w", fault.ErrCorrupt, err)
	}
	return found, err
}

// older brings the copy into the state before its last checkpoint.
func (s *salvage) older(ctx context.Context) error {
	file, err := os.OpenFile(s.copied(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := duckfile.Older(file); err != nil {
		return err
	}
	_, err = s.mendBlocks(ctx, file)
	return err
}

// errUnreadable: the reader could not open the copy in the state it is in.
var errUnreadable = errors.New("can't be read")
