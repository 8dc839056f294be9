package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
)

// Merge is memories that said the same and became one.
type Merge struct {
	Into string   `json:"into"` // the one that says it now; with DryRun the one whose place it would take
	From []string `json:"from"` // those that ended
	Text string   `json:"text"`
	New  bool     `json:"new"` // it is a new one, which says what all of them did

	vectorErr error // of the new one
}

// mergedAtOnce is how many clusters are written in one transaction.
const mergedAtOnce = 32

// mergeDuplicates merges memories that say the same. Each cluster is written in one transaction, several together; one that somebody else changes meanwhile is left for
// the next time.
func (ms *Store) mergeDuplicates(ctx context.Context, r MaintainRequest) (merges []Merge, err error) {
	var found []cluster
	err = ms.file.Read(ctx, "maintain", func(c *duck.Conn) error {
		found, err = ms.duplicates(ctx, c, r.Similarity, ms.file.Now().Add(-r.MinAge))
		return err
	})
	if err != nil {
		return nil, err
	}
	done := 0
	for part := range slices.Chunk(found, mergedAtOnce) {
		all, err := ms.mergePart(ctx, part, r.DryRun)
		merges = append(merges, all...)
		if err != nil {
			return merges, err
		}
		if done += len(part); len(found) > mergedAtOnce {
			ms.opts.Progress("duplicates", done, len(found))
		}
	}
	return merges, nil
}

// union is a cluster on its way.
type union struct {
	members  []*Memory
	proposal *Proposal // nil: the first says all that the others say
}

func (ms *Store) mergePart(ctx context.Context, part []cluster, dry bool) (merges []Merge, err error) {
	unions, err := ms.unions(ctx, part)
	if err != nil {
		return nil, err
	}
	if err := ms.proposeUnions(ctx, unions); err != nil {
		return nil, err
	}
	if !dry {
		err = ms.file.Write(ctx, "maintain", func(tx *duck.Write) error {
			unions, err = ms.acceptUnions(ctx, tx, unions)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for _, u := range unions {
		m := Merge{Into: u.members[0].ID, Text: u.members[0].Text}
		ended := u.members[1:]
		if u.proposal != nil {
			m.Text, m.New, ended = u.proposal.Memory().Text, true, u.members
			if !dry {
				m.Into, m.vectorErr = u.proposal.Memory().ID, u.proposal.VectorErr()
			}
		}
		for _, of := range ended {
			m.From = append(m.From, of.ID)
		}
		merges = append(merges, m)
	}
	return merges, nil
}

// unions reads the members of clusters.
func (ms *Store) unions(ctx context.Context, part []cluster) (unions []*union, err error) {
	err = ms.file.Read(ctx, "maintain", func(c *duck.Conn) error {
		stored, err := MemoriesByID(ctx, c, slices.Concat(part...))
		byID := map[string]*Memory{}
		for _, m := range stored {
			byID[m.ID] = m
		}
		for _, of := range part {
			u := &union{}
			for _, id := range of {
				if m := byID[id]; m != nil {
					u.members = append(u.members, m)
				}
			}
			if len(u.members) > 1 {
				unions = append(unions, u)
			}
		}
		return err
	})
	return unions, err
}

// proposeUnions makes the memories that say what several did, where one doesn't say all of it.
func (ms *Store) proposeUnions(ctx context.Context, unions []*union) error {
	var requests []RememberRequest
	var of []*union
	for _, u := range unions {
		if r, news := mergeRequest(u.members, ms.file.Now()); news {
			requests, of = append(requests, r), append(of, u)
		}
	}
	proposals, errs, err := ms.Propose(ctx, requests)
	if err != nil {
		return err
	}
	for i, u := range of {
		if errs[i] != nil { // too long: the first stays as it is, and so do the others
			u.members = u.members[:1]
			continue
		}
		u.proposal = proposals[i]
		m := u.proposal.Memory()
		for _, old := range u.members {
			m.AccessCount, m.LastAccessedAt = max(m.AccessCount, old.AccessCount), latest(m.LastAccessedAt, old.LastAccessedAt)
		}
		for _, old := range u.members {
			if err := u.proposal.Supersede(old.ID); err != nil {
				return err
			}
			u.proposal.From(Source{How: Merged, Kind: kinds.Memory, ID: old.ID})
		}
	}
	return nil
}

// acceptUnions writes them, and gives those that were: all whose members are as they were.
func (ms *Store) acceptUnions(ctx context.Context, tx *duck.Write, unions []*union) (accepted []*union, err error) {
	var ids []string
	for _, u := range unions {
		for _, old := range u.members {
			ids = append(ids, old.ID)
		}
	}
	stored, err := MemoriesByID(ctx, tx.Conn, ids)
	if err != nil {
		return nil, err
	}
	byID := map[string]*Memory{}
	for _, m := range stored {
		byID[m.ID] = m
	}
	var proposals []*Proposal
	var edits []Edit
	for _, u := range unions {
		unchanged := len(u.members) > 1
		for _, old := range u.members {
			now := byID[old.ID]
			unchanged = unchanged && now != nil && now.UpdatedAt.Equal(old.UpdatedAt) && now.RetiredAt.IsZero() && now.InvalidatedAt.IsZero()
		}
		if !unchanged {
			continue
		}
		accepted = append(accepted, u)
		into, ended := u.members[0].ID, u.members[1:]
		if u.proposal != nil {
			proposals = append(proposals, u.proposal)
			into, ended = u.proposal.Memory().ID, u.members
		}
		for _, old := range ended {
			edits = append(edits, Edit{ID: old.ID, Change: func(m *Memory) {
				m.CanonicalID = into
				if u.proposal == nil {
					m.InvalidatedAt = latest(ms.file.Now(), m.ValidFrom)
					m.Relations = append(m.Relations, Relation{Type: "duplicate_of", TargetID: into})
				}
			}})
			if u.proposal == nil { // what the duplicate came from says it too
				edits = append(edits, Edit{ID: into, Change: func(*Memory) {}, Sources: []Source{{How: Merged, Kind: kinds.Memory, ID: old.ID}}})
			}
		}
	}
	if err := ms.Accept(ctx, tx, proposals, edits); err != nil {
		if errors.Is(err, fault.ErrNotFound) || errors.Is(err, fault.ErrInvalid) {
			return nil, nil // somebody was faster; the next time finds it anew
		}
		return nil, err
	}
	return accepted, nil
}

// Bounds of a merged memory.
const (
	mostAbstract = 180 // characters
	mostBullets  = 8
)

// mergeRequest is the memory that says what several of one scope and category do, the most important first: its narrative has each of their lines once, in their order. It is as important
// as the most important and as lasting as the most lasting. news is false where the first says all of it.
func mergeRequest(members []*Memory, now time.Time) (r RememberRequest, news bool) {
	first := members[0]
	lines, seen := []string{}, map[string]bool{}
	own := 0
	importance, confidence := 0.0, defaultConfidence
	r = RememberRequest{Scope: first.Scope, Category: first.Category, Tier: first.Tier, Layer: first.Layer, TemporalType: "dynamic", Source: first.Source, ValidFrom: now, ValidUntil: first.ValidUntil,
		Extra: map[string]any{"compacted": true, "source_count": len(members)}}
	bullets := []string{}
	for i, m := range members {
		for line := range strings.Lines(m.Level(Full)) {
			if folded := fold(line); folded != "" && !seen[folded] {
				seen[folded] = true
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		if i == 0 {
			own = len(lines)
		}
		importance, confidence = max(importance, m.Importance), max(confidence, m.Confidence)
		if bullet := "- " + abstractOf(m); len(bullets) < mostBullets && !slices.ContainsFunc(bullets, func(b string) bool { return fold(b) == fold(bullet) }) {
			bullets = append(bullets, bullet)
		}
		if slices.Index(Tiers(), m.Tier) < slices.Index(Tiers(), r.Tier) {
			r.Tier = m.Tier
		}
		if m.TemporalType != "dynamic" {
			r.TemporalType = cmp.Or(m.TemporalType, "static")
		}
		if m.ValidUntil.IsZero() || !r.ValidUntil.IsZero() && m.ValidUntil.After(r.ValidUntil) {
			r.ValidUntil = m.ValidUntil
		}
		r.CreatedAt = latest(r.CreatedAt, m.CreatedAt)
		for _, context := range m.Contexts {
			if !slices.Contains(r.Contexts, context) {
				r.Contexts = append(r.Contexts, context)
			}
		}
	}
	r.Text, r.L0, r.L1 = strings.Join(lines, "\n"), abstractOf(first), strings.Join(bullets, "\n")
	r.Importance, r.Confidence = &importance, &confidence
	return r, len(lines) > own
}

// fold is a line as it is compared: in lower case, with single spaces.
func fold(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// abstractOf is the abstract of a memory in one line, cut where it is long.
func abstractOf(m *Memory) string {
	runes := []rune(strings.Join(strings.Fields(m.Level(Abstract)), " "))
	if len(runes) > mostAbstract {
		runes = append(runes[:mostAbstract-1], '…')
	}
	return string(runes)
}

// The defaults of merging.
const (
	defaultSimilarity = 0.88
	defaultMinAge     = 7 * 24 * time.Hour
)
