package lookup

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/mallardmem/mallard/engine/compact"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/setup"
)

// DescribeRequest asks what an id names.
type DescribeRequest struct {
	ID    string // of a memory, message, summary, file, conversation or note, whole or its unique ending of six characters or more
	Agent string // empty: an internal caller
	// TokenCap is what an expansion of a summary may cost, for the manifest to say what fits. Default what the grant has left, or else
	// Options.Conversation.MaxExpandTokens.
	TokenCap int
	// Grant, when there is one, decides instead of the agent what may be seen, and lowers TokenCap to what it has left.
	Grant string
}

// Description says what an id names: Kind says which of the pointers is set.
type Description struct {
	ID           string                     `json:"id"`
	Kind         kinds.Kind                 `json:"kind"` // memory, message, summary, file, conversation or note
	Conversation *conversation.Conversation `json:"conversation,omitempty"`
	Memory       *memory.Memory             `json:"memory,omitempty"`
	Message      *conversation.Message      `json:"message,omitempty"` // with its blocks
	Summary      *compact.Summary           `json:"summary,omitempty"` // with its sources
	File         *conversation.LargeFile    `json:"file,omitempty"`
	Notes        []NoteAt                   `json:"notes,omitempty"` // the note, in each file that has it

	// InContext is whether the current context has the message or the summary itself.
	InContext bool `json:"in_context,omitempty"`
	// Above are the ids of all summaries that stand for the message or the summary, the nearest first.
	Above []string `json:"above,omitempty"`
	// ConsumedBy are the summaries that the summary is a source of.
	ConsumedBy []string `json:"consumed_by,omitempty"`
	// Manifest is the summary with those below it, each right before what is below it.
	Manifest []ManifestNode `json:"manifest,omitempty"`
	TokenCap int            `json:"token_cap,omitempty"` // that the manifest reckons with

	location *time.Location
}

// NoteAt is a note where it stands in a file.
type NoteAt struct {
	Folder     string    `json:"folder"`
	Path       string    `json:"path"`
	Scope      string    `json:"scope"`
	ModifiedAt time.Time `json:"modified_at"`
	FirstLine  int       `json:"first_line"`
	LastLine   int       `json:"last_line"`
	Text       string    `json:"text"`
}

// ManifestNode is a summary of a tree, and what it would cost to expand it wholly.
type ManifestNode struct {
	Distance         int       `json:"distance"` // levels below the one described
	ID               string    `json:"id"`
	Kind             string    `json:"kind"`
	Depth            int       `json:"depth"`
	Tokens           int       `json:"tokens"`
	DescendantTokens int       `json:"descendant_tokens"`
	SourceTokens     int       `json:"source_tokens"`
	Descendants      int       `json:"descendants"`
	Sources          int       `json:"sources"`
	EarliestAt       time.Time `json:"earliest_at"`
	LatestAt         time.Time `json:"latest_at"`
	Cost             int       `json:"cost"`               // it and the summaries below it
	CostWithMessages int       `json:"cost_with_messages"` // these and the messages
	Fits             bool      `json:"fits"`               // Cost is within the cap
	FitsWithMessages bool      `json:"fits_with_messages"`
}

// Describe says what an id names, and of what is retracted nothing that it says, without its contents below: a summary comes with its tree and with what that would cost to expand.
// Errors: ErrNotFound, ErrAmbiguous, ErrInvalid, ErrGrant.
func (ts *Tools) Describe(ctx context.Context, r DescribeRequest) (*Description, error) {
	const op = "describe"
	if r.TokenCap < 0 {
		return nil, fmt.Errorf("%s: %w", op, fault.Invalid("token_cap", r.TokenCap, "1 or more"))
	}
	grant, err := ts.hold(ctx, r.Grant)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	defer grant.release()
	agent, cap := r.Agent, r.TokenCap
	if grant != nil {
		left := max(0, grant.left())
		setup.Preset(&cap, left)
		agent, cap = grant.Issuer, min(cap, left)
	} else {
		setup.Preset(&cap, ts.opts.Conversation.MaxExpandTokens)
	}
	d := &Description{location: ts.opts.Conversation.Location()}
	err = ts.file.Read(ctx, op, func(c *duck.Conn) error {
		n, err := ts.lookUp(ctx, c, r.ID, agent)
		if err != nil {
			return err
		}
		if grant != nil {
			if err := grant.covers(ctx, c, []*named{n}); err != nil {
				return err
			}
		}
		d.ID, d.Kind = n.id, n.kind
		return ts.describeNamed(ctx, c, d, n, cap)
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// describeNamed fills in a description.
func (ts *Tools) describeNamed(ctx context.Context, c *duck.Conn, d *Description, n *named, cap int) (err error) {
	if n.conversationID != "" {
		if d.Conversation, err = conversation.FindConversation(ctx, c, n.conversationID); err != nil {
			return err
		}
	}
	switch n.kind {
	case kinds.Memory:
		d.Memory, _, err = memory.MemoryByID(ctx, c, n.id)
		if err == nil && d.Memory.RetractedBy != "" {
			d.Memory.Text, d.Memory.L0, d.Memory.L1, d.Memory.L2, d.Memory.FactKey = "", "", "", "", ""
		}
		return err
	case kinds.Note:
		d.Notes, err = duck.List(ctx, c, "describe_note", func(rows *sql.Rows, n *NoteAt) error {
			return rows.Scan(&n.Folder, &n.Path, &n.Scope, &n.ModifiedAt, &n.FirstLine, &n.LastLine, &n.Text)
		}, sql.Named("id", n.id), sql.Named("scopes", duck.ListArg(n.visible)))
		return err
	case FileKind:
		d.File, err = ts.conversations.FindLargeFile(ctx, c, n.id, "")
		return err
	case kinds.Message:
		if d.Message, err = messageByID(ctx, c, n.id); err != nil {
			return err
		}
		if d.Message.SetAside == conversation.AsideRetracted {
			d.Message.Text, d.Message.Caption, d.Message.Blocks = "", "", nil
		}
		return d.place(ctx, c, n)
	case kinds.Summary:
		if d.Summary, _, err = compact.SummaryByID(ctx, c, n.id); err != nil {
			return err
		}
		d.TokenCap = cap
		if d.Manifest, err = manifest(ctx, c, n.id, cap); err != nil {
			return err
		}
		if d.ConsumedBy, err = duck.Column[string](ctx, c, "consumed_by", sql.Named("id", n.id)); err != nil {
			return err
		}
		return d.place(ctx, c, n)
	}
	return nil
}

// place says where a message or summary stands.
func (d *Description) place(ctx context.Context, c *duck.Conn, n *named) (err error) {
	if d.Above, err = duck.Column[string](ctx, c, "summaries_above", sql.Named("id", n.id)); err != nil {
		return err
	}
	_, err = c.One(ctx, "in_context", []any{&d.InContext}, sql.Named("conversation_id", n.conversationID), sql.Named("id", n.id))
	return err
}

// manifest gives a summary and those below it.
func manifest(ctx context.Context, c *duck.Conn, id string, cap int) (all []ManifestNode, err error) {
	err = c.Each(ctx, "summary_tree", func(rows *sql.Rows) error {
		var n ManifestNode
		err := rows.Scan(&n.Distance, &n.ID, &n.Kind, &n.Depth, &n.Tokens, &n.DescendantTokens, &n.SourceTokens, &n.Descendants, &n.Sources,
			&n.EarliestAt, &n.LatestAt)
		n.Cost = n.Tokens + n.DescendantTokens
		n.CostWithMessages = n.Cost + n.SourceTokens
		n.Fits, n.FitsWithMessages = n.Cost <= cap, n.CostWithMessages <= cap
		all = append(all, n)
		return err
	}, sql.Named("id", id))
	return all, err
}

// messageByID gives a message with its blocks; nil when there is none.
func messageByID(ctx context.Context, c *duck.Conn, id string) (m *conversation.Message, err error) {
	err = c.Each(ctx, "messages_by_id", func(rows *sql.Rows) (err error) {
		var scope string
		m, _, _, err = conversation.ScanMessage(rows, &scope)
		return err
	}, sql.Named("ids", []string{id}))
	if err != nil || m == nil {
		return nil, err
	}
	return m, conversation.FillBlocks(ctx, c, []*conversation.Message{m})
}
