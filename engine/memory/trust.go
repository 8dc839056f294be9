package memory

// Trust says how far a memory is to be trusted. Recall filters by it, and the weight trust lets the less trusted score less.
type Trust string

// The levels, most trusted first.
const (
	Stated    Trust = "stated"    // by a user, or by whoever remembered it by hand
	Extracted Trust = "extracted" // drawn from talk, by rules or a model
	Imported  Trust = "imported"  // from another store
	Untrusted Trust = "untrusted" // from somebody who may mean harm
)

// Trusts lists them all.
func Trusts() []Trust { return []Trust{Stated, Extracted, Imported, Untrusted} }

// TrustOf is the trust of a memory of which only the source is known. The migration 0009 has it too.
func TrustOf(source string) Trust {
	switch source {
	case "manual":
		return Stated
	case legacySource:
		return Imported
	}
	return Extracted
}
