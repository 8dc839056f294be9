package memory

import (
	"strings"
	"testing"
	"time"
)

// TestMergeRequest has the text of the vectors Y of spec/memories.md 7.2: the seed is b, which is more important, and a is alike to it. In the source members of several scopes became one, and
// were deleted; ours are of one scope, and end.
func TestMergeRequest(t *testing.T) {
	a := &Memory{Text: "A\nshared", Importance: 0.5, Confidence: 0.6, Scope: "global", Category: Pattern, Tier: Core}
	b := &Memory{Text: "Shared\nB", Importance: 0.9, Confidence: 0.5, Scope: "global", Category: Pattern, Tier: Working}
	r, news := mergeRequest([]*Memory{b, a}, time.Time{})
	if r.Text != "Shared\nB\nA" || *r.Importance != 0.9 || *r.Confidence != 0.7 || r.Tier != Core || !news || r.L0 != "Shared B" || r.L1 != "- Shared B\n- A shared" {
		t.Errorf("%+v", r)
	}
	if _, news := mergeRequest([]*Memory{b, {Text: "shared"}}, time.Time{}); news {
		t.Error("the first says all that the second does, and a new one is wanted")
	}
	long := &Memory{Text: strings.Repeat("é", 200)}
	if r, _ := mergeRequest([]*Memory{long, a}, time.Time{}); len([]rune(r.L0)) != mostAbstract {
		t.Errorf("an abstract of %d characters", len([]rune(r.L0)))
	}
}
