package build

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
)

// Snapshot is a context that was built, or a build that failed, as it is kept: by ids and hashes, without a word of what was shown.
type Snapshot struct {
	ID             string         `json:"id"`
	ConversationID string         `json:"conversation_id"`
	Conversation   string         `json:"conversation"`   // its name
	Turn           string         `json:"turn,omitempty"` // as the host names it
	Until          int            `json:"until"`          // seq of the newest message that took part
	Preset         string         `json:"preset"`
	Status         string         `json:"status"` // ok or failed
	Hash           string         `json:"hash,omitempty"`
	ConfigHash     string         `json:"config_hash"`
	Config         Preset         `json:"config"`
	Items          []SnapshotItem `json:"items,omitempty"` // that were shown, in their order
	Selection      *Selection     `json:"selection,omitempty"`
	Recall         Recalled       `json:"recall"`
	Asked          Asked          `json:"asked"`
	Counts         Counts         `json:"counts"`
	Trim           Trim           `json:"trim"`
	Trimmed        bool           `json:"trimmed"`
	OverBudget     bool           `json:"over_budget"`
	ErrorClass     string         `json:"error_class,omitempty"` // ErrorClass of what failed
	Stage          Stage          `json:"stage,omitempty"`
	NextAction     string         `json:"next_action,omitempty"`
	Error          string         `json:"error,omitempty"`
	BuiltAt        time.Time      `json:"built_at"`
}

// SnapshotItem is an item as it is kept.
type SnapshotItem struct {
	Section string  `json:"s"`
	Name    string  `json:"id"`
	Hash    string  `json:"h"`
	Kind    string  `json:"k"`
	Cost    int     `json:"c"`
	Chars   int     `json:"n"`
	ID      string  `json:"ref,omitempty"`
	Passage *[2]int `json:"p,omitempty"` // as of Item
}

// Asked is what the request named, by ids and keys.
type Asked struct {
	InputID  string `json:"input_id,omitempty"`
	ReplyTo  string `json:"reply_to,omitempty"`
	Cursor   string `json:"cursor,omitempty"`
	Prompted bool   `json:"prompted,omitempty"` // a prompt chose from the context
}

// asking is what the column selection has.
type asking struct {
	Selection *Selection `json:"selection,omitempty"`
	Recall    Recalled   `json:"recall"`
	Asked     Asked      `json:"asked"`
}

// Statuses of a snapshot.
const (
	StatusOK     = "ok"
	StatusFailed = "failed"
)

// keep writes the row of a build. A file that can only be read keeps none, which is said.
func (g *building) keep(ctx context.Context) error {
	if g.builder.opts.ReadOnly {
		g.notice("no snapshot: the file is open for reading only")
		return nil
	}
	b := &g.built
	return g.keepRow(ctx, StatusOK, b.snapshotItems(), &b.SnapshotID, &Error{})
}

// snapshotItems are the items that are shown, as they are kept.
func (b *Built) snapshotItems() []SnapshotItem {
	items := []SnapshotItem{}
	for i := range b.Items {
		if it := &b.Items[i]; it.Kept {
			items = append(items, SnapshotItem{it.Section, it.Name, it.Hash, it.Kind, it.Cost, utf8.RuneCountInString(it.Text), it.ID, it.passage})
		}
	}
	return items
}

// keepFailure writes the row of a build that failed. What the error says of the request is cut short.
func (b *Builder) keepFailure(ctx context.Context, g *building, failed *Error) error {
	if b.opts.ReadOnly {
		return nil
	}
	if g.built.ConfigHash == "" {
		config, err := configOf(g.preset)
		if err != nil {
			return err
		}
		if g.built.ConfigHash, err = hashOf(config); err != nil {
			return err
		}
	}
	return g.keepRow(ctx, StatusFailed, nil, new(string), failed)
}

func (g *building) keepRow(ctx context.Context, status string, items []SnapshotItem, id *string, failed *Error) error {
	b, file := &g.built, g.builder.file
	config := g.preset
	config.Snapshot = ""
	var shown any
	if items != nil {
		shown = items
	}
	columns := make([]driver.Value, 5)
	for i, v := range []any{config, shown, asking{b.Selection, b.Recall, Asked{g.request.InputID, g.request.ReplyTo, g.request.Cursor, g.request.Prompt != ""}}, b.Counts, b.Trim} {
		if v == nil {
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		columns[i] = json.RawMessage(text)
	}
	class, told := "", ""
	if failed.Err != nil {
		class, told = ErrorClass, line(failed.Err.Error(), 240)
	}
	return file.Write(ctx, "snapshot", func(tx *duck.Write) (err error) {
		if *id, err = file.NewID(ids.ContextSnapshot, b.BuiltAt); err != nil {
			return err
		}
		return tx.AppendRows("context_snapshots", [][]driver.Value{{*id, g.conversation.ID, duck.NullText(g.request.Turn), int32(b.Until), g.preset.Name, status, duck.NullText(b.Hash), b.ConfigHash,
			columns[0], columns[1], columns[2], columns[3], columns[4], b.Trim.Trimmed, b.OverBudget, duck.NullText(class), duck.NullText(string(failed.Stage)), duck.NullText(failed.NextAction),
			duck.NullText(told), b.BuiltAt}})
	})
}

// SnapshotsRequest asks for what was built.
type SnapshotsRequest struct {
	Conversation string // name or id; empty: of all that the agent may read
	Agent        string // empty: an internal caller
	Limit        int    // 1 to 10,000; default 100
}

// Snapshots lists contexts that were built and kept, and builds that failed, the newest first. Errors: ErrNotFound, ErrInvalid.
func (b *Builder) Snapshots(ctx context.Context, r SnapshotsRequest) (all []Snapshot, err error) {
	if r.Limit == 0 {
		r.Limit = 100
	}
	if r.Limit < 1 || r.Limit > 10_000 {
		return nil, fmt.Errorf("snapshots: %w", fault.Invalid("limit", r.Limit, "1 to 10000"))
	}
	scopes, _ := b.scopes.Now().ForReading(r.Agent, nil)
	err = b.file.Read(ctx, "snapshots", func(c *duck.Conn) error {
		var of any
		if r.Conversation != "" {
			v, err := b.conversations.Readable(ctx, c, r.Conversation, r.Agent)
			if err != nil {
				return err
			}
			of = v.ID
		}
		all, err = duck.List(ctx, c, "build_snapshots", scanSnapshot, sql.Named("conversation_id", of), sql.Named("scopes", duck.ListArg(scopes)), sql.Named("limit", int64(r.Limit)))
		return err
	})
	return all, err
}

// Snapshot finds one by its id, or the unique ending of it. Errors: ErrNotFound, ErrAmbiguous.
func (b *Builder) Snapshot(ctx context.Context, id, agent string) (s Snapshot, err error) {
	if err := fault.CheckText("snapshot", id); err != nil {
		return s, fmt.Errorf("snapshot: %w", err)
	}
	scopes, _ := b.scopes.Now().ForReading(agent, nil)
	err = b.file.Read(ctx, "snapshot", func(c *duck.Conn) error {
		found, err := duck.List(ctx, c, "build_snapshot", scanSnapshot, sql.Named("id", id), sql.Named("shortest", int64(ids.MinShort)), sql.Named("scopes", duck.ListArg(scopes)))
		if err != nil {
			return err
		}
		s, err = ids.One("snapshot", id, found, func(s Snapshot) string { return s.ID })
		return err
	})
	return s, err
}

// scanSnapshot reads a row of the queries build_snapshot and build_snapshots.
func scanSnapshot(rows *sql.Rows, s *Snapshot) error {
	var config, items, selection, counts, trim string
	err := rows.Scan(&s.ID, &s.ConversationID, duck.TextOf(&s.Turn), &s.Until, &s.Preset, &s.Status, duck.TextOf(&s.Hash), &s.ConfigHash, &config, duck.TextOf(&items), duck.TextOf(&selection),
		duck.TextOf(&counts), duck.TextOf(&trim), &s.Trimmed, &s.OverBudget, duck.TextOf(&s.ErrorClass), duck.TextOf(&s.Stage), duck.TextOf(&s.NextAction), duck.TextOf(&s.Error), &s.BuiltAt, &s.Conversation)
	if err != nil {
		return err
	}
	var c asking
	for _, column := range []struct {
		text string
		dest any
	}{{config, &s.Config}, {items, &s.Items}, {selection, &c}, {counts, &s.Counts}, {trim, &s.Trim}} {
		if column.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(column.text), column.dest); err != nil {
			return fmt.Errorf("%w: snapshot %s: %w", fault.ErrCorrupt, s.ID, err)
		}
	}
	s.Selection, s.Recall, s.Asked = c.Selection, c.Recall, c.Asked
	s.Config.Name = cmp.Or(s.Config.Name, s.Preset)
	return nil
}
