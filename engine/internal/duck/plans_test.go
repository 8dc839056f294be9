package duck

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/setup"
)

// TestFixedPlansAreFew: a connection keeps so many plans with their arguments written into them, those that were run last. A long list is asked
// for with parameters, and a text that can't be written is refused.
func TestFixedPlansAreFew(t *testing.T) {
	f, err := Open(t.Context(), filepath.Join(t.TempDir(), "plans.db"), setup.Options{}.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	none := func(*sql.Rows) error { return nil }
	err = f.Read(t.Context(), "test", func(c *Conn) error {
		ask := func(name string) error {
			return c.EachFixed(t.Context(), "conversation_by_name", none, sql.Named("name", name))
		}
		for i := range 3 * mostFixed {
			if err := ask(fmt.Sprint("talk ", i)); err != nil {
				return err
			}
			if err := ask("talk 0"); err != nil { // again and again
				return err
			}
		}
		first, _ := fixedKey("conversation_by_name", []any{sql.Named("name", "talk 0")})
		second, _ := fixedKey("conversation_by_name", []any{sql.Named("name", "talk 1")})
		if len(c.fixed) != mostFixed || len(c.prepared) > mostFixed+3 || c.prepared[first] == nil || c.prepared[second] != nil {
			t.Errorf("%d plans of %d statements are kept; that of the first %t, of the second %t", len(c.fixed), len(c.prepared), c.prepared[first] != nil, c.prepared[second] != nil)
		}
		long := sql.Named("ids", make([]string, mostListed+1))
		if err := c.EachFixed(t.Context(), "assemble_summaries", none, sql.Named("conversation_id", "c"), long); err != nil {
			return err
		}
		if len(c.fixed) != mostFixed || c.fixed[mostFixed-1] != first {
			t.Errorf("the last of %d plans is %q", len(c.fixed), c.fixed[len(c.fixed)-1])
		}
		c.Unprepare()
		if len(c.fixed) != 0 {
			t.Errorf("%d plans are left", len(c.fixed))
		}
		return ask("talk 0")
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"\xff", "a\x00b"} {
		err := f.Read(t.Context(), "test", func(c *Conn) error {
			return c.EachFixed(t.Context(), "conversation_by_name", none, sql.Named("name", text))
		})
		if !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
