package resident

import (
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/kelindar/bitmap"

	"github.com/mallardmem/mallard/engine/kinds"
)

// Never is the time of what has none.
const Never = math.MinInt64

// Document is what is known of a document beside its words and its vector. Times are microseconds since 1970, or Never.
type Document struct {
	No                                           int32
	Kind                                         kinds.Kind
	Scope, Conversation, Category, Tier, Speaker string // empty: none
	Role, SourceKind                             string // of a message
	SessionNo, Place                             int32
	CreatedAt, ValidFrom, InvalidatedAt          int64
	Length, Tells                                float32
	Wishes, Asks, EndsAsking                     bool
	Hidden                                       bool // its owner is there, and not to be recalled
	Characters                                   int32
	Noise                                        bool
	Use                                          Use
}

// Use is what ranking wants to know of a memory; of what is none, it is Unused.
type Use struct {
	ValidUntil, LastAccessedAt int64
	Importance, Confidence     float64
	AccessCount                int32
	TemporalType               string
	Trust                      string
}

// Unused is the use of what is no memory.
var Unused = Use{ValidUntil: Never, LastAccessedAt: Never}

// Words are the terms of a document by their hashes, and how often each stands in it, weighted.
type Words struct {
	Hashes []uint64
	TFs    []float32
}

// Index is what is known of all documents.
type Index struct {
	mu sync.RWMutex

	slots   []int32 // by number of the document, its slot and 1; 0: none
	columns []column
	live    bitmap.Bitmap // slots that are somebody's
	plain   bitmap.Bitmap // of those, what takes part in every question that restricts nothing, whenever that is asked
	wishes  bitmap.Bitmap // slots of what states a wish, some of them dead
	dead    int

	names         names              // of scopes, conversations, categories, tiers, speakers and source kinds
	speakers      map[uint32]string  // in lower case, by number
	conversations map[uint32][]int32 // slots in their order, by the name of the conversation
	sessions      map[int32][]int32  // slots of sessions with more than one document, by the session's number
	kinds         [kinds.Number]total
	uses          []Use // of memories

	terms    map[uint64]int32 // by hash, the place in postings
	postings [][]posting
	posted   int

	vectors  vectors
	passages passages
}

// column is a row of the columns, in the order that keeps it small.
type column struct {
	created, validFrom, invalidated int64
	no, session, place              int32
	length, tells                   float32
	scope, conversation             uint32
	category, tier, speaker         uint32
	sourceKind                      uint32
	kind, role                      uint8
	asks, endsAsking, hidden, noise bool
	wishes                          bool
	characters                      int32
	use                             uint32 // in uses; 0: Unused
}

// total counts the live documents of a kind.
type total struct {
	documents int64
	length    float64
}

// posting is a term in the document of a slot.
type posting struct {
	slot int32
	tf   float32
}

// New gives an empty index for vectors of so many dimensions; 0: for none.
func New(dims int) *Index {
	return &Index{names: names{numbers: map[string]uint32{"": 0}, texts: []string{""}}, speakers: map[uint32]string{}, conversations: map[uint32][]int32{},
		sessions: map[int32][]int32{}, uses: []Use{Unused}, terms: map[uint64]int32{}, vectors: newVectors(dims),
		passages: passages{vectors: newVectors(dims), rows: map[int32][]int32{}}}
}

// Dims is of how many dimensions its vectors are.
func (x *Index) Dims() int { return x.vectors.dims }

// names are texts by number.
type names struct {
	numbers map[string]uint32
	texts   []string
}

func (n *names) number(text string) uint32 {
	no, ok := n.numbers[text]
	if !ok {
		no = uint32(len(n.texts))
		text = string([]byte(text)) // it may be a piece of something long
		n.numbers[text] = no
		n.texts = append(n.texts, text)
	}
	return no
}

// Change is one of what a write does. Where Words is set the document gets a new slot with them and with Vector; else only its columns change. Of one
// that is Moved, only the words and what can change are told: it stays where it stood in the talk.
type Change struct {
	Document Document
	Words    *Words
	Vector   []float32 // nil: none
	Passages []Passage // those that have a vector
	Moved    bool
	Gone     bool // it has left
	Embedded bool // only the vector is new, or those of passages are
}

// Apply puts what was committed in place, all at once.
func (x *Index) Apply(changes []Change) {
	if len(changes) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range changes {
		x.apply(&changes[i])
	}
}

func (x *Index) apply(c *Change) {
	slot, known := x.slotOf(c.Document.No)
	switch {
	case c.Gone:
		if known {
			x.kill(slot)
		}
	case c.Embedded:
		if known && x.live.Contains(uint32(slot)) {
			if c.Vector != nil {
				x.vectors.set(slot, c.Vector)
			}
			x.passages.add(slot, c.Passages...)
		}
	case c.Words == nil:
		if known && x.live.Contains(uint32(slot)) {
			x.change(slot, &c.Document)
		}
	default:
		d := c.Document
		if known {
			if c.Moved {
				was := &x.columns[slot]
				d.Conversation, d.Speaker, d.Role, d.SourceKind = x.names.texts[was.conversation], x.names.texts[was.speaker], roles[was.role], x.names.texts[was.sourceKind]
				d.SessionNo, d.Place = was.session, was.place
			}
			x.kill(slot)
		}
		x.passages.add(x.put(&d, c.Words, c.Vector), c.Passages...)
	}
}

func (x *Index) slotOf(no int32) (slot int32, known bool) {
	if no < 0 || int(no) >= len(x.slots) || x.slots[no] == 0 {
		return 0, false
	}
	return x.slots[no] - 1, true
}

// put gives a document a slot.
func (x *Index) put(d *Document, words *Words, vector []float32) (slot int32) {
	slot = int32(len(x.columns))
	for int(d.No) >= len(x.slots) {
		x.slots = append(x.slots, 0)
	}
	x.slots[d.No] = slot + 1
	x.columns = append(x.columns, column{kind: kindNo(d.Kind), no: d.No, session: d.SessionNo, place: d.Place,
		conversation: x.names.number(d.Conversation), speaker: x.names.number(d.Speaker), role: roleNo(d.Role), sourceKind: x.names.number(d.SourceKind)})
	if speaker := x.columns[slot].speaker; speaker != 0 && x.speakers[speaker] == "" {
		x.speakers[speaker] = strings.ToLower(x.names.texts[speaker])
	}
	x.live.Set(uint32(slot))
	x.fill(slot, d)
	if c := x.columns[slot].conversation; c != 0 {
		x.conversations[c] = append(x.conversations[c], slot)
	}
	x.sit(slot)
	for i, hash := range words.Hashes {
		term := x.LoadTerm(hash)
		x.postings[term] = append(x.postings[term], posting{slot, words.TFs[i]})
	}
	x.posted += len(words.Hashes)
	x.vectors.add(vector)
	return slot
}

// sit puts a slot beside the others of its session. The first of a session is not there before the second comes.
func (x *Index) sit(slot int32) {
	c := &x.columns[slot]
	all, ok := x.sessions[c.session]
	if !ok {
		if c.no == c.session {
			return
		}
		if first, known := x.slotOf(c.session); known && x.columns[first].session == c.session {
			all = append(all, first)
		}
	}
	x.sessions[c.session] = append(all, slot)
}

// fill writes the columns that can change, and counts the slot in.
func (x *Index) fill(slot int32, d *Document) {
	c := &x.columns[slot]
	c.created, c.validFrom, c.invalidated = d.CreatedAt, d.ValidFrom, d.InvalidatedAt
	c.length, c.tells, c.wishes, c.asks, c.endsAsking, c.hidden = d.Length, d.Tells, d.Wishes, d.Asks, d.EndsAsking, d.Hidden
	c.scope, c.category, c.tier = x.names.number(d.Scope), x.names.number(d.Category), x.names.number(d.Tier)
	c.characters, c.noise = d.Characters, d.Noise
	if d.Kind == kinds.Memory {
		if c.use == 0 {
			c.use = uint32(len(x.uses))
			x.uses = append(x.uses, Use{})
		}
		x.uses[c.use] = d.Use
		x.uses[c.use].TemporalType = x.names.texts[x.names.number(d.Use.TemporalType)]
		x.uses[c.use].Trust = x.names.texts[x.names.number(d.Use.Trust)]
	}
	if c.wishes {
		x.wishes.Set(uint32(slot))
	} else {
		x.wishes.Remove(uint32(slot))
	}
	x.kinds[c.kind].documents++
	x.kinds[c.kind].length += float64(c.length)
	if c.plain() {
		x.plain.Set(uint32(slot))
	} else {
		x.plain.Remove(uint32(slot))
	}
}

// plain reports whether a document takes part whenever a question is asked.
func (c *column) plain() bool {
	return !c.hidden && (c.kind != memoryNo || c.validFrom != Never && c.validFrom <= c.created && c.invalidated == Never)
}

// change writes the columns of a live slot anew.
func (x *Index) change(slot int32, d *Document) {
	x.uncount(slot)
	x.fill(slot, d)
}

func (x *Index) uncount(slot int32) {
	c := &x.columns[slot]
	x.kinds[c.kind].documents--
	x.kinds[c.kind].length -= float64(c.length)
}

// kill takes a slot out.
func (x *Index) kill(slot int32) {
	if !x.live.Contains(uint32(slot)) {
		return
	}
	x.uncount(slot)
	x.live.Remove(uint32(slot))
	x.plain.Remove(uint32(slot))
	x.vectors.set(slot, nil)
	x.passages.kill(slot)
	x.dead++
}

// Worn reports whether so many slots are dead that the index should be made anew.
func (x *Index) Worn() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.dead > 1000 && x.dead > len(x.columns)/4
}

// Size is what an index holds.
type Size struct {
	Documents int
	Vectors   int
	Passages  int   // that have one
	Bytes     int64 // about
}

// Size tells how large the index is.
func (x *Index) Size() Size {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return Size{len(x.columns) - x.dead, x.vectors.count, x.passages.count, x.bytes()}
}

// What parts of the index take beside what they hold, in bytes.
const (
	SlotBytes    = 4   // a number, also one that is no document's
	columnBytes  = 100 // with the slot, and the places in sets
	termBytes    = 56  // with the place in the map
	passageBytes = 20  // with the place among those of its document
)

func (x *Index) bytes() int64 {
	return Bytes(int64(len(x.columns)), int64(x.posted), int64(len(x.passages.of)), x.vectors.dims) + int64(len(x.terms))*termBytes
}

// Bytes is about how much an index of so many documents, postings and passages takes, with vectors of so many dimensions.
func Bytes(documents, postings, passages int64, dims int) int64 {
	v := newVectors(dims)
	return documents*(columnBytes+int64(v.bytes())) + postings*8 + passages*(passageBytes+int64(v.bytes()))
}

// What kindNo gives.
const (
	memoryNo  = 0
	messageNo = 1
)

// kindNo numbers the kinds as kinds.All does.
func kindNo(k kinds.Kind) uint8 {
	for i, kind := range allKinds {
		if kind == k {
			return uint8(i)
		}
	}
	return memoryNo
}

var allKinds = kinds.All()

// roles are who may say a message; the first is of what is none.
var roles = append([]string{""}, kinds.Roles()...)

func roleNo(role string) uint8 { return uint8(max(slices.Index(roles, role), 0)) }
