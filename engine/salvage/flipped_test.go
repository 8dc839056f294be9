package salvage_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// TestRecoverFlippedBlocks flips a bit in each block of a file, or blanks it. Blocks of metadata are believed, and then everything is there or at least
// what was lost is said; a blank one may abort the reader, and the rest is there all the same.
func TestRecoverFlippedBlocks(t *testing.T) {
	enginetest.Alone(t)
	content := enginetest.ClosedFile(t)
	before := rowsIn(t, enginetest.Placed(t, map[string][]byte{"": content}))
	whole, partly, nothing := 0, 0, 0
	step := 5
	if enginetest.Long("recover") {
		step = 1
	}
	for block := 0; block < (len(content)-enginetest.BlocksFrom)/enginetest.BlockBytes; block += step {
		at := enginetest.BlocksFrom + block*enginetest.BlockBytes
		sum, flip, blank := slices.Clone(content), slices.Clone(content), slices.Clone(content)
		sum[at] ^= 1
		flip[at+8+7919*(block+1)%(enginetest.BlockBytes-8)] ^= 4
		clear(blank[at : at+enginetest.BlockBytes])
		for what, damaged := range map[string][]byte{"checksum": sum, "bit": flip, "blank": blank} {
			if what == "checksum" && block > 1 || what == "bit" && block%2 == 1 && block > 2 || what == "blank" && block%2 == 0 && block > 2 {
				continue // it takes its time
			}
			found, out, err := saved(t, map[string][]byte{"": damaged})
			switch {
			case err != nil:
				nothing++
				if what != "blank" {
					t.Errorf("block %d, %s: %v", block, what, err)
				}
				continue
			case found.Whole():
				whole++
			default:
				partly++
			}
			e := enginetest.OpenFile(t, out, engine.Options{Embedder: enginetest.Words{}})
			faults, err := e.Check(t.Context())
			if err != nil || len(faults) > 0 != (len(found.Left) > 0) {
				t.Errorf("block %d, %s: faults %v, %v; said to be left: %v", block, what, faults, err, found.Left)
			}
			older := slices.ContainsFunc(found.Steps, func(step string) bool { return strings.Contains(step, "what was written since is lost") })
			if older && (what != "blank" || found.Whole()) {
				t.Errorf("block %d, %s: read as it was before: %v", block, what, found.Steps)
			}
			for _, table := range []string{"memories", "messages", "conversations"} {
				if older { // the block had the roots of all tables
					continue
				}
				r, rows := tableIn(found, table), enginetest.Rows(t, e, "SELECT * FROM "+table+" ORDER BY ALL")
				if r.Rows != len(rows) || r.Rows+r.Lost != len(before[table]) {
					t.Errorf("block %d, %s: %s: said %+v; %d of %d rows are there", block, what, table, r, len(rows), len(before[table]))
				}
				if r.Lost == 0 && (what == "checksum" || r.Doubtful == 0) {
					if diff := cmp.Diff(before[table], rows); diff != "" {
						t.Errorf("block %d, %s: %s (-before +after):\n%s", block, what, table, diff)
					}
				}
			}
			enginetest.CloseFile(t, e)
		}
	}
	t.Logf("%d whole, %d in part, %d not at all", whole, partly, nothing)
	if whole == 0 || partly == 0 {
		t.Errorf("%d whole and %d in part: the damage does not tell", whole, partly)
	}
}
