package setup

import (
	"errors"
	"time"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Extraction says how memories are drawn from talk. Zero values are the defaults. The names in the tags are those of the
// table [extraction] in a configuration file; Admission has one of its own.
type Extraction struct {
	// MaxChars is how many characters of talk a model is shown at once. Default 8,000.
	MaxChars int `toml:"max_chars"`
	// Timeout is how long one call of the model may take. Default 30 s.
	Timeout Duration `toml:"timeout"`
	// MaxCalls within CallWindow is what all extractions together may ask the model; beyond, rules take its place. Default 120 in an hour.
	MaxCalls   int      `toml:"max_calls"`
	CallWindow Duration `toml:"call_window"`
	// PromptPrice and AnswerPrice are what a million tokens cost, in US dollars. Default 0: nobody knows.
	PromptPrice float64 `toml:"prompt_price"`
	AnswerPrice float64 `toml:"answer_price"`
	// Compress shows a model those of up to 500 messages that tell most, within MaxChars, rather than all of them in several calls. Default false.
	Compress bool `toml:"compress"`
	// KeepNoise shows a model also what is like a greeting or a question about memory, by its vector. Default false.
	KeepNoise bool `toml:"keep_noise"`
	// Expires are the categories whose memories get an end where they speak of today, tomorrow or next week. An event that is over stays true, so events
	// and profiles are refused. Default none.
	Expires []string `toml:"expires"`
	// Admission rejects drafts that are not worth a verdict. Default off.
	Admission Admission `toml:"-"`
}

func (o Extraction) withDefaults() Extraction {
	Preset(&o.MaxChars, 8000)
	Preset(&o.Timeout, Duration(30*time.Second))
	Preset(&o.MaxCalls, 120)
	Preset(&o.CallWindow, Duration(time.Hour))
	return o
}

// validate names every field that is wrong; o has its defaults.
func (o Extraction) validate() error {
	var errs []error
	if o.MaxChars < 200 || o.MaxChars > 1<<20 {
		errs = append(errs, fault.Invalid("MaxChars", o.MaxChars, "200 to 1048576"))
	}
	if o.Timeout <= 0 || o.CallWindow <= 0 {
		errs = append(errs, fault.Invalid("Timeout and CallWindow", time.Duration(min(o.Timeout, o.CallWindow)), "a time such as 30s"))
	}
	if o.MaxCalls < 1 {
		errs = append(errs, fault.Invalid("MaxCalls", o.MaxCalls, "1 or more"))
	}
	if !(o.PromptPrice >= 0 && o.AnswerPrice >= 0) {
		errs = append(errs, fault.Invalid("PromptPrice and AnswerPrice", min(o.PromptPrice, o.AnswerPrice), "0 or more"))
	}
	return errors.Join(append(errs, o.Admission.validate(), fault.Members("Expires", o.Expires, []string{"preference", "entity", "case", "pattern"}))...)
}

// Resolved is o with its defaults, and what is wrong with it.
func (o Extraction) Resolved() (Extraction, error) {
	o = o.withDefaults()
	return o, o.validate()
}
