package memory

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Category says what a memory is about, and so how extraction treats it.
type Category string

// The six categories.
const (
	Profile    Category = "profile"
	Preference Category = "preference"
	Entity     Category = "entity"
	Event      Category = "event"
	Case       Category = "case"
	Pattern    Category = "pattern"
)

// Categories lists them all.
func Categories() []Category {
	return []Category{Profile, Preference, Entity, Event, Case, Pattern}
}

// plurals are the words that interchange files and fact keys use.
var plurals = map[Category]string{Profile: "profile", Preference: "preferences", Entity: "entities", Event: "events", Case: "cases", Pattern: "patterns"}

// ParseCategory accepts singular and plural in any case, and reports whether the word is a category.
func ParseCategory(word string) (Category, bool) {
	word = strings.ToLower(strings.TrimSpace(word))
	for category, plural := range plurals {
		if word == string(category) || word == plural {
			return category, true
		}
	}
	return "", false
}

// storageWords are the words of other stores and what they become; a fact is a case unless it speaks of the user.
var storageWords = map[string]Category{"preference": Preference, "entity": Entity, "decision": Event, "reflection": Pattern, "other": Pattern, "fact": Case}

var firstPerson = regexp.MustCompile(`my |i am |i'm |name is |叫我|我的|我是`)

// storageWord is a word as storageWords has it.
func storageWord(word string) string { return strings.ToLower(strings.TrimSpace(word)) }

// categoryOf maps another store's word for a memory of that text.
func categoryOf(word, text string) Category {
	if word == "fact" && utf8.RuneCountInString(text) < 200 && firstPerson.MatchString(strings.ToLower(text)) {
		return Profile
	}
	return storageWords[word]
}

// categoryFault says what is wrong with a word for a category, ours or another store's.
func categoryFault(field, word string) error {
	if _, ours := ParseCategory(word); ours || storageWords[storageWord(word)] != "" {
		return nil
	}
	return fault.Invalid(field, word, fault.OneOf(Categories())+" (also fact, decision, reflection, other)")
}

// Tier says how fast a memory fades.
type Tier string

// The three tiers, slowest first.
const (
	Core       Tier = "core"
	Working    Tier = "working"
	Peripheral Tier = "peripheral"
)

// Tiers lists them all.
func Tiers() []Tier { return []Tier{Core, Working, Peripheral} }

// State says whether a memory counts.
type State string

// The three states.
const (
	Pending   State = "pending"
	Confirmed State = "confirmed"
	Archived  State = "archived"
)

// States lists them all.
func States() []State { return []State{Pending, Confirmed, Archived} }

// Layer says which part of memory a row belongs to.
type Layer string

// The four layers.
const (
	DurableLayer    Layer = "durable"
	WorkingLayer    Layer = "working"
	ReflectionLayer Layer = "reflection"
	ArchiveLayer    Layer = "archive"
)

// Layers lists them all.
func Layers() []Layer { return []Layer{DurableLayer, WorkingLayer, ReflectionLayer, ArchiveLayer} }

// legacySource is where a memory of another store comes from that does not say.
const legacySource = "legacy"

// Sources lists where a memory may come from.
func Sources() []string {
	return []string{"manual", "auto-capture", "reflection", "dreaming-engine", "session-summary", legacySource}
}

// layerOf derives the layer of a memory that names none.
func layerOf(source string, state State, category Category) Layer {
	switch {
	case source == "reflection" || source == "dreaming-engine" || source == "session-summary":
		return ReflectionLayer
	case state == Archived:
		return ArchiveLayer
	case category == Profile || category == Preference || category == Event:
		return DurableLayer
	}
	return WorkingLayer
}

var spaces = regexp.MustCompile(`\s+`)

// FactKey is the fact key that a memory of this category and text has when nobody names one; empty: none.
func FactKey(category Category, text string) string { return factKey(category, text) }

// factKey names the slot that a preference or entity fills, so that a newer one can replace it: the category and what stands
// before the first colon, else before the first arrow, else the whole text.
func factKey(category Category, text string) string {
	if category != Preference && category != Entity {
		return ""
	}
	topic := text
	if i := strings.IndexAny(text, ":："); i > 0 && utf8.RuneCountInString(text[:i]) <= 120 {
		topic = text[:i]
	} else if before, _, ok := cutFirst(text, "->", "=>"); ok {
		topic = before
	}
	topic = strings.TrimSpace(spaces.ReplaceAllString(strings.ToLower(topic), " "))
	topic = strings.TrimSpace(strings.TrimRight(topic, "。.!?"))
	if topic == "" {
		return ""
	}
	return plurals[category] + ":" + topic
}

func cutFirst(s string, seps ...string) (before, after string, found bool) {
	at, width := len(s), 0
	for _, sep := range seps {
		if i := strings.Index(s, sep); i >= 0 && i < at {
			at, width = i, len(sep)
		}
	}
	if width == 0 {
		return s, "", false
	}
	return s[:at], s[at+width:], true
}
