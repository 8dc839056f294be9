package text_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/text"
)

func TestTagTokens(t *testing.T) {
	prefixes := []string{"proj", "env", "scope", "projx"}
	tests := []struct {
		query string
		want  []string
	}{
		{"proj:AIF bug", []string{"proj:AIF"}},
		{"myproj:AIF", []string{"proj:AIF"}},
		{"proj: AIF", nil},
		{"proj:", nil},
		{"scope:agent:main", []string{"scope:agent"}},
		{"PROJ:a ENV:b-1", []string{"PROJ:a", "ENV:b-1"}},
		{"projx:a_b.", []string{"projx:a_b"}},
		{"proj:Größe", []string{"proj:Größe"}},
		{"other:x", nil},
		{"", nil},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, text.TagTokens(test.query, prefixes)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.query, diff)
		}
	}
	for _, none := range [][]string{nil, {""}} {
		if got := text.TagTokens(":x proj:AIF", none); got != nil {
			t.Errorf("prefixes %q: got %q", none, got)
		}
	}
}
