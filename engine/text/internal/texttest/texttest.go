// Package texttest has what the tests of engine/text and of the rooms below it share.
package texttest

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the tests find into their golden files")

// Golden compares what a test found with a file. With the flag -update it writes the file instead, and the test's author reviews the difference.
func Golden(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-golden +now):\n%s", path, diff)
	}
}

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
