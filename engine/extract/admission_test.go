package extract_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/embed/static"
	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/extract"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/text/capture"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestAdmissionFeatures has the vectors P of spec/memories.md 7.2 about single features.
func TestAdmissionFeatures(t *testing.T) {
	t.Parallel()
	near(t, "confidence of best 4/13 and coverage 0.5", math.Round(extract.Supported(4.0/13, 0.5)*1e6)/1e6, 0.240385)
	near(t, "two words of four, in a stretch of nine", extract.BorneOut("strong tea keeps sailors\n", "today we had some strong tea with the crew"), 0.7*4/13+0.3*0.5-0.25*0.5)
	near(t, "identical", extract.BorneOut("I prefer tea\n", "I prefer tea"), 1)
	near(t, "empty", extract.BorneOut(" \n", "I prefer tea"), 0)
	near(t, "no overlap", extract.BorneOut("dogs bark\n", "I prefer tea"), 0)
	near(t, "Chinese", extract.BorneOut("我喜欢茶", "今天下雨。我喜欢茶！"), 1)
	near(t, "novelty of 0.6", extract.NoveltyOf(0.6), 0.4)
	near(t, "novelty of -0.2", extract.NoveltyOf(-0.2), 1)
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for days, want := range map[int]float64{0: 0, 1: 0.048305, 7: 0.292893, 14: 0.5, 28: 0.75} {
		near(t, fmt.Sprint("recency of ", days), math.Round(extract.RecencyOf(now.AddDate(0, 0, -days), now, 14)*1e6)/1e6, want)
	}
	near(t, "recency of nothing", extract.RecencyOf(time.Time{}, now, 14), 1)
}

// TestAdmissionGate has the vectors P about scores and settings.
func TestAdmissionGate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		preset, category              string
		utility, confidence, greatest float64
		gap                           int // days; -1: nothing was compared
		score                         float64
		rejected                      bool
		hint                          string
	}{
		{"balanced", "profile", 0.5, 1, 0, -1, 0.92, false, "add"},
		{"balanced", "event", 0.5, 1, 0, -1, 0.62, false, "add"},
		{"balanced", "case", 0.5, 1, 0, -1, 0.83, false, "add"},
		{"conservative", "profile", 0.5, 1, 0, -1, 0.9116, false, "add"},
		{"conservative", "event", 0.5, 1, 0, -1, 0.6176, false, "update_or_merge"},
		{"conservative", "case", 0.5, 1, 0, -1, 0.8276, false, "add"},
		{"high-recall", "profile", 0.5, 1, 0, -1, 0.936, false, "add"},
		{"high-recall", "event", 0.5, 1, 0, -1, 0.708, false, "add"},
		{"high-recall", "case", 0.5, 1, 0, -1, 0.864, false, "add"},
		{"balanced", "event", 0.5, 0, 0.9, 14, 0.38, true, ""},
		{"balanced", "event", 0, 0, 0.95, 0, 0.275, true, ""},
		{"balanced", "profile", 0, 0, 0.95, 0, 0.575, false, "update_or_merge"},
		{"conservative", "event", 0.5, 0.5, 0.5, 10, 0.4076, true, ""},
	} {
		newest := time.Time{}
		if c.gap >= 0 {
			newest = now.AddDate(0, 0, -c.gap)
		}
		score, rejected, hint := extract.Judged(setup.Admission{Preset: c.preset}.Gate(), c.category, c.utility, c.confidence, c.greatest, newest, now)
		if math.Abs(score-c.score) > 1e-6 || rejected != c.rejected || hint != c.hint {
			t.Errorf("%+v: %v %t %q", c, score, rejected, hint)
		}
	}
	ones := map[string]float64{setup.Utility: 1, setup.Confidence: 1, setup.Novelty: 1, setup.Recency: 1, setup.TypePrior: 1}
	near(t, "one of five", setup.Admission{Preset: "balanced", Weights: ones}.Gate().Weights[setup.Novelty], 0.2)
	ones[setup.TypePrior] = 0
	g := setup.Admission{Preset: "balanced", Weights: ones}.Gate()
	near(t, "one of four", g.Weights[setup.Novelty], 0.25)
	near(t, "none", g.Weights[setup.TypePrior], 0)
	reject, admit := 0.7, 0.6
	near(t, "admit", setup.Admission{Preset: "balanced", Reject: &reject, Admit: &admit}.Gate().Admit, 0.7)
	zero := map[string]float64{setup.Utility: 0, setup.Confidence: 0, setup.Novelty: 0, setup.Recency: 0, setup.TypePrior: 0}
	near(t, "no weight at all", setup.Admission{Preset: "balanced", Weights: zero}.Gate().Weights[setup.TypePrior], 0.6)
	for _, bad := range []setup.Admission{{Preset: "lax"}, {Preset: "balanced", Pool: 21}, {Preset: "balanced", HalfLife: 400}, {Preset: "balanced", Weights: map[string]float64{"charm": 1}},
		{Preset: "balanced", Priors: map[string]float64{"events": 1}}} {
		if _, err := engine.Open(t.Context(), ":memory:", engine.Options{Extraction: setup.Extraction{Admission: bad}}); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// TestAdmission: what is rejected is a row, and no memory; what is admitted has its record as well.
func TestAdmission(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{Embedder: static.New(), Extraction: setup.Extraction{Admission: setup.Admission{Preset: "conservative"}}})
	r := say(t, e, "c", "My name is Ana Souza.", "We decided to paint the boat blue.", "We decided to paint the boat blue again.")
	want := []outcome{{"name: Ana Souza", "create", "create"}, {"We decided to paint the boat blue.", "create", "create"}, {"We decided to paint the boat blue again.", "reject", "reject"}}
	if diff := cmp.Diff(want, outcomes(r.Drafts)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(texts(t, e)); n != 2 {
		t.Errorf("%d memories, want 2", n)
	}
	rows := enginetest.Rows(t, e, "SELECT decision, hint, memory_id IS NOT NULL FROM report.admission ORDER BY draft_id IN (SELECT id FROM drafts WHERE verdict = 'reject'), text DESC")
	if len(rows) != 3 || rows[2][0] != "rejected" || rows[2][1] != nil || rows[0][0] != "admitted" {
		t.Errorf("%v", rows)
	}
	stats, err := e.AdmissionStats(t.Context(), extract.AdmissionStatsRequest{})
	if err != nil || stats.All != (extract.AdmissionCount{Admitted: 2, Rejected: 1}) || *stats.ByCategory["event"] != (extract.AdmissionCount{Admitted: 1, Rejected: 1}) || stats.LastDay.Rejected != 1 ||
		*stats.ByScope["global"] != stats.All || !slices.Equal(stats.Reasons, []extract.AdmissionReason{{"score #.# is below #.#", 1}}) {
		t.Errorf("%+v, %v", stats, err)
	}
}

// TestAdmissionCompares has the vector P about novelty: of two memories at 0.6 and 0.54 both are compared, the nearer says how new a draft is, and it alone matches.
func TestAdmissionCompares(t *testing.T) {
	t.Parallel()
	// A text that has no vector of its own, such as the draft, lies on the last axis.
	model := enginetest.Plotted{N: 3, Vectors: map[string][]float32{
		"The boat was launched": {0.8, 0, 0.6}, "The pier was closed": {0, float32(math.Sqrt(1 - 0.54*0.54)), 0.54}}}
	e := enginetest.Open(t, engine.Options{Embedder: model, Extraction: setup.Extraction{Admission: setup.Admission{Preset: "balanced"}}})
	for id, said := range map[string]string{"mem_near": "The boat was launched", "mem_far": "The pier was closed"} {
		enginetest.Remember(t, e, memory.RememberRequest{ID: id, Text: said, Category: memory.Event})
	}
	r := say(t, e, "c", "We decided to paint the harbour blue.")
	if len(r.Drafts) != 1 || r.Drafts[0].Admission == nil {
		t.Fatalf("%+v", r)
	}
	a := r.Drafts[0].Admission
	near(t, "novelty", a.Features[setup.Novelty], 0.4)
	if !slices.Equal(a.Compared, []string{"mem_near", "mem_far"}) || !slices.Equal(a.Matched, []string{"mem_near"}) {
		t.Errorf("compared with %v, of which %v match", a.Compared, a.Matched)
	}
}

// TestAdmissionUtility: a model says how useful a draft is; where it fails that is a half.
func TestAdmissionUtility(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]float64{`{"utility": 0.9, "reason": "lasting"}`: 0.9, `{"utility": 7}`: 1, "no idea": 0.5} {
		s := script{find: []string{memoryJSON("profile", "Name: Ana Souza", "Ana says her name.")}, utility: []string{answer, answer}}
		e := enginetest.Open(t, engine.Options{LLM: s.llm(), Extraction: setup.Extraction{Admission: setup.Admission{Preset: "balanced", AskUtility: true}}})
		r := say(t, e, "c", "My name is Ana Souza.")
		if len(r.Drafts) != 1 || r.Drafts[0].Admission == nil || r.Drafts[0].Admission.Features[setup.Utility] != want {
			t.Errorf("%s: %+v", answer, r)
		}
	}
}

// TestDoubles has the vectors S of spec/memories.md 7.2. The nearest float32 to 0.85 lies above it, so that a coordinate alone can't have the bound itself; three that are
// added up can.
func TestDoubles(t *testing.T) {
	t.Parallel()
	at := func(cosine float64) []float32 {
		return []float32{float32(cosine), float32(math.Sqrt(1 - cosine*cosine))}
	}
	got := extract.DoublesOf([][]float32{{1, 0}, at(0.8500001), at(0.86), {0, 1}, nil, nil, {math.Nextafter32(0.85, 0), 0}})
	if !slices.Equal(got, []int{-1, 0, 0, -1, -1, -1, -1}) {
		t.Errorf("doubles of %v", got)
	}
	high := float32(0.85)
	middle := float32(0.85 - float64(high))
	low := float32(0.85 - float64(high) - float64(middle))
	for last, want := range map[float32]int{low: -1, low + 1e-15: 0} {
		if got := extract.DoublesOf([][]float32{{1, 1, 1}, {high, middle, last}}); got[1] != want {
			t.Errorf("at 0.85 and %g the second is a double of %d, want %d", last-low, got[1], want)
		}
	}
}

// TestSupport has the vectors R of spec/memories.md 7.2.
func TestSupport(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := (&memory.Memory{}).SupportOf()
	near(t, "strength of nothing", s.GlobalStrength, 0.5)
	for _, o := range []struct {
		context  string
		confirms bool
	}{{"general", true}, {"晚上", true}, {"evening", false}, {"Custom", true}} {
		s = s.Observe(capture.NormaliseContext(o.context), o.confirms, now)
	}
	near(t, "global", s.GlobalStrength, 0.75)
	if s.TotalObservations != 4 || len(s.Slices) != 3 || s.Slices[1].Context != "evening" || s.Slices[1].Strength != 0.5 || s.Slices[2].Context != "custom" {
		t.Errorf("%+v", s)
	}
	old := (&memory.Memory{SupportInfo: map[string]any{"confirmations": 3, "contradictions": 1, "strength": 0.75}}).SupportOf()
	if old.TotalObservations != 4 || len(old.Slices) != 1 || old.Slices[0].Strength != 0.75 || old.Slices[0].Context != "general" {
		t.Errorf("%+v", old)
	}
	for n := range 10 {
		s = s.Observe(fmt.Sprint("context ", n), true, now.Add(time.Duration(n+1)*time.Minute))
	}
	if len(s.Slices) != 8 || s.Slices[0].Context != "context 9" {
		t.Errorf("%+v", s)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"a": "x"}`: "x", "```json\n{\"a\": \"x\",}\n```": "x", `I think {this} is it: {"a": "x { } \" y"} or not`: `x { } " y`, `{"b": {"a": "inner"}}`: "inner",
		`null`: "", `{"a": null}`: "", `{"a": 3}`: "", `{"a": "x"`: "", `[]`: "", "": "",
	} {
		var got struct{ A string }
		err := extract.Decode(answer, &got, "a")
		if got.A != want || (err == nil) != (want != "") {
			t.Errorf("%q gives %q, %v", answer, got.A, err)
		}
	}
}
