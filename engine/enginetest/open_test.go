package enginetest_test

import (
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// TestOpen: what Open gives is what a new file is, whatever its options ask for.
func TestOpen(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]engine.Options{
		"plain": {}, "german": {Language: "german"}, "english": {Language: "english"}, "with a model": {Embedder: enginetest.Words{N: 8}},
		"with a model and german": {Embedder: enginetest.Words{N: 8}, Language: "german"}, "in two threads": {Threads: 2},
	} {
		o.Now = func() (at time.Time) { return enginetest.Noon }
		made, given := enginetest.OpenAt(t, enginetest.NewFile(t), o), enginetest.Open(t, o)
		for _, question := range []string{"SELECT * FROM settings ORDER BY ALL", "SELECT * FROM models ORDER BY ALL", "SELECT * FROM migrations ORDER BY ALL",
			"SELECT table_schema, table_name, column_name, data_type FROM information_schema.columns ORDER BY ALL"} {
			enginetest.Equal(t, name+": "+question, enginetest.Rows(t, made, question), enginetest.Rows(t, given, question))
		}
		enginetest.Equal(t, name, enginetest.Everything(t, made), enginetest.Everything(t, given))
	}
}
