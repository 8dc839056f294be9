//go:build !ORT && !ALL

package hugot_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/embed/hugot"
)

// TestPureGo holds what the pure-Go backend can't do, or does wrongly, to a
// refusal.
func TestPureGo(t *testing.T) {
	if got := open(t, tiny, hugot.Options{}).Runtime(); got != "hugot (pure Go)" {
		t.Errorf("Runtime is %q", got)
	}
	if _, err := hugot.Open(tiny, hugot.Options{Library: "some.so"}); err == nil || !strings.Contains(err.Error(), `Library is "some.so"`) {
		t.Errorf("with a library: error %v: want one that names it", err)
	}
	vocab, err := os.ReadFile(filepath.Join(tiny, "vocab.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"more words":    {map[string]string{"config.json": "", "vocab.txt": string(vocab) + "more\n"}, "the model has vectors for"},
		"quantised":     {small(t, "quantised"), "a quantised model"},
		"half":          {small(t, "half"), "FLOAT16"},
		"no dimensions": {small(t, "no_dims"), "doesn't say how many dimensions"},
		"unknown":       {small(t, "unknown_op"), "Celu"},
	} {
		m, err := hugot.Open(variant(t, test.files), hugot.Options{})
		if err == nil {
			m.Close()
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v: want %q", name, err, test.want)
		}
	}
}
