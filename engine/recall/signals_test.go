package recall_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/text"
)

// spoken is a turn of a hand-made talk: who said it, in which session of the host, and when; no date is the day before noon.
type spoken struct {
	session, speaker, text string
	at                     time.Time
	role                   string // empty: user
}

// on is noon of a day.
func on(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 12, 0, 0, 0, time.UTC)
}

// signalCases are talks in which one signal decides: with it the first hit is with, without it without.
var signalCases = []struct {
	name          string
	signal        string // of zeroes
	question      string
	asOf          time.Time
	language      string
	vectors       map[string][]float32 // nil: no model
	model         setup.Embedder
	mode          recall.Mode
	related       setup.Related
	talk          []spoken
	with, without string
}{
	{
		name: "direct neighbours", signal: "near", question: "lantern shed",
		talk: []spoken{
			{session: "a", text: "Rain again."}, {session: "a", text: "So much rain."}, {session: "a", text: "The lantern works."}, {session: "a", text: "The shed, then."},
			{session: "a", text: "A lantern is handy."}, {session: "a", text: "Rain again."}, {session: "a", text: "So much rain."},
			{session: "b", text: "Nothing new."}, {session: "b", text: "A walk."}, {session: "b", text: "Shed after shed."}, {session: "b", text: "A long walk."}, {session: "b", text: "Nothing new."},
		},
		with: "The shed, then.", without: "Shed after shed.",
	},
	{
		name: "neighbours two places away", signal: "far", question: "lantern shed of Ines",
		talk: []spoken{ // what stands between is said by another
			{session: "a", speaker: "Teo", text: "Lantern by lantern."}, {session: "a", speaker: "Teo", text: "Rain again."},
			{session: "a", speaker: "Ines", text: "The shed, then."}, {session: "a", speaker: "Teo", text: "So much rain."}, {session: "a", speaker: "Teo", text: "Lantern by lantern."},
			{session: "b", speaker: "Ines", text: "Shed after shed."}, {session: "b", speaker: "Teo", text: "A walk."}, {session: "b", speaker: "Teo", text: "A long walk."},
			{session: "b", speaker: "Teo", text: "A walk."}, {session: "b", speaker: "Teo", text: "Lantern by lantern."},
		},
		with: "The shed, then.", without: "Shed after shed.",
	},
	{
		name: "a day", signal: "date", question: "What ship came on 2025-05-07?",
		talk: []spoken{
			{session: "a", text: "The ship came in.", at: on(2025, 5, 7)}, {session: "b", text: "Ship after ship came.", at: on(2025, 9, 1)},
		},
		with: "The ship came in.", without: "Ship after ship came.",
	},
	{
		name: "a date from today", signal: "date", question: "What ship came three weeks ago?", asOf: on(2026, 6, 1),
		talk: []spoken{
			{session: "a", text: "The ship came in.", at: on(2026, 5, 11)}, {session: "b", text: "Ship after ship came.", at: on(2026, 1, 11)},
		},
		with: "The ship came in.", without: "Ship after ship came.",
	},
	{
		name: "a month without a year", signal: "date", question: "What ship came in October?",
		talk: []spoken{ // five years ago, and the word stands in both
			{session: "a", text: "The ship came in.", at: on(2021, 10, 11)}, {session: "b", text: "Ship after ship came, as in October.", at: on(2025, 7, 1)},
		},
		with: "The ship came in.", without: "Ship after ship came, as in October.",
	},
	{
		name: "a German date", signal: "date", question: "Welches Schiff kam letzte Woche?", asOf: on(2026, 6, 10), language: "german",
		talk: []spoken{
			{session: "a", text: "Das Schiff kam an.", at: on(2026, 6, 3)}, {session: "b", text: "Schiff um Schiff kam.", at: on(2026, 1, 11)},
		},
		with: "Das Schiff kam an.", without: "Schiff um Schiff kam.",
	},
	{
		name: "who speaks", signal: "speaker", question: "What soup did Ines cook?",
		talk: []spoken{
			{session: "a", speaker: "Ines", text: "Cooking the fish soup took the whole day."}, {session: "b", speaker: "Teo", text: "Ines cooks soup, a soup."},
		},
		with: "Cooking the fish soup took the whole day.", without: "Ines cooks soup, a soup.",
	},
	{
		name: "a reply", signal: "reply", question: "blue ferry boat",
		talk: []spoken{
			{session: "a", text: "Was it this ferry?"}, {session: "a", text: "The blue boat over there."},
			{session: "b", text: "It was this ferry."}, {session: "b", text: "The blue boat."},
		},
		with: "The blue boat over there.", without: "The blue boat.",
	},
	{
		name: "what gets a long answer", signal: "answered", question: "a small boat", mode: recall.VectorMode,
		vectors: map[string][]float32{"a small boat": {1, 0, 0}, "The dinghy.": {0.6, 0.8, 0}, "The dinghy." + weather: {0.7, 0.71, 0}, "The ship.": {0.8, 0.6, 0}},
		talk: []spoken{
			{session: "a", text: "The dinghy."}, {session: "a", role: "assistant", text: "The dinghy." + weather}, {session: "b", text: "The ship."},
		},
		with: "The dinghy.", without: "The ship.",
	},
	{
		name: "a long document stands more for itself", signal: "long_turn", question: "a small boat", mode: recall.VectorMode,
		vectors: map[string][]float32{"a small boat": {1, 0, 0}, "The dinghy." + weather: {0.8, 0.6, 0}, "Rain.": {0, 1, 0}, "The ship.": {0.6, 0.8, 0}, "A ferry.": {0.28, 0.96, 0}},
		talk: []spoken{
			{session: "a", text: "Rain."}, {session: "a", text: "The dinghy." + weather}, {session: "a", text: "Rain."},
			{session: "b", text: "A ferry."}, {session: "b", text: "The ship."}, {session: "b", text: "A ferry."},
		},
		with: "The dinghy." + weather, without: "The ship.",
	},
	{
		name: "a passage of a long document", signal: "passage", question: "a small boat", mode: recall.VectorMode,
		vectors: map[string][]float32{"a small boat": {1, 0, 0}, partOf("The dinghy." + weather): {0.9, 0.43, 0}, "The ship.": {0.3, 0.95, 0}},
		talk: []spoken{
			{session: "a", text: "The dinghy." + weather}, {session: "b", text: "The ship."},
		},
		with: "The dinghy." + weather, without: "The ship.",
	},
	{
		name: "what tells something", signal: "tells", question: "the market",
		talk: []spoken{
			{session: "a", text: "Yesterday I went with Anna all over that big market."}, {session: "b", text: "The market."},
		},
		with: "Yesterday I went with Anna all over that big market.", without: "The market.",
	},
	{
		name: "a wish", signal: "wish", question: "Can you plan the market?",
		talk: []spoken{
			{session: "a", text: "Keep in mind the market."}, {session: "b", text: "The market goes on."},
			{session: "c", role: "assistant", text: "Always avoid rain."}, {session: "d", text: "Should I always avoid rain?"},
		},
		with: "Keep in mind the market.", without: "The market goes on.",
	},
	{
		name: "a question", signal: "question", question: "the market",
		talk: []spoken{
			{session: "a", text: "There goes the market."}, {session: "b", text: "The market?"},
		},
		with: "There goes the market.", without: "The market?",
	},
	{
		name: "related words", signal: "related", question: "trip by boat",
		related: func(word string) ([]string, []float32) {
			if word == "boat" {
				return []string{"ferry"}, []float32{0.9}
			}
			return nil, nil
		},
		talk: []spoken{
			{session: "a", text: "A trip on the ferry."}, {session: "b", text: "Trip after trip."}, {session: "c", text: "Nothing new."}, {session: "d", text: "Rain again."},
		},
		with: "A trip on the ferry.", without: "Trip after trip.",
	},
	{
		name: "rare words in the vector", signal: "rarity", question: "Ines Maria lantern", model: enginetest.Words{}, mode: recall.VectorMode,
		talk: []spoken{
			{session: "a", speaker: "Ines Maria", text: "lantern light"}, {session: "b", speaker: "Ines Maria", text: "Ines Maria, then"},
			{session: "c", speaker: "Ines Maria", text: "rain"}, {session: "d", speaker: "Ines Maria", text: "snow"},
		},
		with: "lantern light", without: "Ines Maria, then",
	},
	{
		name: "vector", signal: "vector", question: "a small boat",
		vectors: map[string][]float32{"a small boat": {1, 0, 0}, "The dinghy is leaking, small as it is.": {1, 0, 0}, "Boat.": {0, 1, 0}},
		talk: []spoken{
			{session: "a", text: "The dinghy is leaking, small as it is."}, {session: "b", text: "Boat."},
		},
		with: "The dinghy is leaking, small as it is.", without: "Boat.",
	},
	{
		name: "lexical", signal: "lexical", question: "a small boat",
		vectors: map[string][]float32{"a small boat": {1, 0, 0}, "Small, that boat.": {0.6, 0.8, 0}, "The dinghy is leaking.": {1, 0, 0}},
		talk: []spoken{
			{session: "a", text: "Small, that boat."}, {session: "b", text: "The dinghy is leaking."},
		},
		with: "Small, that boat.", without: "The dinghy is leaking.",
	},
}

// partOf is the second passage of a text, as it is embedded.
func partOf(s string) string {
	p := text.Passages(s)[1]
	return s[p.Start:p.End]
}

// weather makes a text long.
var weather = strings.Repeat(" There is more to say of the weather and the sea.", 60)

// talkOf puts a hand-made talk into a new file.
func talkOf(t *testing.T, talk []spoken, o engine.Options) *engine.Engine {
	t.Helper()
	e := enginetest.Open(t, o)
	messages := make([]conversation.Message, len(talk))
	for i, turn := range talk {
		if messages[i] = (conversation.Message{Session: turn.session, Speaker: turn.speaker, Role: turn.role, Text: turn.text, SaidAt: turn.at}); turn.at.IsZero() {
			messages[i].SaidAt = enginetest.Noon.AddDate(0, 0, -1)
		}
	}
	enginetest.Append(t, e, conversation.AppendRequest{Conversation: "talk", Messages: messages})
	return e
}

// TestEachSignalDecides: with the built-in weights one document is first, and another one when a single signal is taken away.
func TestEachSignalDecides(t *testing.T) {
	enginetest.Alone(t)
	proved := map[string]bool{}
	for _, test := range signalCases {
		t.Run(test.name, func(t *testing.T) {
			o := engine.Options{Language: test.language, Related: test.related, Embedder: test.model}
			if test.vectors != nil {
				o.Embedder = enginetest.Plotted{N: 3, Vectors: test.vectors}
			}
			e := talkOf(t, test.talk, o)
			first := func(w recall.Weights) (string, string) {
				result, err := e.Recall(t.Context(), recall.Query{Text: test.question, AsOf: test.asOf, Mode: test.mode, Kinds: []kinds.Kind{kinds.Message}, Weights: &w})
				if err != nil || len(result.Hits) < 2 {
					t.Fatalf("%v, %v", enginetest.HitIDs(result), err)
				}
				all := ""
				for _, h := range result.Hits {
					all += fmt.Sprintf("\n%.4f %s %v", h.Score, h.Text, signalsOf(h.Signals))
				}
				return result.Hits[0].Text, all
			}
			w := recall.TranscriptWeights()
			if got, all := first(w); got != test.with {
				t.Errorf("with it %q is first, want %q:%s", got, test.with, all)
			}
			zeroes[test.signal](&w)
			if got, all := first(w); got != test.without {
				t.Errorf("without it %q is first, want %q:%s", got, test.without, all)
			}
		})
		proved[test.signal] = true
	}
	for signal := range zeroes {
		if !proved[signal] {
			t.Errorf("no talk proves that %s decides", signal)
		}
	}
}

// TestWhoIsNamed: only where the question names one speaker of a conversation is speaking a signal.
func TestWhoIsNamed(t *testing.T) {
	enginetest.Alone(t)
	for _, test := range []struct {
		what, question string
		speakers       [2]string
		want           [2]float64 // -1: no signal
	}{
		{"the first", "Did Ines like the soup?", [2]string{"Ines", "Teo"}, [2]float64{1, 0}},
		{"the second, in lower case", "did teo like the soup?", [2]string{"Ines", "Teo"}, [2]float64{0, 1}},
		{"with an accent", "Did Ines like the soup?", [2]string{"Inés", "Teo"}, [2]float64{1, 0}},
		{"one of two names", "Did Costa like the soup?", [2]string{"Ines Costa", "Teo Lima"}, [2]float64{1, 0}},
		{"both", "Did Ines and Teo like the soup?", [2]string{"Ines", "Teo"}, [2]float64{-1, -1}},
		{"a name that both have", "Did Costa like the soup?", [2]string{"Ines Costa", "Teo Costa"}, [2]float64{-1, -1}},
		{"another", "Did Bruno like the soup?", [2]string{"Ines", "Teo"}, [2]float64{-1, -1}},
		{"part of a word", "Did someone like the soup in Inesville?", [2]string{"Ines", "Teo"}, [2]float64{-1, -1}},
		{"beside one without a name", "Did Ines like the soup?", [2]string{"Ines", ""}, [2]float64{1, 0}},
		{"nobody has a name", "Did the user like the soup?", [2]string{"", ""}, [2]float64{-1, -1}},
	} {
		e := talkOf(t, []spoken{{speaker: test.speakers[0], text: "The soup is good."}, {speaker: test.speakers[1], text: "That soup is too hot."}}, engine.Options{})
		got := map[string]float64{}
		for _, v := range candidatesOf(t, e, recall.Query{Text: test.question, Kinds: []kinds.Kind{kinds.Message}, Explain: true}) {
			got[v.ID] = signalsOf(v)["speaker"]
		}
		for i, m := range enginetest.Messages(t, e, "talk") {
			if score, known := got[m.ID]; !known || score != test.want[i] {
				t.Errorf("%s: %q: speaker %v, want %v", test.what, m.Speaker, score, test.want[i])
			}
		}
	}
}
