package extract

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
)

// Verdict is what becomes of a draft.
type Verdict string

// The verdicts.
const (
	Create        Verdict = "create"        // a new memory
	Merge         Verdict = "merge"         // one memory is made of it and an older one
	Support       Verdict = "support"       // it confirms a memory
	Supersede     Verdict = "supersede"     // a new memory, and an older one ends
	Contextualize Verdict = "contextualize" // a new memory, which holds within a context beside one that holds generally
	Contradict    Verdict = "contradict"    // it says the opposite of a memory
	Skip          Verdict = "skip"          // nothing new
	Reject        Verdict = "reject"        // not worth keeping
)

// Verdicts lists them all.
func Verdicts() []Verdict {
	return []Verdict{Create, Merge, Support, Supersede, Contextualize, Contradict, Skip, Reject}
}

// Draft is a proposed memory and what became of it.
type Draft struct {
	ID             string          `json:"id,omitempty"`
	ConversationID string          `json:"conversation_id,omitempty"` // empty: the text is of no conversation
	Conversation   string          `json:"conversation,omitempty"`    // its name
	FirstSeq       int             `json:"first_seq,omitempty"`       // the messages it is from
	LastSeq        int             `json:"last_seq,omitempty"`
	MessageIDs     []string        `json:"message_ids,omitempty"`
	Start          int             `json:"start,omitempty"` // bytes of the message's text, where a rule found it
	End            int             `json:"end,omitempty"`
	Scope          string          `json:"scope"`
	Category       memory.Category `json:"category"`
	Rule           string          `json:"rule"` // that found it; "model": none
	Language       string          `json:"language,omitempty"`
	Model          string          `json:"model,omitempty"` // empty: rules found it
	Text           string          `json:"text"`            // empty: purged
	Overview       string          `json:"overview,omitempty"`
	Content        string          `json:"content,omitempty"`
	FactKey        string          `json:"fact_key,omitempty"`
	Context        string          `json:"context,omitempty"`
	Importance     float64         `json:"importance"`
	Confidence     float64         `json:"confidence"`

	Verdict    Verdict `json:"verdict"`
	Action     Verdict `json:"action"` // what was done: of merge create, where merging wasn't possible
	Reason     string  `json:"reason"`
	MatchID    string  `json:"match_id,omitempty"` // the memory that the verdict is about
	Similarity float64 `json:"similarity,omitempty"`
	Nearest    []Near  `json:"nearest,omitempty"`
	MemoryID   string  `json:"memory_id,omitempty"` // what it became

	SaidAt time.Time `json:"said_at"`
	MadeAt time.Time `json:"made_at"`

	// Retracted: a message that it was drawn from is, or the memory that it became.
	Retracted bool `json:"retracted,omitempty"`

	// Admission is what the gate thought of it; nil: it is off. Drafts does not give it.
	Admission *Admission `json:"admission,omitempty"`

	found  found  // how the rule or the model found it
	at     int    // its message among those of the window
	failed error  // why it can't be stored
	callID string // of the model that found it
}

// found is what is known of a draft beside what is kept.
type found struct {
	old, slotBrand, slotItem string
	topicKey                 string // the fact key without the context
	negative, corrects       bool
}

// Near is a memory that a draft was compared with.
type Near struct {
	ID         string  `json:"id"`
	Similarity float64 `json:"similarity"` // 0 to 1: 1/(2-cosine), or without vectors the share of words that both have
}

// importances are what a category counts for at first.
var importances = map[memory.Category]float64{memory.Profile: 0.9, memory.Pattern: 0.85, memory.Preference: 0.8, memory.Case: 0.8, memory.Entity: 0.7, memory.Event: 0.6}

func importanceOf(category memory.Category) float64 { return cmp.Or(importances[category], 0.5) }

// appendOnly are the categories whose memories are never changed by a draft: it is created or skipped.
func appendOnly(category memory.Category) bool {
	return category == memory.Event || category == memory.Case
}

// versioned are the categories whose memories a newer statement supersedes.
func versioned(category memory.Category) bool {
	return category == memory.Preference || category == memory.Entity
}

// sources are what a draft was drawn from: messages, and where a model found it the call.
func (d *Draft) sources(how memory.How) (all []memory.Source) {
	for _, id := range d.MessageIDs {
		all = append(all, memory.Source{How: how, Kind: kinds.Message, ID: id})
	}
	if d.callID != "" {
		all = append(all, memory.Source{How: memory.Asked, Kind: memory.CallKind, ID: d.callID})
	}
	return all
}

// observed are the sources of a confirmation, or a contradiction.
func (d *Draft) observed(label string, confirms bool) []memory.Source {
	how := memory.Supported
	if !confirms {
		how = memory.Contradicted
	}
	all := d.sources(how)
	for i := range all {
		all[i].How, all[i].Label, all[i].SaidAt = how, label, d.SaidAt
	}
	return all
}

// row gives the draft as the columns of the table drafts, in their order.
func (d *Draft) row() ([]driver.Value, error) {
	number := func(n int, is bool) driver.Value {
		if !is {
			return nil
		}
		return int32(n)
	}
	var near driver.Value
	if len(d.Nearest) > 0 {
		b, err := json.Marshal(d.Nearest)
		if err != nil {
			return nil, err
		}
		near = json.RawMessage(b)
	}
	var similarity driver.Value
	if d.MatchID != "" {
		similarity = d.Similarity
	}
	said, spanned := d.FirstSeq > 0, d.End > 0
	return []driver.Value{d.ID, duck.NullText(d.ConversationID), number(d.FirstSeq, said), number(d.LastSeq, said), append([]string{}, d.MessageIDs...),
		number(d.Start, spanned), number(d.End, spanned), d.Scope, string(d.Category), d.Rule, duck.NullText(d.Language), duck.NullText(d.Model),
		d.Text, duck.NullText(d.Content), duck.NullText(d.FactKey), duck.NullText(d.Context), d.Importance, d.Confidence,
		string(d.Verdict), string(d.Action), d.Reason, duck.NullText(d.MatchID), similarity, near, duck.NullText(d.MemoryID), d.SaidAt, d.MadeAt}, nil
}

// scanDraft reads a row of the query extract_drafts.
func scanDraft(rows *sql.Rows, d *Draft) error {
	var first, last, start, end sql.NullInt32
	var similarity sql.NullFloat64
	var near sql.NullString
	var ids duckdb.Composite[[]string]
	err := rows.Scan(&d.ID, duck.TextOf(&d.ConversationID), duck.TextOf(&d.Conversation), &first, &last, &ids, &start, &end, &d.Scope, duck.TextOf(&d.Category), &d.Rule,
		duck.TextOf(&d.Language), duck.TextOf(&d.Model), &d.Text, duck.TextOf(&d.Content), duck.TextOf(&d.FactKey), duck.TextOf(&d.Context), &d.Importance,
		&d.Confidence, duck.TextOf(&d.Verdict), duck.TextOf(&d.Action), &d.Reason, duck.TextOf(&d.MatchID), &similarity, &near, duck.TextOf(&d.MemoryID), &d.SaidAt, &d.MadeAt, &d.Retracted)
	if err != nil {
		return err
	}
	d.FirstSeq, d.LastSeq, d.Start, d.End = int(first.Int32), int(last.Int32), int(start.Int32), int(end.Int32)
	d.MessageIDs, d.Similarity = ids.Get(), similarity.Float64
	if near.Valid {
		if err := json.Unmarshal([]byte(near.String), &d.Nearest); err != nil {
			return fmt.Errorf("%w: draft %s: %w", fault.ErrCorrupt, d.ID, err)
		}
	}
	return nil
}

// DraftsRequest filters drafts. A nil slice is no restriction, an empty one matches nothing.
type DraftsRequest struct {
	Agent        string // empty: an internal caller
	Scopes       []string
	Conversation string // name or id; empty: of all, and of texts
	Memory       string // whole id: drafts that became it, or were held against it
	Verdicts     []Verdict
	Limit        int // 1 to 100,000; default 20
	Offset       int
}

// Drafts lists drafts, newest first. Errors: ErrInvalid, ErrNotFound for the conversation.
func (ex *Extractor) Drafts(ctx context.Context, r DraftsRequest) (all []Draft, err error) {
	if r.Limit == 0 {
		r.Limit = 20
	}
	if r.Limit < 1 || r.Limit > 100_000 {
		return nil, fmt.Errorf("drafts: %w", fault.Invalid("limit", r.Limit, "1 to 100000"))
	}
	if r.Offset < 0 {
		return nil, fmt.Errorf("drafts: %w", fault.Invalid("offset", r.Offset, "0 or more"))
	}
	err = cmp.Or(fault.CheckTexts("scopes", r.Scopes), fault.CheckText("memory", r.Memory), fault.Members("verdicts", r.Verdicts, Verdicts()))
	if err != nil {
		return nil, fmt.Errorf("drafts: %w", err)
	}
	scopes, _ := ex.scopes.Now().ForReading(r.Agent, r.Scopes)
	err = ex.file.Read(ctx, "drafts", func(c *duck.Conn) error {
		var conversationID string
		if r.Conversation != "" {
			v, err := ex.conversations.Readable(ctx, c, r.Conversation, r.Agent)
			if err != nil {
				return err
			}
			conversationID = v.ID
		}
		all, err = duck.List(ctx, c, "extract_drafts", scanDraft, sql.Named("scopes", duck.ListArg(scopes)), sql.Named("verdicts", duck.ListArg(r.Verdicts)),
			sql.Named("conversation_id", duck.NullText(conversationID)), sql.Named("memory_id", duck.NullText(r.Memory)), sql.Named("limit", int64(r.Limit)),
			sql.Named("offset", int64(r.Offset)))
		return err
	})
	return all, err
}
