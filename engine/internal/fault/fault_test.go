package fault_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// TestSaid: a refusal is ErrInvalid, and names the field, the value, shortened, and what is allowed.
func TestSaid(t *testing.T) {
	t.Parallel()
	type word string
	for want, err := range map[string]error{
		"invalid request: limit is 0; allowed: 1 to 1000":                                             fault.Invalid("limit", 0, "1 to 1000"),
		`invalid request: tier is "top"; allowed: core, working`:                                      fault.Member("tier", word("top"), []word{"core", "working"}),
		`invalid request: tiers is "top"; allowed: core, working`:                                     fault.Members("tiers", []word{"core", "top"}, []word{"core", "working"}),
		`invalid request: text is "a\xff"; allowed: valid UTF-8`:                                      fault.CheckText("text", "a\xff"),
		`invalid request: scopes is "a\x00"; allowed: text without NUL bytes`:                         fault.CheckTexts("scopes", []string{"a", "a\x00"}),
		"invalid request: at is 10000-01-01 00:00:00 +0000 UTC; allowed: the years 1 to 9999, in UTC": fault.CheckTime("at", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)),
		`invalid request: id is "` + strings.Repeat("é", 60) + `"…; allowed: ids`:                     fault.Invalid("id", strings.Repeat("é", 61), "ids"),
	} {
		if err == nil || !errors.Is(err, fault.ErrInvalid) || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	if err := errors.Join(fault.CheckText("text", "añ"), fault.CheckTime("at", time.Time{}), fault.Member("tier", word("core"), []word{"core"})); err != nil {
		t.Error(err)
	}
}
