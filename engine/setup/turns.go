package setup

import (
	"errors"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Turns says what is recalled before a turn of talk, and drawn from it after it. Zero values are the defaults. The names in the tags are those of the table [turns]
// in a configuration file.
type Turns struct {
	// Recall is how much is shown: of each memory all (full), its abstract (summary), or as much as the question calls for (adaptive); off: nothing is
	// recalled. Default adaptive.
	Recall string `toml:"recall"`
	// MaxItems is how many memories are shown, 1 to 10, MaxChars how many characters of text they have together, ItemChars how many one has: half as many, up to 80, with
	// summary, three times as many, up to 1,000, where the question calls for all. Default 3, 600 and 180.
	MaxItems  int `toml:"max_items"`
	MaxChars  int `toml:"max_chars"`
	ItemChars int `toml:"item_chars"`
	// MinLength is how many characters a prompt without a question mark has that is worth a recall. Default 15, or 6 where it has a CJK letter (text.SkipRecall).
	MinLength int `toml:"min_length"`
	// MaxQuery is how many characters of a prompt are asked, from its end. Default 2,000.
	MaxQuery int `toml:"max_query_chars"`
	// MinConfidence is the least confidence of what is shown, where one is known. Default 0.02; -1: none.
	MinConfidence float64 `toml:"min_confidence"`
	// Repeat is for how many turns of a session a memory that was shown is not shown again. Default 8; -1: it may be at once.
	Repeat int `toml:"repeat_turns"`
	// Timeout is how long a recall may take; beyond, nothing is shown. Default 5 s.
	Timeout Duration `toml:"timeout"`
	// BadRecallDecay is after how long bad recalls are forgotten; -1ns: never. Suppress is for how long the third in a row holds a memory back, unless Repeat is -1.
	// Default 24 h and 30 min.
	BadRecallDecay Duration `toml:"bad_recall_decay"`
	Suppress       Duration `toml:"suppress"`

	// ExtractMessages is how many messages of the user that were not read yet have AfterTurn draw memories from them, ExtractChars how many characters
	// of them do. Default 4, and 8,000; -1: their number has no say.
	ExtractMessages int `toml:"extract_messages"`
	ExtractChars    int `toml:"extract_chars"`
	// MinValue is what the talk must be worth for that, 0 to 1 (capture.Value). Default 0.2; -1: anything.
	MinValue float64 `toml:"min_value"`
	// MaxExtractions within ExtractionWindow is what all AfterTurns of the file may do; beyond, the messages wait. Default 30 in an hour.
	MaxExtractions   int      `toml:"max_extractions"`
	ExtractionWindow Duration `toml:"extraction_window"`
}

// Recall modes of Turns.
const (
	RecallFull     = "full"
	RecallSummary  = "summary"
	RecallAdaptive = "adaptive"
	RecallOff      = "off"
)

// RecallModes lists them all.
func RecallModes() []string { return []string{RecallFull, RecallSummary, RecallAdaptive, RecallOff} }

func (o Turns) withDefaults() Turns {
	Preset(&o.Recall, RecallAdaptive)
	Preset(&o.MaxItems, 3)
	Preset(&o.MaxChars, 600)
	Preset(&o.ItemChars, 180)
	Preset(&o.MaxQuery, 2000)
	Preset(&o.MinConfidence, 0.02)
	Preset(&o.Repeat, 8)
	Preset(&o.Timeout, Duration(5*time.Second))
	Preset(&o.BadRecallDecay, Duration(24*time.Hour))
	Preset(&o.Suppress, Duration(30*time.Minute))
	Preset(&o.ExtractMessages, 4)
	Preset(&o.ExtractChars, 8000)
	Preset(&o.MinValue, 0.2)
	Preset(&o.MaxExtractions, 30)
	Preset(&o.ExtractionWindow, Duration(time.Hour))
	return o
}

// validate names every field that is wrong; o has its defaults.
func (o Turns) validate() error {
	errs := []error{fault.Member("Turns.Recall", o.Recall, RecallModes())}
	for _, f := range []struct {
		name              string
		value, least, max int
	}{
		{"MaxItems", o.MaxItems, 1, 10}, {"MaxChars", o.MaxChars, 20, 1 << 20}, {"ItemChars", o.ItemChars, 20, 1 << 20}, {"MinLength", o.MinLength, 0, 1 << 20},
		{"MaxQuery", o.MaxQuery, 20, 100_000}, {"Repeat", o.Repeat, -1, 1000}, {"ExtractMessages", o.ExtractMessages, -1, 1 << 20},
		{"ExtractChars", o.ExtractChars, -1, 1 << 30}, {"MaxExtractions", o.MaxExtractions, 1, 10_000},
	} {
		if f.value < f.least || f.value > f.max {
			errs = append(errs, fault.Invalid("Turns."+f.name, f.value, fmt.Sprintf("%d to %d", f.least, f.max)))
		}
	}
	for i, value := range []float64{o.MinConfidence, o.MinValue} {
		if value != -1 && !(value >= 0 && value <= 1) {
			errs = append(errs, fault.Invalid([]string{"Turns.MinConfidence", "Turns.MinValue"}[i], value, "0 to 1, or -1"))
		}
	}
	if o.Timeout <= 0 || o.Suppress <= 0 || o.ExtractionWindow <= 0 {
		errs = append(errs, fault.Invalid("Turns.Timeout, Suppress and ExtractionWindow", time.Duration(min(o.Timeout, o.Suppress, o.ExtractionWindow)), "a time such as 30s"))
	}
	return errors.Join(errs...)
}

// Resolved is o with its defaults, and what is wrong with it.
func (o Turns) Resolved() (Turns, error) {
	o = o.withDefaults()
	return o, o.validate()
}
