package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/kinds"
)

// Standing is what a retraction may change of a memory: whether it is in recall, until when it is true, and who replaced whom. What it says is none of that.
type Standing struct {
	RetiredAt     time.Time  `json:"retired_at,omitzero"`
	RetiredReason string     `json:"retired_reason,omitempty"`
	RetractedBy   string     `json:"retracted_by,omitempty"`
	InvalidatedAt time.Time  `json:"invalidated_at,omitzero"`
	FactKey       string     `json:"fact_key,omitempty"`
	Supersedes    string     `json:"supersedes,omitempty"`
	SupersededBy  string     `json:"superseded_by,omitempty"`
	Relations     []Relation `json:"relations,omitempty"`
	SupportInfo   any        `json:"support_info,omitempty"`
}

// Standing is the memory's own.
func (m *Memory) Standing() Standing {
	return Standing{m.RetiredAt, m.RetiredReason, m.RetractedBy, m.InvalidatedAt, m.FactKey, m.Supersedes, m.SupersededBy, m.Relations, m.SupportInfo}
}

// Same reports whether two are the same.
func (s Standing) Same(other Standing) bool {
	a, err := json.Marshal(s)
	b, failed := json.Marshal(other)
	return err == nil && failed == nil && string(a) == string(b)
}

// Stand gives the memory another standing.
func (m *Memory) Stand(s Standing) {
	m.RetiredAt, m.RetiredReason, m.RetractedBy = s.RetiredAt, s.RetiredReason, s.RetractedBy
	m.InvalidatedAt, m.FactKey, m.Supersedes, m.SupersededBy = s.InvalidatedAt, s.FactKey, s.Supersedes, s.SupersededBy
	m.Relations, m.SupportInfo = s.Relations, s.SupportInfo
}

// Restand gives a memory another standing, in a transaction of the caller's. It is the one way by which a retraction, and the undoing of one, changes
// memories: where RetiredAt comes, RetractedBy says by which, and where it goes, d is what Revive made of the memory, so that recall finds it again.
// What it was is a version in its history; exact history takes what RetractedBy names for never true.
func (ms *Store) Restand(ctx context.Context, tx *duck.Write, id string, to Standing, d *index.Document) error {
	m, docNo, err := MemoryByID(ctx, tx.Conn, id)
	if err != nil || m == nil {
		return err
	}
	was := m.RetiredAt
	m.Stand(to)
	m.UpdatedAt = ms.file.Now()
	if was.IsZero() == m.RetiredAt.IsZero() || d == nil {
		d = &index.Document{Kind: kinds.Memory}
	}
	if m.RetiredAt.IsZero() && was.IsZero() {
		d.Words = ms.index.Analyse(m.fields())
	}
	if _, err := tx.One(ctx, "memory_stand", []any{&d.Stand.SessionNo, &d.Stand.Place}, sql.Named("doc_no", docNo)); err != nil {
		return err
	}
	ms.describe(d, m, docNo)
	if was.IsZero() != m.RetiredAt.IsZero() {
		return ms.rewrite(ctx, tx, m, d)
	}
	if err := ms.updateMemory(ctx, tx, m, docNo); err != nil {
		return err
	}
	return ms.index.UpdateDocument(ctx, tx, d)
}

// Revive makes the documents of memories anew, by their ids, for Restand. It needs no lock: a model may think. Where that fails they have no vector, and the
// second error says why.
func (ms *Store) Revive(ctx context.Context, memoryIDs []string) (made map[string]*index.Document, vectorErr, err error) {
	made = map[string]*index.Document{}
	var documents []*index.Document
	var texts []string
	err = ms.file.Read(ctx, "revive", func(c *duck.Conn) error {
		all, err := MemoriesByID(ctx, c, memoryIDs)
		for _, m := range all {
			d := &index.Document{Kind: kinds.Memory, Words: ms.index.Analyse(m.fields())}
			made[m.ID], documents, texts = d, append(documents, d), append(texts, m.embedded())
		}
		return err
	})
	if err != nil || len(documents) == 0 {
		return made, nil, err
	}
	err = ms.index.EmbedDocuments(ctx, documents, texts)
	if err != nil && index.EmbeddingFailed(ctx, err) {
		return made, err, nil
	}
	return made, nil, err
}
