package build_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/note"
	"github.com/mallardmem/mallard/engine/setup"
)

// hinted is openboa's preset with its hints changed.
func hinted(t testing.TB, change func(*build.Hints)) *build.Preset {
	t.Helper()
	return preset(t, "openboa", func(p *build.Preset) { change(&p.Hints) })
}

// pointers are the pointers that are shown, as kind and name, with their scores.
func pointers(b *build.Built) (all []string) {
	for _, it := range b.Items {
		if it.Evidence != nil && it.Kept {
			all = append(all, fmt.Sprintf("%s %s %d", it.Kind, it.Name, it.Evidence.Score))
		}
	}
	return all
}

// elsewhere appends to another conversation than c.
func elsewhere(t *testing.T, e *engine.Engine, r conversation.AppendRequest) *conversation.Appended {
	t.Helper()
	for i := range r.Messages {
		if r.Messages[i].SaidAt.IsZero() {
			r.Messages[i].SaidAt = enginetest.Noon
		}
	}
	return enginetest.Append(t, e, r)
}

// TestOpenboaO14Merge: of several hits on one anchor the best counts, and one more for each other piece; the vector of spec/context.md 2(d) 10.
func TestOpenboaO14Merge(t *testing.T) {
	t.Parallel()
	h := preset(t, "openboa", func(*build.Preset) {}).Hints
	for _, test := range []struct {
		scores []int
		want   build.Evidence
	}{
		{[]int{9, 7}, build.Evidence{Score: 10, Pieces: 2, Confidence: "high"}}, {[]int{7, 9}, build.Evidence{Score: 10, Pieces: 2, Confidence: "high"}},
		{[]int{1, 1}, build.Evidence{Score: 2, Pieces: 2, Confidence: "high"}}, {[]int{10}, build.Evidence{Score: 10, Pieces: 1, Confidence: "high"}},
		{[]int{9}, build.Evidence{Score: 9, Pieces: 1, Confidence: "medium"}}, {[]int{6}, build.Evidence{Score: 6, Pieces: 1, Confidence: "medium"}},
		{[]int{5}, build.Evidence{Score: 5, Pieces: 1, Confidence: "low"}}, {nil, build.Evidence{}},
	} {
		if diff := cmp.Diff(test.want, h.Weigh(test.scores...)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.scores, diff)
		}
	}
}

// TestOpenboaO14Scores: the whole query +6, a phrase +4, a path +5, an identifier +3, a word +1; memories +3 besides.
func TestOpenboaO14Scores(t *testing.T) {
	t.Parallel()
	e := emptyTalk(t, open(t))
	for _, text := range []string{"The gantry crane stands at berth four.", "HB-412 is fixed in release_notes.", "See notes/derricks.md:4 for winches.", "Ärger mit den Möwen."} {
		enginetest.Remember(t, e, memory.RememberRequest{Text: text})
	}
	const own = "memory +3"
	for _, test := range []struct {
		input string
		score int
		why   []string
	}{
		{"gantry", 10, []string{`whole "gantry" +6`, `word "gantry" +1`, own}},
		{"the gantry crane", 11, []string{`whole "the gantry crane" +6`, `word "gantry" +1`, `word "crane" +1`, own}},
		{"cranes at four berths?", 6, []string{`word "cranes" +1`, `word "four" +1`, `word "berths" +1`, own}},
		{`move the "gantry crane" tomorrow`, 7, []string{`phrase "gantry crane" +4`, own}},
		{`move the „Gantry   Crane“, the gantry`, 8, []string{`phrase "Gantry Crane" +4`, `word "gantry" +1`, own}},
		{"ship HB-412 tomorrow", 6, []string{`identifier "HB-412" +3`, own}},
		{"release_notes and HB-412, HB-412 again", 9, []string{`identifier "release_notes" +3`, `identifier "HB-412" +3`, own}},
		{"open (notes/derricks.md) please", 8, []string{`path "notes/derricks.md" +5`, own}},
		{"who moves möwen away? ARGER!", 5, []string{`word "mowen" +1`, `word "arger" +1`, own}},
		{"the and of", 0, nil}, {"nothing of that", 0, nil}, {`"x" "` + strings.Repeat("long ", 40) + `"`, 0, nil},
	} {
		b := built(t, e, build.Request{Custom: hinted(t, func(h *build.Hints) { h.Ask = []string{build.AskInput} }), Input: test.input})
		var got build.Evidence
		for _, it := range b.Items {
			if it.Evidence != nil && it.Kept {
				got = *it.Evidence
			}
		}
		if diff := cmp.Diff(test.why, got.Why); diff != "" || got.Score != test.score || len(pointers(b)) > 1 {
			t.Errorf("%q: %v, score %d, want %d (-want +got):\n%s", test.input, pointers(b), got.Score, test.score, diff)
		}
	}
}

// harbourHints has what hints may point at: memories, notes and skills, conversations that began here or elsewhere, a summary, tools.
func harbourHints(t *testing.T, o ...engine.Options) (e *engine.Engine, folder string) {
	t.Helper()
	e = open(t, o...)
	elsewhere(t, e, conversation.AppendRequest{Conversation: "parent", Messages: []conversation.Message{{Text: "parent of winch"}}})
	r := conversation.AppendRequest{Conversation: "c", Parent: "parent", Messages: []conversation.Message{{Text: "hello", SaidAt: enginetest.Noon}, {Text: "own winch", SaidAt: enginetest.Noon}}}
	enginetest.Append(t, e, r)
	for _, talk := range []struct{ name, parent, scope string }{{"child", "c", ""}, {"sibling", "parent", ""}, {"stranger", "", ""}, {"apart", "", "user:ines"}} {
		elsewhere(t, e, conversation.AppendRequest{Conversation: talk.name, Parent: talk.parent, Scope: talk.scope, Messages: []conversation.Message{{Text: talk.name + " of winch"}}})
	}
	elsewhere(t, e, conversation.AppendRequest{Conversation: "kinds", Messages: []conversation.Message{{Role: "assistant", Text: "evaluated winch", SourceKind: "evaluation"}}})
	elsewhere(t, e, conversation.AppendRequest{Conversation: "goals", Messages: []conversation.Message{{Text: "wanted winch", SourceKind: "outcome"}}})
	elsewhere(t, e, conversation.AppendRequest{Conversation: "traces", Messages: did("c1", "winch", "found it")})
	elsewhere(t, e, conversation.AppendRequest{Conversation: "hidden", Messages: []conversation.Message{{Text: "hidden winch", Withheld: true}}})
	enginetest.Remember(t, e, memory.RememberRequest{Text: "Ask the keeper of the winch.", Layer: memory.ReflectionLayer})
	enginetest.Remember(t, e, memory.RememberRequest{Text: "That winch is blue."})
	folder = t.TempDir()
	for name, text := range map[string]string{"MEMORY.md": "Any winch is oiled weekly.\n", "skills/lifting/SKILL.md": "How a winch lifts.\n", "skills/a.md": "A winch by night.\n", "skills/b.md": "Both winch hands.\n"} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, enginetest.Noon, enginetest.Noon); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.SyncNotes(t.Context(), note.SyncRequest{Folder: folder, Files: []string{"."}}); err != nil {
		t.Fatal(err)
	}
	return e, folder
}

// TestOpenboaO14Boosts: where a document is from counts, and how its conversation is related to this one.
func TestOpenboaO14Boosts(t *testing.T) {
	t.Parallel()
	e, _ := harbourHints(t)
	wide := hinted(t, func(h *build.Hints) { h.Memories, h.Skills, h.Sessions, h.Ask = 20, 20, 20, []string{build.AskInput} })
	b := built(t, e, build.Request{Custom: wide, Input: "which winch lifts?"})
	got := map[string]string{}
	for _, it := range b.Items {
		if it.Evidence != nil {
			got[it.Kind+" "+strings.TrimPrefix(it.Name, "mem_")] = strings.Join(it.Evidence.Why, ", ")
		}
	}
	const word = `word "winch" +1, `
	want := map[string]string{
		"note MEMORY.md:1-1": word + "note +4", "skill skills/a.md:1-1": strings.TrimSuffix(word, ", "), "skill skills/b.md:1-1": strings.TrimSuffix(word, ", "),
		"skill skills/lifting/SKILL.md:1-1": word + `word "lifts" +1`,
		"session parent#1":                  word + "message +2, the same scope +2, related +2", "session child#1": word + "message +2, the same scope +2, related +2",
		"session sibling#1": word + "message +2, the same scope +2, sibling +1", "session stranger#1": word + "message +2, the same scope +2", "session apart#1": word + "message +2",
		"session kinds#1": word + "evaluation +3, the same scope +2", "session goals#1": word + "outcome +2, the same scope +2",
	}
	learned, known, trace := 0, 0, 0
	for name, why := range got {
		switch {
		case strings.HasPrefix(name, "memory") && why == word+"learning +5":
			learned++
		case strings.HasPrefix(name, "memory") && why == word+"memory +3":
			known++
		case strings.HasPrefix(name, "session traces#") && strings.HasSuffix(why, "the same scope +2"):
			trace++
		default:
			continue
		}
		delete(got, name)
	}
	if diff := cmp.Diff(want, got); diff != "" || learned != 1 || known != 1 || trace != 1 {
		t.Errorf("%d learned, %d known, %d of tools (-want +got):\n%s", learned, known, trace, diff)
	}
	o := build.Outcome{Title: "the winch is blue", Criteria: []string{"the winch", "blue or that", "never seen", "That!"}}
	b = built(t, e, build.Request{Custom: wide, Input: "winch lifts", Outcome: o})
	for _, it := range b.Items {
		if strings.Contains(it.Text, "is blue") && !strings.HasSuffix(strings.Join(it.Evidence.Why, ", "), "memory +3, criteria +2") {
			t.Errorf("%v", it.Evidence.Why)
		}
	}
	o.Title = "winch is blue"
	b = built(t, e, build.Request{Custom: wide, Input: "winch lifts", Outcome: o})
	if got := strings.Join(pointers(b), "; "); !strings.HasPrefix(got, "memory") || !strings.Contains(got, " 9;") {
		t.Errorf("an outcome that is named: %s", got)
	}
}

// TestOpenboaO14Limits: three memories, two skills, two sessions, the best of them; a conversation is pointed at once, the one that is built never, and nothing that is withheld.
func TestOpenboaO14Limits(t *testing.T) {
	t.Parallel()
	e, _ := harbourHints(t)
	elsewhere(t, e, conversation.AppendRequest{Conversation: "child", Messages: []conversation.Message{{Text: "that winch again", SaidAt: enginetest.Noon.Add(time.Hour)}}})
	for i := range 3 {
		enginetest.Remember(t, e, memory.RememberRequest{Text: fmt.Sprintf("Winch number %d.", i)})
	}
	b := built(t, e, build.Request{Preset: "openboa", Input: "where is winch?"})
	kinds := map[string]int{}
	for _, it := range b.Items {
		if it.Evidence != nil {
			kinds[it.Kind]++
		}
	}
	if diff := cmp.Diff(map[string]int{"memory": 2, "note": 1, "skill": 2, "session": 2}, kinds); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, strings.Join(pointers(b), "\n"))
	}
	got := strings.Join(pointers(b), "; ")
	for _, want := range []string{"note MEMORY.md:1-1 5", "session parent#1 7", "session child#2 7"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s: no %s", got, want)
		}
	}
	if b.Recall.Status != build.RecallOK || b.Recall.Limit != 7 || b.Recall.Hits < 15 || b.Counts.MemoryPointers != 7 || strings.Contains(b.Text(), "hidden winch") || strings.Contains(section(b, "memory"), "own winch") {
		t.Errorf("%+v, %+v\n%s", b.Recall, b.Counts, section(b, "memory"))
	}
	if b := built(t, e, build.Request{Custom: hinted(t, func(h *build.Hints) { h.Sessions, h.Skills, h.Least = 0, 0, 6 }), Input: "where is winch?"}); strings.Join(pointers(b), "") == "" || len(pointers(b)) != 1 {
		t.Errorf("from 6 on, of memories alone: %v", pointers(b))
	}
	if b := built(t, e, build.Request{Preset: "openboa", Agent: "scout", Scopes: []string{"user:ines"}, Input: "where is winch?"}); len(pointers(b)) != 0 {
		t.Errorf("an agent is shown %v", pointers(b))
	}
	if b := built(t, e, build.Request{Preset: "openboa", Scopes: []string{"user:ines"}, Input: "where is winch?"}); strings.Join(pointers(b), "; ") != "session apart#1 3" {
		t.Errorf("of one scope %v", pointers(b))
	}
}

// TestOpenboaO14Snippet: 180 characters from 40 before the first match; a shorter text whole.
func TestOpenboaO14Snippet(t *testing.T) {
	t.Parallel()
	e := emptyTalk(t, open(t))
	long := strings.Repeat("ä", 100) + "  \n winch <b>" + strings.Repeat("z", 300)
	m := enginetest.Remember(t, e, memory.RememberRequest{Text: long})
	short := enginetest.Remember(t, e, memory.RememberRequest{Text: strings.Repeat("q", 60) + " winch at its end"})
	b := built(t, e, build.Request{Preset: "openboa", Input: "winch lifts"})
	if got, want := item(t, b, "memory", m.ID).Text, ">..."+strings.Repeat("ä", 39)+" winch &lt;b&gt;"+strings.Repeat("z", 180-40-9)+"...<"; !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := item(t, b, "memory", short.ID).Text; !strings.Contains(got, ">"+strings.Repeat("q", 60)+" winch at its end<") {
		t.Errorf("%s", got)
	}
}

// TestOpenboaO14Query: six parts of 240 characters at most, in openboa's order; or what the request asks for, alone.
func TestOpenboaO14Query(t *testing.T) {
	t.Parallel()
	e := open(t)
	say(t, e, conversation.Message{Text: "alphaville"}, conversation.Message{Role: "assistant", Text: "bravotown"})
	say(t, e, conversation.Message{Role: "assistant", Blocks: []conversation.Block{{Type: conversation.ToolCallBlock, CallID: "x", Tool: "charlie", Input: "{}"}}},
		conversation.Message{Role: "tool", Blocks: []conversation.Block{{Type: conversation.ToolResultBlock, CallID: "x", Tool: "charlie", Output: "deltaport", IsError: true}}})
	_, err := enginetest.AddSummaries(t.Context(), e, "c", func([]string) enginetest.Made {
		return enginetest.Made{Text: "echoville", Tokens: 5, Sources: idsOf(t, e, 1, 1)}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"alphaville", "bravotown", "charlie", "deltaport", "echoville", "foxtrot", "golfcourse", "hotelroom", "indiaman"} {
		enginetest.Remember(t, e, memory.RememberRequest{Text: "It was " + word + " then."})
	}
	words := func(r build.Request, change func(*build.Hints)) string {
		r.Custom = hinted(t, func(h *build.Hints) {
			h.Memories = 20
			change(h)
		})
		var all []string
		for _, it := range built(t, e, r).Items {
			if it.Evidence != nil && strings.HasPrefix(it.Evidence.Why[0], "whole") || it.Evidence != nil && strings.HasPrefix(it.Evidence.Why[0], "word") {
				all = append(all, strings.Split(it.Evidence.Why[0], `"`)[1])
			}
		}
		return strings.Join(all, " ")
	}
	as := func(*build.Hints) {}
	full := build.Request{Input: "hotelroom", State: "golfcourse", Outcome: build.Outcome{Title: "foxtrot"}}
	for _, test := range []struct {
		r      build.Request
		change func(*build.Hints)
		want   []string
	}{
		{build.Request{}, as, []string{"alphaville", "charlie", "deltaport", "echoville", "bravotown"}},
		{full, as, []string{"hotelroom", "foxtrot", "charlie", "deltaport", "echoville", "bravotown", "golfcourse"}},
		{full, func(h *build.Hints) { h.Parts = 2 }, []string{"hotelroom", "foxtrot"}},
		{full, func(h *build.Hints) { h.Ask = []string{build.AskState, build.AskAnswer} }, []string{"golfcourse", "bravotown"}},
		{build.Request{Input: "hotelroom", Query: "indiaman"}, as, []string{"indiaman"}},
		{build.Request{Input: strings.Repeat("x ", 119) + "in indiaman"}, func(h *build.Hints) { h.Parts = 1 }, nil},
		{build.Request{Input: strings.Repeat("x ", 115) + "indiaman"}, func(h *build.Hints) { h.Parts = 1 }, []string{"indiaman"}},
	} {
		got := words(test.r, test.change)
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%+v: %s, without %s", test.r, got, want)
			}
		}
		if n := len(strings.Fields(got)); n != len(test.want) {
			t.Errorf("%+v: %s, want %v", test.r, got, test.want)
		}
	}
	if b := built(t, e, build.Request{Custom: hinted(t, func(h *build.Hints) { h.Ask = []string{build.AskQuestions} })}); b.Recall.Status != build.RecallEmpty {
		t.Errorf("nothing is asked: %+v", b.Recall)
	}
}

// TestOpenboaO14Meaning: what a model finds alike is a hit as well, and what is found by both is surer; where the model fails, words are enough.
func TestOpenboaO14Meaning(t *testing.T) {
	t.Parallel()
	const both, alike, asked = "The winch is blue.", "A hoist was coloured.", "winch or paint"
	model := enginetest.Plotted{N: 3, Vectors: map[string][]float32{both: {0.8, 0.6, 0}, alike: {0.6, 0.8, 0}, asked: {1, 0, 0}, "winch unknown": {1}}}
	e := emptyTalk(t, open(t, engine.Options{Embedder: model}))
	one, two := enginetest.Remember(t, e, memory.RememberRequest{Text: both}), enginetest.Remember(t, e, memory.RememberRequest{Text: alike})
	b := built(t, e, build.Request{Preset: "openboa", Input: asked})
	want := build.Evidence{Score: 12, Pieces: 2, Confidence: "high", Why: []string{`word "winch" +1`, "meaning 0.80 +8", "memory +3"}}
	if diff := cmp.Diff(&want, item(t, b, "memory", one.ID).Evidence); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = build.Evidence{Score: 9, Pieces: 1, Confidence: "medium", Why: []string{"meaning 0.60 +6", "memory +3"}}
	if diff := cmp.Diff(&want, item(t, b, "memory", two.ID).Evidence); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if b := built(t, e, build.Request{Custom: hinted(t, func(h *build.Hints) { h.Meaning = 0 }), Input: asked}); strings.Join(pointers(b), "") != "memory "+one.ID+" 4" {
		t.Errorf("by words alone %v", pointers(b))
	}
	if b := built(t, e, build.Request{Custom: hinted(t, func(h *build.Hints) { h.LeastCosine = 0.7 }), Input: asked}); len(pointers(b)) != 1 {
		t.Errorf("from 0.7 on %v", pointers(b))
	}
	if b := built(t, e, build.Request{Preset: "openboa", Input: "winch unknown"}); b.Recall.Status != build.RecallError || b.Recall.Error == "" || strings.Join(pointers(b), "") != "memory "+one.ID+" 4" {
		t.Errorf("without its model: %+v, %v", b.Recall, pointers(b))
	}
}

// TestHintsReplay: what was pointed at is taken from the record, by name and as it says now; a build is the same at any time, and what is gone or another text is named.
func TestHintsReplay(t *testing.T) {
	t.Parallel()
	clock := &enginetest.Clock{At: enginetest.Noon.Add(time.Hour)}
	e, folder := harbourHints(t, engine.Options{Now: clock.Now})
	long := enginetest.Remember(t, e, memory.RememberRequest{Text: strings.Repeat("rope ", 60) + "and a winch " + strings.Repeat("knot ", 60)})
	custom := hinted(t, func(h *build.Hints) { h.Memories, h.Skills, h.Sessions = 20, 20, 20 })
	r := build.Request{Custom: custom, Input: "which winch lifts?", State: "idle", Snapshot: true}
	b := built(t, e, r)
	if said := item(t, b, "memory", long.ID).Text; !strings.Contains(said, ">...") || !strings.Contains(said, "winch") {
		t.Errorf("%s", said)
	}
	clock.Advance(48 * time.Hour)
	if again := built(t, e, r); again.Hash != b.Hash {
		t.Errorf("%s, then %s", b.Hash, again.Hash)
	}
	elsewhere(t, e, conversation.AppendRequest{Conversation: "later", Messages: []conversation.Message{{Text: "winch lifts, later"}}})
	v, err := e.VerifyContext(t.Context(), b.SnapshotID, "")
	if err != nil || !v.Same {
		t.Fatalf("%+v, %v", v, err)
	}
	if again := built(t, e, r); again.Hash == b.Hash {
		t.Error("something new is found, and the hash is the same")
	}
	if err := os.WriteFile(filepath.Join(folder, "MEMORY.md"), []byte("Gone.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := e.SyncNotes(t.Context(), note.SyncRequest{Folder: folder, Files: []string{"."}}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.PurgeConversation(t.Context(), "stranger", ""); err != nil {
		t.Fatal(err)
	}
	v, err = e.VerifyContext(t.Context(), b.SnapshotID, "")
	if err != nil || v.Same || len(v.Changes) != 2 || !strings.Contains(fmt.Sprint(v.Changes), "removed memory MEMORY.md:1-1 note") || !strings.Contains(fmt.Sprint(v.Changes), "removed memory stranger#1 session") || len(v.Notices) != 2 {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestHintsOfOwnPresets: any preset may have them, by a file; a number of 0 is none of it; what is off changes no hash; what is wrong is named.
func TestHintsOfOwnPresets(t *testing.T) {
	t.Parallel()
	e, _ := harbourHints(t)
	own, err := build.ReadPresets("[presets.a]\nsections = [\"history\", \"hints\", \"input\"]\n[presets.a.hints]\non = true\nsection = \"hints\"\nskills = 0\nmemories = 1\nword = 7\n[presets.a.hints.sources]\nnote = 0\nmessage = 40\n")
	if err != nil {
		t.Fatal(err)
	}
	b := built(t, e, build.Request{Preset: "a", Own: own, Input: "which winch?"})
	if got := strings.Join(pointers(b), "; "); !strings.HasPrefix(got, "memory ") || !strings.Contains(got, " 12; session ") || !strings.HasSuffix(got, " 51") || strings.Contains(got, "skill") {
		t.Errorf("%s", got)
	}
	if h := preset(t, "openboa", func(*build.Preset) {}).Hints; h.Sources["message"] != 2 || h.Word != 1 {
		t.Errorf("openboa is changed: %+v", h)
	}
	plain := built(t, e, build.Request{Preset: "takobot", Input: "x"})
	if off := built(t, e, build.Request{Custom: preset(t, "takobot", func(p *build.Preset) { p.Hints = build.Hints{Word: 9} }), Input: "x"}); off.Hash != plain.Hash || off.ConfigHash != plain.ConfigHash {
		t.Error("hints that are off have another hash")
	}
	for want, change := range map[string]func(*build.Hints){
		"hints.word is -1": func(h *build.Hints) { h.Word = -1 }, "hints.sources.note is -2": func(h *build.Hints) { h.Sources["note"] = -2 }, `hints.ask is "luck"; allowed: input`: func(h *build.Hints) { h.Ask = []string{"luck"} },
		"hints.ask is \"\"": func(h *build.Hints) { h.Ask = nil }, "hints.least_cosine is 2": func(h *build.Hints) { h.LeastCosine = 2 }, "hints.before is 180; allowed: less than": func(h *build.Hints) { h.Before = 180 },
		"hints.on is true; allowed: false, where": func(h *build.Hints) { h.Memories, h.Skills, h.Sessions = 0, 0, 0 }, "hints.parts is 0": func(h *build.Hints) { h.Parts = 0 },
		`hints.sources is "A b"`: func(h *build.Hints) { h.Sources["A b"] = 1 }, "hints.looked is 1001": func(h *build.Hints) { h.Looked = 1001 }, "hints.high_pieces is 0": func(h *build.Hints) { h.HighPieces = 0 },
	} {
		if _, err := hinted(t, change).Effective(setup.Options{}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	both := preset(t, "openboa", func(p *build.Preset) { p.Recall.On = true })
	if _, err := both.Effective(setup.Options{}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "hints.on is true; allowed: false, beside recall.on") {
		t.Errorf("%v", err)
	}
}
