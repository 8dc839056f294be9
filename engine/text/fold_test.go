package text_test

import (
	"testing"

	"github.com/mallardmem/mallard/engine/text"
)

// TestFoldSettles looks at every code point, alone, after letters it could compose with, and before a mark.
func TestFoldSettles(t *testing.T) {
	if testing.Short() {
		t.Skip("short: every character")
	}
	for r := rune(1); r < 0xE1000; r++ {
		if r == 0x33480 { // nothing is assigned from here to the variation selectors
			r = 0xE0000
		}
		for _, s := range []string{string(r), "a" + string(r) + "\u0301", "\u1100" + string(r) + "\u1161", "か" + string(r) + "\u3099"} {
			once := text.Fold(s)
			if twice := text.Fold(once); twice != once {
				t.Fatalf("%+q folds to %+q, then to %+q", s, once, twice)
			}
		}
	}
}

func TestFold(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"plain text", "plain text"},
		{"Plain TEXT, 42!", "plain text, 42!"},
		{"Ångström ÉTÉ", "angstrom ete"},
		{"e\u0301te\u0301", "ete"},
		{"Tiếng Việt", "tieng viet"},
		{"ŁØÐÞÆŒẞıİ", "lodthaeoessii"},
		{"ＡＢＣ１２３", "abc123"},
		{"ﬀ Ⅳ ²", "ff iv 2"},
		{"ΣΊΣΥΦΟΣ", "σισυφοσ"},
		{"Ёж Йод Їжак", "еж йод їжак"},
		{"и\u0306", "й"},
		{"हिन्दी", "हिन्दी"},
		{"が", "が"},
		{"ｶﾞ", "ガ"},
		{"ไทย", "ไทย"},
		{"كِتَاب", "كتاب"},
		{"a\u200Db\uFEFF", "ab"},
		{"a\x00b", "a\uFFFDb"},
		{"a\xffb", "a\uFFFDb"},
	}
	for _, test := range tests {
		if got := text.Fold(test.in); got != test.want {
			t.Errorf("Fold(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}
