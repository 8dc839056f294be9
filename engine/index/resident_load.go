package index

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/resident"
	"github.com/mallardmem/mallard/engine/kinds"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// loadResident fills an index from the file. Rows come by the million: none goes through database/sql. Slots lie in the order of numbers, and gaps
// between these take room. Vectors are read by the second connection.
func loadResident(ctx context.Context, c, second *duck.Conn, x *resident.Index, limit int64) error {
	if err := loadDocuments(ctx, c, x, limit); err != nil {
		return fmt.Errorf("query resident_documents: %w", err)
	}
	var both sync.WaitGroup
	var ofPostings, ofVectors error
	both.Go(func() { ofPostings = loadPostings(ctx, c, x) })
	both.Go(func() { ofVectors = loadVectors(ctx, second, x) })
	both.Wait()
	return errors.Join(ofPostings, ofVectors)
}

func loadDocuments(ctx context.Context, c *duck.Conn, x *resident.Index, limit int64) error {
	return c.EachValue(ctx, sqlfiles.Query("resident_documents"), func(row []driver.Value) error {
		l := values{row: row}
		d := resident.Document{No: l.int32(), Kind: kinds.Kind(l.text()), Scope: l.text(), Conversation: l.text(), Category: l.text(), Tier: l.text(), Speaker: l.text(), Role: l.text(), SourceKind: l.text(),
			SessionNo: l.int32(), Place: l.int32(), CreatedAt: l.micros(), ValidFrom: l.micros(), InvalidatedAt: l.micros(), Length: l.float(), Tells: l.float(),
			Wishes: l.bool(), Asks: l.bool(), EndsAsking: l.bool(), Hidden: l.bool(), Characters: l.int32(), Noise: l.bool(),
			Use: resident.Use{ValidUntil: l.micros(), Importance: l.double(), Confidence: l.double(), AccessCount: l.int32(), LastAccessedAt: l.micros(), TemporalType: l.text(), Trust: l.text()}}
		if l.err == nil && int64(d.No) > limit/resident.SlotBytes {
			return errTooLarge
		}
		if l.err == nil {
			x.Load(&d)
		}
		return l.err
	})
}

func loadPostings(ctx context.Context, c *duck.Conn, x *resident.Index) error {
	terms := []int32{}
	err := c.EachValue(ctx, sqlfiles.Query("resident_terms"), func(row []driver.Value) error {
		l := values{row: row}
		no, hash := l.int32(), l.hash()
		if l.err != nil || no < 0 || int(no) > maxTerms {
			return fmt.Errorf("term %d: %w", no, l.err)
		}
		for int(no) >= len(terms) {
			terms = append(terms, -1)
		}
		terms[no] = x.LoadTerm(hash)
		return nil
	})
	if err != nil {
		return fmt.Errorf("query resident_terms: %w", err)
	}
	err = c.EachValue(ctx, sqlfiles.Query("resident_postings"), func(row []driver.Value) error {
		l := values{row: row}
		if no := l.int32(); no >= 0 && int(no) < len(terms) && terms[no] >= 0 {
			x.LoadPosting(terms[no], l.int32(), l.float())
		}
		return l.err
	})
	if err != nil {
		return fmt.Errorf("query resident_postings: %w", err)
	}
	x.SortPostings()
	return nil
}

func loadVectors(ctx context.Context, c *duck.Conn, x *resident.Index) error {
	if x.Dims() == 0 {
		return nil
	}
	vector := make([]float32, x.Dims())
	err := c.EachValue(ctx, sqlfiles.Query("resident_vectors"), func(row []driver.Value) error {
		l := values{row: row}
		no, start, length := l.int32(), l.int32(), l.int32()
		if l.vector(vector); l.err != nil {
			return l.err
		}
		if length > 0 {
			x.LoadPassage(no, resident.Passage{Start: start, Length: length, Vector: vector})
		} else {
			x.LoadVector(no, vector)
		}
		return l.err
	})
	if err != nil {
		return fmt.Errorf("query resident_vectors: %w", err)
	}
	return nil
}

// maxTerms bounds the numbers of terms: more would not fit into memory.
const maxTerms = 1 << 28

// values takes a row apart, column by column; the first that is not of its type is the error.
type values struct {
	row []driver.Value
	at  int
	err error
}

// take gives the next value, or the zero value for NULL.
func take[T any](l *values) (v T) {
	value := l.row[l.at]
	l.at++
	if value == nil {
		return v
	}
	v, ok := value.(T)
	if !ok && l.err == nil {
		l.err = fmt.Errorf("column %d is a %T", l.at, value)
	}
	return v
}

func (l *values) int32() int32    { return take[int32](l) }
func (l *values) text() string    { return take[string](l) }
func (l *values) float() float32  { return take[float32](l) }
func (l *values) double() float64 { return take[float64](l) }
func (l *values) bool() bool      { return take[bool](l) }
func (l *values) hash() uint64    { return take[uint64](l) }

// micros gives a time; NULL is never.
func (l *values) micros() int64 {
	if l.row[l.at] == nil {
		l.at++
		return resident.Never
	}
	return take[int64](l)
}

// sum is one in hexadecimal; zero where it is not.
func (l *values) sum() (sum textSum) {
	_, _ = hex.Decode(sum[:], []byte(fmt.Sprintf("%.64s", l.text())))
	return sum
}

func (l *values) vector(v []float32) {
	all := take[[]any](l)
	if len(all) != len(v) && l.err == nil {
		l.err = fmt.Errorf("a vector of %d dimensions", len(all))
	}
	if l.err != nil {
		return
	}
	for i := range v {
		f, ok := all[i].(float32)
		if !ok {
			l.err = fmt.Errorf("a vector of %T", all[i])
			return
		}
		v[i] = f
	}
}
