package window_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/window"
)

func TestRoute(t *testing.T) {
	for _, c := range []struct {
		label string
		r     window.RouteRequest
		want  window.RouteDecision
	}{
		{"R1", window.RouteRequest{Query: "anything", Depth: 1}, window.RouteDecision{Way: window.Direct, Risk: window.Low}},
		{"R2", window.RouteRequest{Query: "the port", Probe: true, Depth: 1, Candidates: 1, Cap: 4000},
			window.RouteDecision{Way: window.Direct, Estimate: 220, Risk: window.Low}},
		{"R3", window.RouteRequest{Query: "the port", Probe: true, Candidates: 1, Cap: 4000},
			window.RouteDecision{Way: window.Shallow, Estimate: 633, Risk: window.Low, MultiHop: true}},
		{"R4", window.RouteRequest{Query: "the port", Depth: 1, Candidates: 1, Cap: 4000},
			window.RouteDecision{Way: window.Shallow, Estimate: 220, Risk: window.Low}},
		{"R5", window.RouteRequest{Query: "the port", Candidates: 4, Cap: 2000},
			window.RouteDecision{Way: window.Delegate, Estimate: 2530, Risk: window.High, MultiHop: true}},
		{"R6", window.RouteRequest{Query: "root cause timeline", Depth: 1, Candidates: 2, Cap: 100_000},
			window.RouteDecision{Way: window.Delegate, Estimate: 743, Risk: window.Low, Broad: true, MultiHop: true}},
		{"R7", window.RouteRequest{Query: "2019 to 2021 changes", Depth: 1, Candidates: 1, Probe: true},
			window.RouteDecision{Way: window.Shallow, Estimate: 297, Risk: window.Low, Broad: true}},
		{"messages cost more", window.RouteRequest{Query: "x", Depth: 1, Candidates: 1, Messages: true},
			window.RouteDecision{Way: window.Shallow, Estimate: 418, Risk: window.Low}},
		{"moderate", window.RouteRequest{Query: "x", Depth: 1, Candidates: 1, Probe: true, Cap: 440},
			window.RouteDecision{Way: window.Shallow, Estimate: 220, Risk: window.Moderate}},
		{"high alone delegates", window.RouteRequest{Query: "x", Depth: 1, Candidates: 1, Probe: true, Cap: 314},
			window.RouteDecision{Way: window.Delegate, Estimate: 220, Risk: window.High}},
		{"many candidates alone do not", window.RouteRequest{Query: "x", Depth: 1, Candidates: 5, Cap: 100_000},
			window.RouteDecision{Way: window.Shallow, Estimate: 1375, Risk: window.Low, MultiHop: true}},
		{"depth alone does not; ten is the most", window.RouteRequest{Query: "x", Depth: 99, Candidates: 1, Cap: 100_000},
			window.RouteDecision{Way: window.Shallow, Estimate: 1884, Risk: window.Low, MultiHop: true}},
		{"out of range", window.RouteRequest{Depth: -7, Candidates: -7, Cap: -7}, window.RouteDecision{Way: window.Direct, Risk: window.Low}},
	} {
		if diff := cmp.Diff(c.want, window.Route(c.r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.label, diff)
		}
	}
	if got := window.Route(window.RouteRequest{Candidates: math.MaxInt}); got.Risk != window.High || got.Way != window.Delegate {
		t.Errorf("very many candidates: %+v", got)
	}
}

func TestRouteWords(t *testing.T) {
	for _, c := range []struct {
		query           string
		broad, multiHop bool
	}{
		{"What is the port?", false, false},
		{"Changes of the last months", true, false},
		{"in the past two years", true, false},
		{"how it changed over time", true, false},
		{"the history of the parser", true, false},
		{"our long-term goals", true, false},
		{"between March and May", true, false},
		{"in 2020 and 2021", false, false},
		{"in 1999 or 2001", true, false},
		{"port 20210 or 2021", false, false},
		{"the Root Cause", false, true},
		{"the chain of events", false, true},
		{"How did the cache lead to this?", false, true},
		{"a multi-step plan", false, true},
		{"rooted causeway", false, false},
	} {
		d := window.Route(window.RouteRequest{Query: c.query, Depth: 1, Candidates: 1})
		if d.Broad != c.broad || d.MultiHop != c.multiHop {
			t.Errorf("%q: broad %v, multi-hop %v; want %v, %v", c.query, d.Broad, d.MultiHop, c.broad, c.multiHop)
		}
	}
}
