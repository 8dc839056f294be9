package salvage_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"


	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/interchange"
)

// TestRecoverPart blanks blocks of a larger file in turn: what was in other groups of rows is there, and what is not is counted and, where its id can be
// read, named.
func TestRecoverPart(t *testing.T) {
	enginetest.Alone(t)
	if !enginetest.Long("recover") {
		t.Skip("takes a minute: MALLARD_LONG=recover")
	}
	const memories = 40_000
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	var lines strings.Builder
	for n := range memories {
		fmt.Fprintf(&lines, "{\"id\": \"mem_%06d\", \"text\": \"Note %d of the harbour, %x\"}\n", n, n, sha256.Sum256([]byte{byte(n), byte(n >> 8)}))
	}
	if _, err := e.Import(t.Context(), strings.NewReader(lines.String()), interchange.ImportRequest{}); err != nil {
		t.Fatal(err)
	}
	enginetest.CloseFile(t, e)
	content := enginetest.BytesOf(t, path)
	blocks := blocksOf(t, path, "memories", "text")
	if len(blocks) < 4 {
		t.Fatalf("the texts lie in blocks %v", blocks)
	}
	at := enginetest.BlocksFrom + blocks[1]*enginetest.BlockBytes
	clear(content[at : at+enginetest.BlockBytes])
	found, out, err := saved(t, map[string][]byte{"": content})
	if err != nil {
		t.Fatal(err)
	}
	r := tableIn(found, "memories")
	if r.Rows+r.Lost != memories || r.Rows < memories/2 || r.Lost+r.Doubtful == 0 || found.Whole() {
		t.Errorf("of %d memories: %+v", memories, r)
	}
	for _, id := range append(r.LostIDs, r.DoubtfulIDs...) {
		if !strings.HasPrefix(id, "mem_0") {
			t.Errorf("lost or doubtful: %q", id)
		}
	}
	if len(r.LostIDs)+len(r.DoubtfulIDs) == 0 {
		t.Error("none of them is named, although the ids lie elsewhere")
	}
	e = enginetest.OpenFile(t, out, engine.Options{ReadOnly: true})
	enginetest.Check(t, e)
	if right := enginetest.Rows(t, e, "SELECT count(*) FROM memories WHERE starts_with(text, 'Note ' || substr(id, 5)::INTEGER || ' of the harbour')"); right[0][0].(int64) < memories/2 {
		t.Errorf("%v of the memories say what they did", right)
	}
}

// blocksOf gives the blocks that a column lies in.
func blocksOf(t testing.TB, path, table, column string) (blocks []int) {
	t.Helper()
	rows, err := enginetest.PlainDuckDB(t, path, "access_mode=read_only").Query(
		"SELECT DISTINCT block_id FROM pragma_storage_info('"+table+"') WHERE column_name = ? AND segment_type = 'VARCHAR' AND block_id >= 0 ORDER BY block_id", column)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var block int
		if err := rows.Scan(&block); err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, block)
	}
	return blocks
}
