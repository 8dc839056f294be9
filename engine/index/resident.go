package index

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/resident"
)

// residence is where the resident index is, and what keeps it that of the file.
type residence struct {
	// Held for writing from just before a COMMIT until what it brought is in the index, for reading by who wants the file and the index in one state.
	commits sync.RWMutex
	now     *resident.Index // nil: there is none; commits protects it
	worn    bool            // it should be made anew, and answers until it is; likewise
	of      Model           // whose vectors it has; zero: none; likewise

	// The writer's lock owns these.
	changes    []resident.Change // of the write under way
	all        bool              // that write changes more than can be told
	committing bool              // commits is held
	making     *making           // nil: none is being made

	off atomic.Bool // nobody is given it

	mu     sync.Mutex
	begun  bool      // somebody has asked for it, or it will never be
	retry  time.Time // not before
	closed bool
	stop   context.CancelFunc
	done   chan struct{} // closed when the one that is being made is there, or given up
}

// making is a resident index on its way, and what was committed since it was begun.
type making struct{ changes []resident.Change }

// keeps reports whether somebody wants to know what is written. The caller has the writer's lock.
func (r *residence) keeps() bool { return r.now != nil || r.making != nil }

// KeepsResident reports whether what is noted of documents is wanted. The caller has the writer's lock.
func (ix *Index) KeepsResident() bool { return ix.residence.keeps() }

// noteWords notes documents that get words; moved: they stand where they stood.
func (ix *Index) noteWords(docs []*Document, moved bool) {
	if !ix.residence.keeps() {
		return
	}
	for _, d := range docs {
		if d.Retired {
			continue
		}
		words := &resident.Words{Hashes: make([]uint64, 0, len(d.Words.Frequency)), TFs: make([]float32, 0, len(d.Words.Frequency))}
		for term, tf := range d.Words.Frequency {
			words.Hashes, words.TFs = append(words.Hashes, uint64(ix.Words.hash(term))), append(words.TFs, tf)
		}
		change := resident.Change{Document: d.resident(), Words: words, Moved: moved}
		if d.of == ix.Chosen {
			change.Vector, change.Passages = d.Vector, d.embeddedPassages()
		}
		ix.residence.changes = append(ix.residence.changes, change)
	}
}

// noteColumns notes a document whose row changes.
func (ix *Index) noteColumns(d *Document) {
	if ix.residence.keeps() {
		ix.residence.changes = append(ix.residence.changes, resident.Change{Document: d.resident(), Gone: d.Retired})
	}
}

// NoteUse notes a document of whose owner only what ranking wants to know of its use changes.
func (ix *Index) NoteUse(d *Document) { ix.noteColumns(d) }

// noteGone notes documents that leave.
func (ix *Index) noteGone(numbers ...int32) {
	if !ix.residence.keeps() {
		return
	}
	for _, no := range numbers {
		ix.residence.changes = append(ix.residence.changes, resident.Change{Document: resident.Document{No: no}, Gone: true})
	}
}

// noteVector notes a document that gets a vector, or whose passage gets one.
func (ix *Index) noteVector(u unembedded, vector []float32) {
	if !ix.residence.keeps() {
		return
	}
	change := resident.Change{Document: resident.Document{No: u.docNo}, Vector: vector, Embedded: true}
	if u.length >= 0 {
		change.Vector, change.Passages = nil, []resident.Passage{{Start: u.start, Length: u.length, Vector: vector}}
	}
	ix.residence.changes = append(ix.residence.changes, change)
}

// embeddedPassages are those that have a vector, as the resident index has them.
func (d *Document) embeddedPassages() (all []resident.Passage) {
	for _, p := range d.Passages {
		if p.Vector != nil {
			all = append(all, resident.Passage(p))
		}
	}
	return all
}

// NoteAll notes that a write changes what can't be told: the resident index is made anew after it.
func (ix *Index) NoteAll() { ix.residence.all = true }

func (d *Document) resident() resident.Document {
	return resident.Document{No: d.No, Kind: d.Kind, Scope: d.Scope, Conversation: d.ConversationID, Category: d.Category, Tier: d.Tier, Speaker: d.Speaker, Role: d.Role, SourceKind: d.SourceKind,
		SessionNo: d.Stand.SessionNo, Place: d.Stand.Place, CreatedAt: micros(d.CreatedAt), ValidFrom: micros(d.ValidFrom), InvalidatedAt: micros(d.InvalidatedAt),
		Length: d.Words.length, Tells: d.tells, Wishes: d.states(), Asks: d.asks, EndsAsking: d.endsAsking, Hidden: d.Hidden,
		Characters: d.characters, Noise: d.noise, Use: resident.Use{ValidUntil: micros(d.Use.ValidUntil), LastAccessedAt: micros(d.Use.LastAccessedAt),
			Importance: d.Use.Importance, Confidence: d.Use.Confidence, AccessCount: d.Use.AccessCount, TemporalType: d.Use.TemporalType, Trust: d.Use.Trust}}
}

// micros is a time as the resident index has it; the zero time is none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return resident.Never
	}
	return t.UnixMicro()
}

// aboutToCommit keeps questions that want the file and the index in one state out until both have what is written.
func (ix *Index) aboutToCommit() {
	r := &ix.residence
	if r.all || len(r.changes) > 0 {
		r.commits.Lock()
		r.committing = true
	}
}

// committed puts what was written into the index.
func (ix *Index) committed() {
	r := &ix.residence
	if !r.committing {
		return
	}
	switch {
	case r.all:
		r.now, r.making = nil, nil
	default:
		if r.now != nil {
			r.now.Apply(r.changes)
			if r.worn = r.now.Worn(); r.now.Size().Bytes > int64(ix.opts.ResidentMB)<<20 {
				r.now = nil
			}
		}
		if r.making != nil {
			r.making.changes = append(r.making.changes, r.changes...)
		}
	}
	r.settle()
}

// rolledBack forgets what was not written. Of a COMMIT that failed nothing is left in the file either.
func (ix *Index) rolledBack() { ix.residence.settle() }

func (r *residence) settle() {
	r.changes, r.all = nil, false
	if r.committing {
		r.committing = false
		r.commits.Unlock()
	}
}

// Resident calls do with the resident index, while nothing is committed: what the transaction sees from then on is what the index has. Read makes the
// transaction see its state; it is called before do. Where there is none, ok is false; the first who asks has it made.
func (ix *Index) Resident(read func() error, do func(*resident.Index) error) (ok bool, err error) {
	r := &ix.residence
	if r.off.Load() {
		return false, nil
	}
	r.commits.RLock()
	defer r.commits.RUnlock()
	if r.now == nil || r.worn {
		ix.wantResident()
	}
	if r.now == nil {
		return false, nil
	}
	if err := read(); err != nil {
		return true, err
	}
	return true, do(r.now)
}

// ResidentModel is whose vectors the resident index has. It is for what Resident calls.
func (ix *Index) ResidentModel() Model { return ix.residence.of }

// wantResident has the resident index made, unless somebody has already.
func (ix *Index) wantResident() {
	r := &ix.residence
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun || r.closed || ix.opts.ResidentMB < 0 || time.Now().Before(r.retry) {
		return
	}
	r.begun = true
	ctx, stop := context.WithCancel(context.Background())
	r.stop, r.done = stop, make(chan struct{})
	go func() {
		defer close(r.done)
		fits, err := ix.makeResident(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.begun = !fits; err != nil {
			r.begun, r.retry = false, time.Now().Add(pauseAfterFailure)
		}
	}()
}

// ResidentState says whether recall has a resident index, and what that holds.
type ResidentState struct {
	Ready     bool  `json:"ready"`
	Documents int   `json:"documents,omitempty"`
	Vectors   int   `json:"vectors,omitempty"`
	Bytes     int64 `json:"bytes,omitempty"` // about
}

// ResidentState says how far the resident index is.
func (ix *Index) ResidentState() ResidentState {
	r := &ix.residence
	r.commits.RLock()
	defer r.commits.RUnlock()
	if r.now == nil {
		return ResidentState{}
	}
	size := r.now.Size()
	return ResidentState{true, size.Documents, size.Vectors, size.Bytes}
}

// pauseAfterFailure is how long after a failure it is not tried again to make the resident index.
const pauseAfterFailure = time.Minute

// AskFile has recalls ask the file, as if there were no resident index: for comparisons.
func (ix *Index) AskFile(alone bool) { ix.residence.off.Store(alone) }

// AwaitResident has the resident index made and waits for it. It is false where there will be none.
func (ix *Index) AwaitResident(ctx context.Context) (ready bool, err error) {
	r := &ix.residence
	for {
		ready, err = ix.Resident(func() error { return nil }, func(*resident.Index) error { return nil })
		if ready || err != nil {
			return ready, err
		}
		r.mu.Lock()
		done := r.done
		r.mu.Unlock()
		if done == nil {
			return false, nil
		}
		select {
		case <-done:
			r.mu.Lock()
			over := r.begun || time.Now().Before(r.retry)
			r.mu.Unlock()
			if over {
				return false, nil
			}
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// Close gives the making of the resident index up.
func (ix *Index) Close() {
	r := &ix.residence
	r.mu.Lock()
	r.closed = true
	stop, done := r.stop, r.done
	r.mu.Unlock()
	if stop != nil {
		stop()
		<-done
	}
}

// makeResident reads the index from the file as it is now, and brings what is committed meanwhile after it; fits is false where it would take too much
// memory. Where another write made useless what was read, there is none yet.
func (ix *Index) makeResident(ctx context.Context) (fits bool, err error) {
	r, m := &ix.residence, &making{}
	x, of, err := ix.readResident(ctx, m)
	ix.file.Lock(context.WithoutCancel(ctx)) // with the file closed as well: nobody has it then
	defer ix.file.Unlock()
	wanted := r.making == m
	if wanted {
		r.making = nil
	}
	if err != nil || x == nil || !wanted {
		return x != nil, err
	}
	x.Apply(m.changes)
	r.commits.Lock()
	r.now, r.worn, r.of = x, false, of
	r.commits.Unlock()
	return true, nil
}

// readResident reads a resident index, and says whose vectors it has; nil: it would not fit.
func (ix *Index) readResident(ctx context.Context, m *making) (x *resident.Index, of Model, err error) {
	if err := ix.file.Lock(ctx); err != nil {
		return nil, of, err
	}
	unlock := sync.OnceFunc(ix.file.Unlock)
	defer unlock()
	leave, err := ix.file.Enter(ctx)
	if err != nil {
		return nil, of, err
	}
	defer leave()
	err = ix.reading(ctx, func(c, second *duck.Conn) error {
		var documents, postings, passages int64
		if _, err := c.One(ctx, "resident_size", []any{&documents, &postings, &passages}); err != nil {
			return err
		}
		ix.residence.making = m
		of = ix.Chosen
		unlock()
		limit := int64(ix.opts.ResidentMB) << 20
		if resident.Bytes(documents, postings, 0, 0) > limit {
			return nil
		}
		if resident.Bytes(documents, postings, passages, of.Dims) > limit {
			of = Model{}
		}
		made := resident.New(of.Dims)
		if err := loadResident(ctx, c, second, made, limit); err != nil {
			return err
		}
		x = made
		return nil
	})
	if errors.Is(err, errTooLarge) {
		return nil, of, nil
	}
	return x, of, err
}

// reading runs do with two connections that see the same state of the file. Nobody writes until do is called.
func (ix *Index) reading(ctx context.Context, do func(c, second *duck.Conn) error) error {
	c, err := ix.file.NewConnection(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	second, err := ix.file.NewConnection(ctx)
	if err != nil {
		return err
	}
	defer second.Close()
	return c.Reading(ctx, func() error {
		return second.Reading(ctx, func() error {
			for _, c := range []*duck.Conn{c, second} {
				if err := c.See(ctx); err != nil {
					return err
				}
			}
			return do(c, second)
		})
	})
}

// errTooLarge is that an index would take more than its limit.
var errTooLarge = errors.New("too large")
