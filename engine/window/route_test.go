package window_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine/window"
)

func TestRoute(t *testing.T) {
	for _, c := range []struct {
		label      string
		question   string
		candidates int
		limit      int
		want       window.RouteDecision
	}{
		{"nothing to read", "anything", 0, 0, window.RouteDecision{Way: window.Direct, Risk: window.Low}},
		{"one", "the port", 1, 4000, window.RouteDecision{Way: window.Shallow, Estimate: 418, Risk: window.Low}},
		{"four", "the port", 4, 2000, window.RouteDecision{Way: window.Delegate, Estimate: 1672, Risk: window.High}},
		{"broad and multi-hop", "root cause timeline", 2, 100_000,
			window.RouteDecision{Way: window.Delegate, Estimate: 1411, Risk: window.Low, Broad: true, MultiHop: true}},
		{"broad", "2019 to 2021 changes", 1, 0, window.RouteDecision{Way: window.Shallow, Estimate: 565, Risk: window.Low, Broad: true}},
		{"moderate from 35 %", "x", 1, 1194, window.RouteDecision{Way: window.Shallow, Estimate: 418, Risk: window.Moderate}},
		{"low below", "x", 1, 1195, window.RouteDecision{Way: window.Shallow, Estimate: 418, Risk: window.Low}},
		{"high from 70 %, which alone delegates", "x", 1, 597, window.RouteDecision{Way: window.Delegate, Estimate: 418, Risk: window.High}},
		{"moderate below", "x", 1, 598, window.RouteDecision{Way: window.Shallow, Estimate: 418, Risk: window.Moderate}},
		{"many candidates alone do not", "x", 5, 100_000, window.RouteDecision{Way: window.Shallow, Estimate: 2613, Risk: window.Low, MultiHop: true}},
		{"out of range", "", -7, -7, window.RouteDecision{Way: window.Direct, Risk: window.Low}},
	} {
		if diff := cmp.Diff(c.want, window.Route(c.question, c.candidates, c.limit)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.label, diff)
		}
	}
	if got := window.Route("", math.MaxInt, 0); got.Risk != window.High || got.Way != window.Delegate {
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
		d := window.Route(c.query, 1, 0)
		if d.Broad != c.broad || d.MultiHop != c.multiHop {
			t.Errorf("%q: broad %v, multi-hop %v; want %v, %v", c.query, d.Broad, d.MultiHop, c.broad, c.multiHop)
		}
	}
}
