package duck_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/internal/duck"
)

// dump gives the rows of a named query, in an order of their own.
func dump(t *testing.T, run func(string, func(*sql.Rows) error, ...any) error, name string, args ...any) (all []string) {
	t.Helper()
	err := run(name, func(rows *sql.Rows) error {
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		values, dest := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		err = rows.Scan(dest...)
		all = append(all, fmt.Sprintf("%q", values))
		return err
	}, args...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	slices.Sort(all)
	return all
}

// TestFixedIsAsAsked: a query with its arguments written into it gives what it gives with parameters, whatever is in a text, and whatever was written since it was
// planned: also where there was no row at all.
func TestFixedIsAsAsked(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	e := enginetest.Open(t, engine.Options{})
	names := []string{"c", "it's", `a "b" \`, "$name -- ''", "'; DROP TABLE messages; --", "two\nlines", "ü 漢 🦆", "nobody"}
	said, compared := map[string]int{}, 0
	for round := range 12 {
		for _, name := range names[:len(names)-1] {
			if rng.IntN(3) > 0 {
				continue
			}
			m := conversation.Message{Text: fmt.Sprint("word ", rng.IntN(100)), Key: fmt.Sprint("k", said[name]+1)}
			switch rng.IntN(4) {
			case 0:
				m.Role, m.Usage = "assistant", &conversation.Usage{Input: rng.IntN(1000)}
			case 1:
				m = conversation.Message{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "x", Tool: "look", Output: "a crane"}}}
			}
			said[name]++
			if _, err := e.Append(t.Context(), conversation.AppendRequest{Conversation: name, Messages: []conversation.Message{m}}); err != nil {
				t.Fatal(err)
			}
			if withheld := true; rng.IntN(5) == 0 {
				if _, err := e.Mark(t.Context(), conversation.MarkRequest{Conversation: name, Keys: []string{fmt.Sprint("k", 1+rng.IntN(said[name]))}, Withheld: &withheld}); err != nil {
					t.Fatal(err)
				}
			}
			if round%5 == 4 && m.Key != "" {
				if _, _, err := e.AdoptSummary(t.Context(), compact.AdoptRequest{Conversation: name, Text: "They spoke of cranes.", FirstKept: m.Key}); err != nil {
					t.Fatal(err)
				}
			}
		}
		err := enginetest.File(e).Read(t.Context(), "test", func(c *duck.Conn) error {
			asked := func(name string, scan func(*sql.Rows) error, args ...any) error {
				return c.Each(t.Context(), name, scan, args...)
			}
			fixed := func(name string, scan func(*sql.Rows) error, args ...any) error {
				return c.EachFixed(t.Context(), name, scan, args...)
			}
			compare := func(query string, args ...any) {
				compared++
				want, got := dump(t, asked, query, args...), dump(t, fixed, query, args...)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("round %d: %s %v (-with parameters +written into it):\n%s", round, query, args, diff)
				}
			}
			for _, name := range names {
				compare("conversation_by_name", sql.Named("name", name))
				id := ""
				if _, err := c.One(t.Context(), "conversation_by_name", append([]any{&id}, ignored(18)...), sql.Named("name", name)); err != nil {
					return err
				}
				of, until := sql.Named("conversation_id", id), sql.Named("until", int32(1<<31-1))
				low, high := duck.Outward(said[name]-3, said[name], said[name])
				from, to := sql.Named("from", low), sql.Named("to", high)
				compare("assemble_totals", of, until)
				compare("build_summary", of, until)
				compare("assemble_refs", of, until)
				for _, query := range []string{"assemble_items", "assemble_messages", "assemble_parts", "build_messages", "build_usage"} {
					compare(query, of, from, to)
				}
				ids := dump(t, asked, "assemble_refs", of, until)
				for i := range ids {
					ids[i] = strings.Trim(ids[i], `["]`)
				}
				compare("assemble_summaries", of, sql.Named("ids", ids))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if compared < 800 {
		t.Errorf("%d comparisons", compared)
	}
}

// ignored are so many columns that nobody looks at.
func ignored(n int) (dest []any) {
	for range n {
		dest = append(dest, new(any))
	}
	return dest
}

// TestOutward: bounds have what is asked for, little more, and move seldom.
func TestOutward(t *testing.T) {
	changed, was := 0, [2]int32{}
	for newest := 1; newest <= 1000; newest++ {
		low, high := duck.Outward(newest-63, newest, newest)
		if int(low) > max(newest-63, 0) || int(low) < newest-63-32 || int(high) < 1<<31-1 {
			t.Fatalf("%d to %d of %d: %d to %d", newest-63, newest, newest, low, high)
		}
		if is := [2]int32{low, high}; is != was {
			changed, was = changed+1, is
		}
		if low, high := duck.Outward(newest, newest+5, 2000); int(low) > newest || int(high) < newest+5 || high-low > 70 {
			t.Fatalf("%d to %d of 2000: %d to %d", newest, newest+5, low, high)
		}
	}
	if changed > 32 {
		t.Errorf("%d bounds for 1000 messages", changed)
	}
}
