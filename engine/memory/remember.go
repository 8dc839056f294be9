package memory

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
)

// rememberBatch is how many memories go into one transaction.
const rememberBatch = 4000

// RememberRequest is a memory to be. Only Text is required.
type RememberRequest struct {
	Text       string
	L0, L1, L2 string // see Memory
	Scope      string // default: the agent's own, else Scopes.Default
	Agent      string // on whose behalf; empty: an internal caller, who may use every scope
	Category   Category
	Importance *float64 // default 0.7
	Confidence *float64 // default 0.7
	Tier       Tier
	State      State
	Layer      Layer
	// TemporalType is static or dynamic; dynamic memories fade three times as fast.
	TemporalType string
	CreatedAt    time.Time
	ValidFrom    time.Time
	ValidUntil   time.Time
	// FactKey names the slot that the memory fills, such as preferences:editor. It replaces what has that key in its scope and is true, as
	// Supersede does, unless that began later. Default for a preference or an entity: made of the category and what stands before the colon; that replaces nothing.
	FactKey       string
	Relations     []Relation
	Contexts      []string
	Source        string
	SourceSession string
	Trust         Trust // default by the source
	// Sources are whole ids of messages, summaries, memories or imports that it came from, at most 1,000. It stands on all of them together: where one is
	// retracted, it is as well (Engine.Retract). ErrNotFound for one that is not there, ErrInvalid for one that can't be recalled.
	Sources []string
	Extra   map[string]any

	// ID is the caller's choice; default a new one. ErrExists when it is taken.
	ID string
	// Key makes the write idempotent: a second one with the same key and scope changes nothing and gives the first's id.
	Key string
	// Unique does the same for the same text and scope.
	Unique bool
}

// Remembered says what became of a RememberRequest.
type Remembered struct {
	ID      string // of the new memory, or of the one that was there already
	Created bool
	// Superseded is the id of the memory that it replaced, if any; the newest, if several.
	Superseded string
	// Err: the request was not usable. The others of a batch are not affected.
	Err error
	// VectorErr: the memory is stored, but the model failed or took too long, so it has no vector until RebuildIndex.
	VectorErr error
}

// Remember stores one memory: row, words and vector in one transaction, on disk when it returns. Errors: ErrInvalid,
// ErrBadScope, ErrScopeDenied, ErrExists, ErrBadVector.
func (ms *Store) Remember(ctx context.Context, r RememberRequest) (Remembered, error) {
	all, err := ms.RememberMany(ctx, []RememberRequest{r})
	if err != nil {
		return Remembered{}, err
	}
	if all[0].Err != nil {
		return Remembered{}, fmt.Errorf("remember: %w", all[0].Err)
	}
	return all[0], nil
}

// RememberMany stores many memories, four thousand to a transaction; the result has one entry per request, in order. Requests
// that are not usable are reported there and the rest goes in. An error means that the file or the model failed; batches
// before it are stored.
func (ms *Store) RememberMany(ctx context.Context, requests []RememberRequest) ([]Remembered, error) {
	results := make([]Remembered, len(requests))
	for start := 0; start < len(requests); start += rememberBatch {
		end := min(start+rememberBatch, len(requests))
		var batch []*draft
		for i := start; i < end; i++ {
			d := requests[i].draft()
			d.result = &results[i]
			if d.result.Err = ms.admit(d); d.result.Err == nil {
				batch = append(batch, d)
			}
		}
		if err := ms.store(ctx, batch); err != nil {
			return nil, fmt.Errorf("remember: %w", err)
		}
		if len(requests) > rememberBatch {
			ms.opts.Progress("memories", end, len(requests))
		}
	}
	return results, nil
}

// draft is a memory on its way into the file.
type draft struct {
	memory   *Memory
	agent    string
	unique   bool
	chosen   bool     // its id is not ours
	restated bool     // one that says the same is this one already; an import has no other name for it
	dated    bool     // and only one of that time
	imported bool     // an unusable vector keeps it from having one, and not from being stored
	ends     []string // memories in the file that it replaces
	fills    bool     // its caller named a fact key
	part     string   // where in an import it stands
	named    []string // ids of sources, as its caller gave them
	sources  []Source // what it was made from
	ended    []ended  // what it replaced, as that was
	result   *Remembered
	document *index.Document
}

func (r RememberRequest) draft() *draft {
	number := func(p *float64, otherwise float64) float64 {
		if p == nil {
			return otherwise
		}
		return *p
	}
	return &draft{agent: r.Agent, unique: r.Unique, fills: r.FactKey != "", named: r.Sources, memory: &Memory{
		ID: r.ID, Key: r.Key, Text: r.Text, L0: r.L0, L1: r.L1, L2: r.L2, Category: r.Category, Scope: r.Scope, Tier: r.Tier,
		State: r.State, Layer: r.Layer, TemporalType: r.TemporalType, Importance: number(r.Importance, defaultImportance),
		Confidence: number(r.Confidence, defaultConfidence), CreatedAt: r.CreatedAt, ValidFrom: r.ValidFrom, ValidUntil: r.ValidUntil,
		FactKey: r.FactKey, Relations: r.Relations, Contexts: r.Contexts, Source: r.Source, SourceSession: r.SourceSession, Trust: r.Trust, Extra: r.Extra,
	}}
}

// admit makes a draft ready to be stored, or says why it can't be.
func (ms *Store) admit(d *draft) (err error) {
	if d.memory.Scope, err = ms.scopes.Now().ForWriting(d.agent, d.memory.Scope); err != nil {
		return err
	}
	if err := d.memory.normalise(ms.file.Now()); err != nil {
		return err
	}
	if err := d.memory.fits(ms.opts.MaxText); err != nil {
		return err
	}
	if err := fault.CheckTexts("sources", d.named); err != nil {
		return err
	}
	if len(d.named) > mostSources {
		return fault.Invalid("sources", fmt.Sprint(len(d.named), " of them"), fmt.Sprint("at most ", mostSources))
	}
	_, err = d.memory.row(0)
	return err
}

// store makes drafts ready without any lock, then writes them in one transaction.
func (ms *Store) store(ctx context.Context, drafts []*draft) error {
	return ms.storeFrom(ctx, drafts, func(*duck.Write, []*draft) error { return nil })
}

// storeFrom is store; from says of those that are new, in the transaction, where they come from.
func (ms *Store) storeFrom(ctx context.Context, drafts []*draft, from func(tx *duck.Write, fresh []*draft) error) error {
	if len(drafts) == 0 {
		return nil
	}
	if err := ms.prepare(ctx, drafts); err != nil {
		return err
	}
	return ms.file.Write(ctx, "write", func(tx *duck.Write) error {
		usable, err := ms.resolve(ctx, tx.Conn, drafts)
		if err != nil {
			return err
		}
		fresh, err := ms.unknown(ctx, tx.Conn, usable)
		if err != nil || len(fresh) == 0 {
			return err
		}
		if err := from(tx, fresh); err != nil {
			return err
		}
		if err := ms.fillSlots(ctx, tx.Conn, fresh); err != nil {
			return err
		}
		return ms.insertMemories(ctx, tx, fresh)
	})
}

// prepare embeds and analyses drafts.
func (ms *Store) prepare(ctx context.Context, drafts []*draft) error {
	if len(drafts) == 0 {
		return nil
	}
	texts := make([]string, len(drafts))
	documents := make([]*index.Document, len(drafts))
	for i, d := range drafts {
		texts[i], documents[i] = d.memory.embedded(), &index.Document{Kind: kinds.Memory}
		d.document = documents[i]
	}
	analysed := make(chan struct{})
	go func() {
		defer close(analysed)
		for _, d := range drafts {
			d.document.Words = ms.index.Analyse(d.memory.fields())
		}
	}()
	err := ms.index.EmbedDocuments(ctx, documents, texts)
	<-analysed
	var bad *index.Unusable
	if errors.As(err, &bad) && drafts[0].imported {
		err = nil
	}
	if err != nil && !index.EmbeddingFailed(ctx, err) {
		return err
	}
	for i, d := range drafts {
		d.result.VectorErr = err
		if bad != nil {
			d.result.VectorErr = bad.Of[i]
		}
	}
	return nil
}

// unknown leaves out drafts that the file has already, by id, key or text, and says so in their results.
func (ms *Store) unknown(ctx context.Context, c *duck.Conn, drafts []*draft) ([]*draft, error) {
	known, err := ms.known(ctx, c, drafts)
	if err != nil {
		return nil, err
	}
	unique := slices.ContainsFunc(drafts, func(d *draft) bool { return d.unique })
	restated := slices.ContainsFunc(drafts, func(d *draft) bool { return d.restated })
	var fresh []*draft
	for _, d := range drafts {
		m := d.memory
		forgotten := !m.RetiredAt.IsZero() // an imported one: it neither takes a key or text, nor minds that another has
		if id, ok := d.knownAs(known, forgotten); ok {
			d.result.ID = id
			continue
		}
		if _, ok := known[idSlot(m.ID)]; ok && m.ID != "" {
			d.result.Err = fmt.Errorf("%w: memory %s", fault.ErrExists, m.ID)
			continue
		}
		if d.chosen = m.ID != ""; !d.chosen {
			if m.ID, err = ms.file.NewID(ids.Memory, ms.file.Now()); err != nil {
				return nil, err
			}
		}
		known[idSlot(m.ID)] = m.ID
		if restated {
			known[saidSlot(m, false)], known[saidSlot(m, true)] = m.ID, m.ID
		}
		if m.Key != "" && !forgotten {
			known[keySlot(m.Key, m.Scope)] = m.ID
		}
		if unique && !forgotten {
			known[textSlot(m.Text, m.Scope)] = m.ID
		}
		d.result.ID, d.result.Created = m.ID, true
		fresh = append(fresh, d)
	}
	return fresh, nil
}

// knownAs is the memory that has the draft's key, or its text where that makes it known.
func (d *draft) knownAs(known map[slot]string, forgotten bool) (id string, ok bool) {
	m := d.memory
	if m.Key != "" && !forgotten {
		id, ok = known[keySlot(m.Key, m.Scope)]
	}
	if d.unique && !ok {
		id, ok = known[textSlot(m.Text, m.Scope)]
	}
	if d.restated && !ok {
		id, ok = known[saidSlot(m, d.dated)]
	}
	return id, ok
}

// slot is something that may be taken: an id, or a key, text or fact key within a scope, or a text with its category there, at a time or at any.
type slot struct {
	what, value, scope string
	category           Category
	at                 int64 // Unix microseconds
}

func idSlot(id string) slot { return slot{what: "id", value: id} }

func keySlot(key, scope string) slot { return slot{what: "key", value: key, scope: scope} }

func textSlot(text, scope string) slot { return slot{what: "text", value: text, scope: scope} }

func factSlot(key, scope string) slot { return slot{what: "fact", value: key, scope: scope} }

func saidSlot(m *Memory, dated bool) slot {
	if !dated {
		return slot{what: "said", value: m.Text, scope: m.Scope, category: m.Category}
	}
	return slot{"said then", m.Text, m.Scope, m.Category, m.CreatedAt.UnixMicro()}
}

// known asks the file which slots of the drafts are taken, and by which memory.
func (ms *Store) known(ctx context.Context, c *duck.Conn, drafts []*draft) (map[slot]string, error) {
	known := map[slot]string{}
	var ids, keys, texts, restated []string
	for _, d := range drafts {
		if d.memory.ID != "" {
			ids = append(ids, d.memory.ID)
		}
		if d.memory.Key != "" {
			keys = append(keys, d.memory.Key)
		}
		if d.unique {
			texts = append(texts, d.memory.Text)
		}
		if d.restated {
			restated = append(restated, d.memory.Text)
		}
	}
	if len(ids) > 0 {
		err := c.Each(ctx, "memory_taken", func(rows *sql.Rows) error {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			known[idSlot(id)] = id
			return nil
		}, sql.Named("ids", ids))
		if err != nil {
			return nil, err
		}
	}
	look := func(query string, of func(value, scope string) slot, args ...any) error {
		return c.Each(ctx, query, func(rows *sql.Rows) error {
			var id, value, scope string
			if err := rows.Scan(&id, &value, &scope); err != nil {
				return err
			}
			known[of(value, scope)] = id
			return nil
		}, args...)
	}
	if len(keys) > 0 {
		if err := look("memory_by_key", keySlot, sql.Named("keys", keys)); err != nil {
			return nil, err
		}
	}
	if len(texts) > 0 {
		if err := look("memory_by_text", textSlot, sql.Named("texts", texts), sql.Named("at", ms.file.Now())); err != nil {
			return nil, err
		}
	}
	if len(restated) > 0 {
		err := c.Each(ctx, "memory_said", func(rows *sql.Rows) error {
			var m Memory
			if err := rows.Scan(&m.ID, &m.Text, &m.Scope, duck.TextOf(&m.Category), &m.CreatedAt); err != nil {
				return err
			}
			known[saidSlot(&m, false)], known[saidSlot(&m, true)] = m.ID, m.ID
			return nil
		}, sql.Named("texts", restated))
		if err != nil {
			return nil, err
		}
	}
	return known, nil
}

// insertMemories writes drafts that have their ids.
func (ms *Store) insertMemories(ctx context.Context, tx *duck.Write, drafts []*draft) error {
	numbers, err := ms.index.NextDocNos(ctx, tx.Conn, len(drafts))
	if err != nil {
		return err
	}
	if err := ms.settle(ctx, tx, drafts); err != nil {
		return err
	}
	memories := make([]*Memory, len(drafts))
	for i, d := range drafts {
		memories[i] = d.memory
	}
	seats, err := ms.seatsOf(ctx, tx.Conn, memories)
	if err != nil {
		return err
	}
	var rows, relations [][]driver.Value
	documents := make([]*index.Document, len(drafts))
	for i, d := range drafts {
		row, err := d.memory.row(numbers[i])
		if err != nil {
			return err
		}
		rows = append(rows, row)
		relations = append(relations, d.memory.relationRows()...)
		ms.describe(d.document, d.memory, numbers[i])
		d.document.Stand = seats.seat(d.memory, numbers[i])
		documents[i] = d.document
		if err := ms.end(ctx, tx, d); err != nil {
			return err
		}
	}
	if err := tx.AppendRows("memories", rows); err != nil {
		return err
	}
	if err := tx.AppendRows("memory_relations", relations); err != nil {
		return err
	}
	if err := ms.insertSources(ctx, tx, drafts); err != nil {
		return err
	}
	if err := ms.index.InsertDocuments(ctx, tx, documents); err != nil {
		return err
	}
	var former []*index.Document // of those that were forgotten in another file
	var until []time.Time
	for _, d := range drafts {
		if d.document.Retired {
			former, until = append(former, d.document), append(until, d.memory.RetiredAt)
		}
	}
	return ms.index.InsertPast(ctx, tx, former, until)
}

// describe fills in what recall filters by.
func (ms *Store) describe(d *index.Document, m *Memory, docNo int32) {
	d.No, d.OwnerID, d.Scope, d.Category, d.Tier = docNo, m.ID, m.Scope, string(m.Category), string(m.Tier)
	d.CreatedAt, d.ValidFrom, d.InvalidatedAt = m.CreatedAt, m.ValidFrom, m.InvalidatedAt
	d.Use = index.Use{Trust: string(m.Trust), ValidUntil: m.ValidUntil, LastAccessedAt: m.LastAccessedAt, Importance: m.Importance, Confidence: m.Confidence,
		AccessCount: int32(m.AccessCount), TemporalType: m.TemporalType}
	d.Retired, d.Hidden = !m.RetiredAt.IsZero(), m.State != Confirmed || m.Layer == ArchiveLayer
	d.Read(m.Text, ms.index.Analyzer)
}

func (m *Memory) relationRows() (rows [][]driver.Value) {
	for i, r := range m.Relations {
		var weight driver.Value // NULL where it is 1
		if r.Weight > 0 {
			weight = r.Weight
		}
		rows = append(rows, []driver.Value{m.ID, int32(i), r.Type, r.TargetID, weight})
	}
	return rows
}
