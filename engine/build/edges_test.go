package build_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/setup"
)

// TestBuildOfNothing: a conversation without a message has a context all the same.
func TestBuildOfNothing(t *testing.T) {
	t.Parallel()
	e := open(t)
	say(t, e, talk("u1 a1")...)
	if _, err := e.ResetSession(t.Context(), conversation.ArchiveRequest{Conversation: "c"}); err != nil {
		t.Fatal(err)
	}
	for _, p := range build.Presets() {
		b := built(t, e, build.Request{Preset: p.Name, Input: "hello", ReplyTo: "k1", Cursor: "k2", Snapshot: true})
		if last := b.Messages[len(b.Messages)-1]; section(b, "input") != "hello" || last.Blocks[0].Text != "hello" || b.Counts.Messages != 0 {
			t.Errorf("%s: %+v\n%s", p.Name, b.Counts, b.Text())
		}
		if v, err := e.VerifyContext(t.Context(), b.SnapshotID, ""); err != nil || !v.Same {
			t.Errorf("%s: %+v, %v", p.Name, v, err)
		}
		built(t, e, build.Request{Preset: p.Name})
	}
}

// TestInputIsNoHistory: an input that is stored already stands in the context once, wherever the window comes from, and summaries stay where they are.
func TestInputIsNoHistory(t *testing.T) {
	t.Parallel()
	e := busyTalk(t, open(t))
	ids := idsOf(t, e, 1, 18)
	for _, span := range [][2]int{{1, 4}, {5, 8}} {
		_, err := enginetest.AddSummaries(t.Context(), e, "c", func([]string) enginetest.Made {
			return enginetest.Made{Text: fmt.Sprint("summary of ", span), Tokens: 5, Sources: ids[span[0]-1 : span[1]]}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	stored := say(t, e, conversation.Message{Text: "the stored input", Key: "now"})
	for _, p := range build.Presets() {
		for _, ref := range []string{stored[0], "now"} {
			b := built(t, e, build.Request{Preset: p.Name, InputID: ref, Snapshot: true})
			if n := strings.Count(b.Text(), "the stored input"); n != 1 || section(b, "input") != "the stored input" {
				t.Errorf("%s by %s: it stands there %d times:\n%s", p.Name, ref, n, b.Text())
			}
			if one, two := strings.Index(b.Text(), "summary of [1 4]"), strings.Index(b.Text(), "summary of [5 8]"); p.Window.From == build.FromContext && (one < 0 || two < one) {
				t.Errorf("%s: summaries at %d and %d", p.Name, one, two)
			}
			if v, err := e.VerifyContext(t.Context(), b.SnapshotID, ""); err != nil || !v.Same {
				t.Errorf("%s by %s: %+v, %v", p.Name, ref, v, err)
			}
		}
	}
}

// TestRecallFails: a recall that fails ends nothing; a line says so where the preset wants one.
func TestRecallFails(t *testing.T) {
	t.Parallel()
	e := open(t, engine.Options{Embedder: enginetest.Plotted{N: 4, Vectors: map[string][]float32{"what?": {1}, "what?\na1": {1}}}})
	say(t, e, talk("u1 a1")...)
	enginetest.Remember(t, e, rememberFrom("The gantry crane stands at berth four."))
	b := built(t, e, build.Request{Preset: "takobot", Input: "what?"})
	if b.Recall.Status != build.RecallError || b.Recall.Hits != 0 || b.Recall.Error == "" || section(b, "recall") != "(Nothing could be recalled.)" || seqs(b) != "1 2" {
		t.Errorf("%+v:\n%s", b.Recall, b.Text())
	}
	if b := built(t, e, build.Request{Preset: "openboa", Input: "what?"}); b.Recall.Status != build.RecallError || section(b, "memory") != "" {
		t.Errorf("%+v:\n%s", b.Recall, b.Text())
	}
	if b := built(t, e, build.Request{Preset: "takobot"}); b.Recall.Status != build.RecallEmpty {
		t.Errorf("%+v", b.Recall)
	}
}

// TestBuildReadsOnly: a file that is open for reading gives contexts, and keeps none.
func TestBuildReadsOnly(t *testing.T) {
	t.Parallel()
	path := enginetest.NewFile(t)
	e := enginetest.OpenFile(t, path, engine.Options{})
	busyTalk(t, e)
	want := built(t, e, build.Request{Preset: "openboa", Input: "x"})
	enginetest.CloseFile(t, e)
	r := enginetest.OpenFile(t, path, engine.Options{ReadOnly: true})
	b := built(t, r, build.Request{Preset: "openboa", Input: "x"})
	if b.Hash != want.Hash || b.SnapshotID != "" || len(b.Notices) != 1 {
		t.Errorf("%s, %q, %v", b.Hash, b.SnapshotID, b.Notices)
	}
	var failed *build.Error
	if _, err := r.Build(t.Context(), build.Request{Conversation: "c", Preset: "openboa", Input: "long enough", Budget: 1, Strict: true}); !errors.As(err, &failed) || !errors.Is(err, engine.ErrBudget) {
		t.Errorf("%v", err)
	}
}

// TestPresetFiles: what a table names holds, the rest is its base's; what is wrong is named; the built-in ones stay as they are.
func TestPresetFiles(t *testing.T) {
	own, err := build.ReadPresets("[other]\nx = 1\n[presets.a]\nbase = \"takobot\"\nsections = [\"history\"]\n[presets.a.excerpts]\nsoul = 300\n[presets.b]\nbase = \"a\"\n[presets.b.window]\nuser_turns = 2\n[presets.c]\n")
	if err != nil || len(own) != 3 {
		t.Fatalf("%+v, %v", own, err)
	}
	if a, b, c := own[0], own[1], own[2]; a.Name != "a" || a.Window.UserTurns != 12 || a.Excerpts["soul"] != 300 || a.Excerpts["memory"] != 1200 || b.Window.UserTurns != 2 || len(b.Sections) != 1 || c.Window.From != build.FromContext {
		t.Errorf("%+v", own)
	}
	if p := preset(t, "takobot", func(*build.Preset) {}); p.Excerpts["soul"] != 1600 || len(p.Sections) != 7 {
		t.Errorf("takobot is changed: %+v", p)
	}
	for text, want := range map[string]string{
		"[presets.a]\nbase = \"nosuch\"":            `base: invalid request: preset is "nosuch"; allowed: lcm, takobot, openboa, goclaw, istota`,
		"[presets.a]\nwindows = 3":                  "presets.a.windows",
		"[presets.a.window]\nuser_turns = \"many\"": "presets.a",
		"[presets.\"A B\"]":                         `preset is "A B"; allowed: a name`,
		"[presets":                                  "presets",
	} {
		if _, err := build.ReadPresets(text); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for want, change := range map[string]func(*build.Preset){
		"window is": func(p *build.Preset) { p.Window.Pairs = 2 }, "window.from is": func(p *build.Preset) { p.Window.From = "moon" },
		"budget.estimator is \"cl100k\"; allowed: chars, chars4, u16-4, weighted": func(p *build.Preset) { p.Budget.Estimator = "cl100k" },
		"budget.trim is": func(p *build.Preset) { p.Budget.Trim = "sometimes" }, "budget.oversize is": func(p *build.Preset) { p.Budget.Oversize = "x" },
		"budget.reduce is": func(p *build.Preset) { p.Budget.Reduce = []string{"luck"} }, "sections is": func(p *build.Preset) { p.Sections = []string{"input"} },
		"select.by is": func(p *build.Preset) { p.Select.By = "dice" }, "select.timeout is": func(p *build.Preset) { p.Select.Timeout = -1 },
		"recall.min_score is": func(p *build.Preset) { p.Recall.MinScore = 2 }, "timezone is": func(p *build.Preset) { p.Timezone = "Mars" },
		"tools.view is": func(p *build.Preset) { p.Tools.View = "x" }, "filter.least is": func(p *build.Preset) { p.Filter.Least = -1 },
		"budget.reserve is": func(p *build.Preset) { p.Budget.Reserve = 9000 },
	} {
		if _, err := preset(t, "takobot", change).Effective(setup.Options{}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, p := range build.Presets() {
		once, err := p.Effective(setup.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := once.Effective(setup.Options{}); err != nil || cmp.Diff(once, twice) != "" {
			t.Errorf("%s: %s, %v", p.Name, cmp.Diff(once, twice), err)
		}
	}
}

// TestPairsAreReadWhole: however long a pair is, and whatever lies between, the window has as many as it should, and reads no more than it needs.
func TestPairsAreReadWhole(t *testing.T) {
	t.Parallel()
	e := open(t)
	for i := range 40 {
		say(t, e, conversation.Message{Text: fmt.Sprintf("prompt %d", i)})
		for j := range i % 7 * 3 {
			say(t, e, did(fmt.Sprintf("c%d-%d", i, j), "look", "seen")...)
		}
		say(t, e, conversation.Message{Role: "assistant", Text: fmt.Sprintf("result %d", i)})
	}
	b := built(t, e, build.Request{Custom: preset(t, "istota", func(p *build.Preset) { p.Select.By, p.Guarantee.Previous = "", 0 })})
	if got := strings.Fields(shownPairs(b)); len(got) != 25 || got[0] != "15" {
		t.Errorf("pairs %v", got)
	}
	b = built(t, e, build.Request{Custom: preset(t, "takobot", func(p *build.Preset) { p.Window.UserTurns, p.Window.Reach = 12, 20 })})
	if len(b.Notices) != 1 || !strings.Contains(b.Notices[0], "newest 20 messages") {
		t.Errorf("%v", b.Notices)
	}
}

// TestSaidTwice: a message that is appended again under its key stands in the context once; and a build that fails changes nothing of the next.
func TestSaidTwice(t *testing.T) {
	t.Parallel()
	e := open(t)
	once := conversation.Message{Text: "said once", Key: "e1", SaidAt: enginetest.Noon}
	say(t, e, once)
	say(t, e, once, conversation.Message{Role: "assistant", Text: "heard", SaidAt: enginetest.Noon})
	first := built(t, e, build.Request{Preset: "openboa", Input: "x"})
	if got := seqs(first); got != "1 2" {
		t.Errorf("messages %s", got)
	}
	if _, err := e.Build(t.Context(), build.Request{Conversation: "c", Preset: "openboa", Input: "far too long", Budget: 1, Strict: true}); err == nil {
		t.Fatal("it did not fail")
	}
	if next := built(t, e, build.Request{Preset: "openboa", Input: "x"}); next.Hash != first.Hash {
		t.Errorf("after a failure %s, before it %s", next.Hash, first.Hash)
	}
}
