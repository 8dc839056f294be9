package index

import (
	"context"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/resident"
)

// CheckResident holds the resident index against one that is made anew from the file, and says what differs; empty: nothing, or there is none.
func (ix *Index) CheckResident(ctx context.Context) (difference string, err error) {
	leave, err := ix.file.Enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	_, err = ix.Resident(func() error { return nil }, func(x *resident.Index) error {
		return ix.reading(ctx, func(c, second *duck.Conn) error {
			anew := resident.New(x.Dims())
			if err := loadResident(ctx, c, second, anew, int64(ix.opts.ResidentMB)<<20); err != nil {
				return err
			}
			difference = x.Differs(anew)
			return nil
		})
	})
	return difference, err
}
