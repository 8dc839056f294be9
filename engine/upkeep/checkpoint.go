package upkeep

import (
	"context"
	"time"
)

// patience is how long Checkpoint waits for those who read an older state.
const patience = 30 * time.Second

// Checkpoint takes the log into the file, as the engine does by itself when it is long. It is false where others read an older state for too long: then the
// engine does it later.
func (u *Upkeep) Checkpoint(ctx context.Context) (done bool, err error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	leave, err := u.file.EnterAlone(limited)
	if err == nil {
		defer leave()
		err = u.file.Checkpoint(limited)
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}
