package bench_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/bench"
	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
)

func TestRunConversation(t *testing.T) {
	steps := map[string]bool{}
	report, err := bench.RunConversation(t.Context(), bench.ConversationConfig{
		Messages: 2000, Embedder: static.New(), Queries: 5, Live: 5, Folder: t.TempDir(), Progress: func(step string, _, _ int) { steps[step] = true },
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]float64{
		"ingest_per_s": report.IngestPerSecond, "append": report.AppendP50, "assemble raw": report.AssembleRawP50,
		"assemble compacted": report.AssembleCompactedP50, "compact": report.CompactSeconds, "extractive": report.CompactExtractiveSeconds,
		"pass": report.PassP50, "grep": report.GrepP50, "regex": report.RegexP50, "expand": report.ExpandP50,
	} {
		if value <= 0 {
			t.Errorf("%s: %v", name, value)
		}
	}
	if report.Messages != 2000 || report.Passes < 3 || report.TokensAfter < 1000 || report.TokensAfter > 10_000 || report.GrepFound < 0.9 {
		t.Errorf("%+v", report)
	}
	if len(steps) != 9 {
		t.Errorf("steps %v", steps)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil || !strings.Contains(text.String(), "2000 messages; model") || !strings.Contains(text.String(), "100%") && report.GrepFound == 1 {
		t.Errorf("%v:\n%s", err, text.String())
	}
}

func TestRunConversationRefuses(t *testing.T) {
	for want, config := range map[string]bench.ConversationConfig{
		"messages is 999; allowed: 1000":       {Messages: 999},
		"queries is -1; allowed: 1 to 100000":  {Messages: 1000, Queries: -1},
		"live is 100001; allowed: 1 to 100000": {Messages: 1000, Live: 100_001},
	} {
		if _, err := bench.RunConversation(t.Context(), config); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
