package compact

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/internal/duck"
)

// Where the text of a rolling summary came from.
const (
	FromModel         = "llm"            // the first model
	FromFallback      = "fallback"       // another one, for the first failed or was left out
	FromCheckpoint    = "checkpoint"     // a checkpoint that has read half of the context, and no model was asked
	FromOldCheckpoint = "old_checkpoint" // the newest there was, for no model answered
	FromStub          = "stub"           // nobody: it says so, and carries the older summary on
	FromNobody        = "placeholder"    // nobody yet: no model was asked
	FromExtract       = "extractive"     // the sentences that tell most, for there is no model
	FromHost          = "host"
)

// compactionRow is a compaction that was done.
type compactionRow struct {
	id                          string
	summary                     *Summary
	policy                      Policy
	source                      string
	from, firstKept             int // seqs: what it summarised, without the last; 0: of a policy that does not say
	checkpointID                string
	retryFrom                   int    // seq of the first message that no summary tells of; 0: none
	carried                     string // what the summary goes on from, once those are told of
	lastError                   string
	items, before, after, calls int
	startedAt                   time.Time
}

// record notes compactions of a conversation.
func (cp *Compactor) record(ctx context.Context, tx *duck.Write, conversationID string, all ...*compactionRow) error {
	seq := func(n int) driver.Value {
		if n == 0 {
			return nil
		}
		return int32(n)
	}
	var rows [][]driver.Value
	for _, r := range all {
		var err error
		if r.id, err = cp.file.NewID(ids.Compaction, cp.file.Now()); err != nil {
			return err
		}
		s := r.summary
		rows = append(rows, []driver.Value{r.id, conversationID, s.ID, s.Kind, int32(s.Depth), string(s.Level), s.Model, int32(r.items), int32(r.before), int32(r.after),
			int32(r.calls), r.startedAt, cp.file.Now(), string(r.policy), duck.NullText(r.source), seq(r.from), seq(r.firstKept), duck.NullText(r.checkpointID),
			seq(r.retryFrom), duck.NullText(r.carried), int32(1), duck.NullText(r.lastError)})
	}
	if err := tx.AppendRows("compactions", rows); err != nil {
		return err
	}
	return conversation.Compacted(ctx, tx, conversationID, len(rows))
}

// rangeFrom gives the seq from which on messages before a position have no summary yet: where the last compaction ended, or the first message in the context.
func rangeFrom(ctx context.Context, c *duck.Conn, conversationID string, before int) (from int, err error) {
	_, err = c.One(ctx, "compaction_from", []any{&from}, sql.Named("conversation_id", conversationID), sql.Named("before", int64(before)))
	return from, err
}

// pending is a range of messages that no summary tells of. It goes up to, and without, the message with the seq of its end.
type pending struct {
	compactionID string // empty: the compaction is under way
	from, end    int
	carried      string // of the oldest one of a summary
}

// pendingOf lists the ranges that a summary owes, oldest first.
func pendingOf(ctx context.Context, c *duck.Conn, summaryIDs []string) ([]pending, error) {
	return duck.List(ctx, c, "compaction_pending", func(rows *sql.Rows, p *pending) error {
		return rows.Scan(&p.compactionID, &p.from, &p.end, duck.TextOf(&p.carried))
	}, sql.Named("ids", append([]string{}, summaryIDs...)))
}

// settle writes down which ranges a summary owes still, and that those before them are told of. The first one left carries what is told.
func settle(ctx context.Context, tx *duck.Write, summaryID string, told, left []pending, source, carried, lastError string) error {
	mark := func(p pending, source string, from, carried, lastError driver.Value) error {
		_, err := tx.Exec(ctx, "compaction_mark", sql.Named("id", p.compactionID), sql.Named("summary_id", summaryID), sql.Named("retry_from", from),
			sql.Named("carried", carried), sql.Named("source", duck.NullText(source)), sql.Named("last_error", lastError))
		return err
	}
	for _, p := range told {
		if p.compactionID == "" {
			continue
		}
		if err := mark(p, source, nil, nil, nil); err != nil {
			return err
		}
	}
	for i, p := range left {
		if p.compactionID == "" {
			continue
		}
		text := ""
		if i == 0 {
			text = carried
		}
		if err := mark(p, "", int64(p.from), duck.NullText(text), duck.NullText(lastError)); err != nil {
			return err
		}
	}
	return nil
}
