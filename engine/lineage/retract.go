package lineage

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
)

// RetractRequest names a source that is to be withdrawn.
type RetractRequest struct {
	ID     string // of a message, memory, summary, import or call, whole or its unique ending of six characters or more
	Reason string // kept with the retraction, and with every memory that it withdraws
	Agent  string // empty: an internal caller; else all that changes has to be in scopes that it may write to
	DryRun bool   // only says what would happen; the file has to be open for writing
}

// errDryRun ends the transaction of a dry run.
var errDryRun = errors.New("dry run")

// Retract withdraws a source and all that descends from it, in one transaction: a message leaves recall, every search, its context and extraction; memories that were
// made from what is withdrawn leave recall, what they had superseded is true again, and the confirmations that came from it are taken back; summaries over it are made
// anew from what is left, without a model. A memory stays as long as all sources of one of its derivations stand: one that another session said as well stays
// with that. The texts stay in the file, hidden, until they are purged, and UndoRetraction takes all of it back. Of a summary only what it says is withdrawn, of an
// import or a call only what came from it. Errors: ErrNotFound, ErrAmbiguous, ErrScopeDenied; ErrInvalid without a reason, and for what was retracted or purged before.
func (k *Keeper) Retract(ctx context.Context, r RetractRequest) (*Retraction, error) {
	if err := fault.CheckText("reason", r.Reason); err != nil {
		return nil, fmt.Errorf("retract: %w", err)
	}
	if r.Reason = strings.TrimSpace(r.Reason); r.Reason == "" && !r.DryRun {
		return nil, fmt.Errorf("retract: %w", fault.Invalid("reason", r.Reason, "why it is withdrawn"))
	}
	result := &Retraction{Reason: r.Reason, Agent: r.Agent, DryRun: r.DryRun, Effects: []Effect{}}
	err := k.file.Write(ctx, "retract", func(tx *duck.Write) error {
		if err := k.retract(ctx, tx, r, result); err != nil {
			return err
		}
		if r.DryRun {
			return errDryRun
		}
		return nil
	})
	if r.DryRun && errors.Is(err, errDryRun) {
		result.ID, err = "", nil
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

func (k *Keeper) retract(ctx context.Context, tx *duck.Write, r RetractRequest, result *Retraction) error {
	n, err := k.find(ctx, tx.Conn, r.ID, r.Agent)
	if err != nil {
		return err
	}
	if err := k.retractable(ctx, tx, n, r.Agent); err != nil {
		return err
	}
	x := k.newAct(tx, result)
	result.Source, result.At = *n, x.at
	if result.ID, err = k.file.NewID(ids.Retraction, x.at); err != nil {
		return err
	}
	roots, err := x.hide(ctx, n)
	if err != nil {
		return err
	}
	d, err := descend(ctx, tx.Conn, n, roots, result.ID)
	if err != nil {
		return err
	}
	before, after := d.settle(false), d.settle(true)
	withdrawn, err := x.withdraw(ctx, d, after)
	if err != nil {
		return err
	}
	if err := cmp.Or(x.observe(ctx, d, before, after), x.succeed(ctx, withdrawn, time.Time{}), x.write(ctx)); err != nil {
		return err
	}
	if err := tell(ctx, tx.Conn, result.Effects); err != nil {
		return err
	}
	return result.insert(tx)
}

// retractable refuses what was retracted or purged before, and what the agent may not change.
func (k *Keeper) retractable(ctx context.Context, tx *duck.Write, n *Node, agent string) error {
	if n.Scope != "" && agent != "" {
		if _, err := k.scopes.Now().ForWriting(agent, n.Scope); err != nil {
			return err
		}
	}
	var by string
	found, err := tx.One(ctx, "retraction_of", []any{&by}, sql.Named("source", n.ID))
	switch {
	case err != nil:
		return err
	case found:
		return fault.Invalid("id", n.ID, "what was not retracted yet; this was, by "+by)
	case n.Kind == kinds.Message && n.Standing == string(conversation.AsidePurged):
		return fault.Invalid("id", n.ID, "a message that was not purged")
	}
	return nil
}

// hide withdraws the source itself, where it is a message or a summary, and gives what stood for it too.
func (x *act) hide(ctx context.Context, n *Node) (roots map[string]time.Time, err error) {
	roots = map[string]time.Time{n.ID: x.at}
	if n.Kind != kinds.Message && n.Kind != kinds.Summary {
		if n.Kind != kinds.Memory {
			x.note(n.Kind, n.ID, Withdrawn, "", "")
		}
		return roots, nil
	}
	if n.Kind == kinds.Message {
		was, err := x.conversations.Hide(ctx, x.tx, n.ID)
		if err != nil {
			return nil, err
		}
		e := Effect{Kind: n.Kind, ID: n.ID, What: Withdrawn}
		if e.was, err = json.Marshal(was); err != nil {
			return nil, err
		}
		x.result.Effects = append(x.result.Effects, e)
		var drafts int
		if _, err := x.tx.One(ctx, "lineage_drafts", []any{&drafts}, sql.Named("id", n.ID)); err != nil {
			return nil, err
		}
		if drafts > 0 {
			x.note("draft", n.ID, Marked, n.ID, fmt.Sprintf("%d drawn from it", drafts))
		}
	}
	changed, err := x.compactor.Withdraw(ctx, x.tx, n.conversationID, n.ID)
	for _, c := range changed {
		e := Effect{Kind: kinds.Summary, ID: c.ID, What: Rewritten, Because: n.ID}
		if c.Removed {
			e.What = Removed
		}
		var failed error
		if e.was, failed = c.Was.Encode(); failed != nil {
			return nil, failed
		}
		if e.became, failed = json.Marshal(c.After); failed != nil {
			return nil, failed
		}
		roots[c.ID] = x.at
		x.result.Effects = append(x.result.Effects, e)
	}
	return roots, err
}

// withdraw takes memories out of recall that do not stand any more, and notes of others why they do.
func (x *act) withdraw(ctx context.Context, d *descent, after *state) (withdrawn []string, err error) {
	for _, id := range d.memories {
		m, err := x.load(ctx, id)
		if err != nil {
			return nil, err
		}
		switch {
		case m == nil || m.RetractedBy != "":
		case after.stands[id]:
			x.note(kinds.Memory, id, Kept, d.because[id], after.reason(id))
		default:
			if m.RetiredAt.IsZero() {
				m.RetiredAt, m.RetiredReason = x.at, "retracted: "+x.result.Reason
			}
			m.RetractedBy = x.result.ID
			because := d.because[id]
			if because == id {
				because = ""
			}
			x.note(kinds.Memory, id, Withdrawn, because, "")
			withdrawn = append(withdrawn, id)
		}
	}
	return withdrawn, nil
}

// reason says why a memory stands although something that it came from does not.
func (s *state) reason(id string) string {
	groups := map[int][]edge{}
	for _, e := range s.edges {
		if e.to == id && e.how.Carries() {
			groups[e.derivation] = append(groups[e.derivation], e)
		}
	}
	if groups[0] == nil {
		return "it was remembered by itself"
	}
	for _, group := range groups {
		if s.holds(group) {
			return fmt.Sprintf("%s says so too", group[0].from)
		}
	}
	return ""
}

// changedSummaries are the effects on summaries, as compact reinstates them.
func changedSummaries(effects []Effect) (all []compact.Changed, err error) {
	for _, e := range effects {
		if e.Kind != kinds.Summary || e.What != Rewritten && e.What != Removed {
			continue
		}
		c := compact.Changed{ID: e.ID, Removed: e.What == Removed}
		if c.Was, err = compact.DecodeSummary(e.was); err != nil {
			return nil, err
		}
		if e.became != nil {
			if err := json.Unmarshal(e.became, &c.After); err != nil {
				return nil, err
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// ListRequest bounds a list of retractions.
type ListRequest struct {
	Agent string // empty: an internal caller; an agent is shown those of what it may read
	Limit int    // 1 to 10,000; default 20
}

// Retractions lists what was retracted, the newest first, without the effects. Errors: ErrInvalid.
func (k *Keeper) Retractions(ctx context.Context, r ListRequest) (all []Retraction, err error) {
	if r.Limit == 0 {
		r.Limit = 20
	}
	if r.Limit < 1 || r.Limit > 10_000 {
		return nil, fmt.Errorf("retractions: %w", fault.Invalid("limit", r.Limit, "1 to 10000"))
	}
	err = k.file.Read(ctx, "retractions", func(c *duck.Conn) error {
		if all, err = duck.List(ctx, c, "retraction_list", scanRetraction, sql.Named("limit", int64(r.Limit))); err != nil {
			return err
		}
		var of []string
		for _, x := range all {
			of = append(of, x.Source.ID)
		}
		known, err := nodes(ctx, c, of)
		all = slices.DeleteFunc(all, func(x Retraction) bool {
			n := known[x.Source.ID]
			return r.Agent != "" && (n == nil || !k.sees(r.Agent, n))
		})
		for i := range all {
			if n := known[all[i].Source.ID]; n != nil {
				all[i].Source = *n
			}
			all[i].Effects = []Effect{}
		}
		return err
	})
	return all, err
}
