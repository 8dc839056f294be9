// Package texttest has what the tests of engine/text and of the rooms below it share.
package texttest

import (
	"strings"
	"testing"
)

// Seeds are texts to begin fuzzing with, each odd in its own way.
var Seeds = []string{
	"", "plain words", "John’s DB-42 isn't C++ or U.S.A.", "src/main.go ann@example.com std::vec 1,000.50", "用户 ｶﾞｽ か\u3099 한국 ไทย",
	"é e\u0301 ﷺ ½ İ ß", "a\x00b\xff\xc3", "\u1112\u1161\u11ab", "हिन्दी \u200d\u0301", strings.Repeat("x_", 200), "proj:AIF ENV:b-1",
	"find . -name x", "[cron:x] hi", "\u0301\u0345\u0f71\u0f72", "ͺ ŀ ŉ", "ـ aـ a_ـ ـكتاب",
}

// Seed gives the seeds to a target that takes one text.
func Seed(f *testing.F) {
	for _, s := range Seeds {
		f.Add(s)
	}
}
