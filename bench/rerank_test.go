package bench_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/bench"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/recall"
)

// TestReranked: a set is compared with itself reranked, each way is asked that is named and no other, and times are taken of all.
func TestReranked(t *testing.T) {
	sets := bench.Reranked([]bench.WeightSet{transcript()}, []bench.NamedRerank{{Name: "features", Rerank: recall.FeaturesRerank}, {Name: "rated", Rerank: recall.ModelRerank}})
	const takes = 30 * time.Millisecond
	config := bench.LocomoConfig{Data: []string{talkFile}, Sets: sets, Reranker: enginetest.Rated{Takes: takes}, Timed: true, Queries: 2}
	report, err := bench.RunComparison(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Sets) != 3 || report.Base != "transcript" || report.Sets[1].Name != "transcript features" || report.Sets[2].Name != "transcript rated" {
		t.Fatalf("%+v", report.Sets)
	}
	for i, set := range report.Data[0].Sets {
		if set.RecallP50 <= 0 || set.RecallP95 < set.RecallP50 || i == 2 && set.RecallP50 < float64(takes.Milliseconds()) {
			t.Errorf("%s: %g and %g ms", set.Name, set.RecallP50, set.RecallP95)
		}
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil || !strings.Contains(text.String(), "recall within a conversation of talk") || !strings.Contains(text.String(), "times the first  transcript rated") {
		t.Errorf("%v:\n%s", err, text.String())
	}
	config.Reranker = enginetest.Rated{Err: errors.New("broken")}
	if _, err := bench.RunComparison(t.Context(), config); err == nil || !strings.Contains(err.Error(), "transcript rated: ") || !strings.Contains(err.Error(), "the reranker rated: broken") {
		t.Errorf("a reranker that fails: %v", err)
	}
}
