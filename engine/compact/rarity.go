package compact

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/window"
)

// rarities is how rare words are among all messages of the file, for a stretch of a conversation. The passes of a compaction share it: counting goes
// through all postings, whether for the words of one pass or of many. One goroutine has it.
type rarities struct {
	from, to int // seq of the messages whose words it has; 0: none yet
	words    map[string]rareWord
}

type rareWord struct {
	no     int32
	rarity float64
}

// ahead is for how many passes words are counted at once, after the first: many are seldom made, and words take memory.
const ahead = 16

// of tells the extractive summariser how rare a term is, as the index has it; one that is not in the messages summarised has no weight. Of summaries nil:
// their own words count.
func (r *rarities) of(ctx context.Context, file *duck.File, in *summaryInput) (rarity func(term string) float64, err error) {
	if in.kind != window.Leaf {
		return nil, nil
	}
	var said map[int32]bool // nil: all words are
	err = file.Read(ctx, "term rarity", func(c *duck.Conn) error {
		if in.firstSeq < r.from || in.lastSeq > r.to {
			to := in.lastSeq
			if r.to > 0 {
				to = in.firstSeq + ahead*(in.lastSeq-in.firstSeq+1)
			}
			if err := r.count(ctx, c, in.conversation.ID, in.firstSeq, to); err != nil {
				return err
			}
		}
		if r.from == in.firstSeq && r.to == in.lastSeq {
			return nil
		}
		said, err = r.said(ctx, c, in.docNos)
		return err
	})
	if err != nil || said == nil && len(r.words) == 0 || said != nil && len(said) == 0 {
		return nil, err
	}
	return func(term string) float64 {
		w := r.words[term]
		if said != nil && !said[w.no] {
			return 0
		}
		return w.rarity
	}, nil
}

// count reads the words of messages anew, from one seq to another.
func (r *rarities) count(ctx context.Context, c *duck.Conn, conversationID string, from, to int) error {
	*r = rarities{from: from, to: to, words: map[string]rareWord{}}
	return c.Each(ctx, "term_rarity", func(rows *sql.Rows) error {
		var term string
		var w rareWord
		err := rows.Scan(&term, &w.no, &w.rarity)
		w.rarity = max(w.rarity, 0)
		r.words[term] = w
		return err
	}, sql.Named("conversation_id", conversationID), sql.Named("from", int64(from)), sql.Named("to", int64(to)))
}

// said gives the numbers of the words that messages have.
func (r *rarities) said(ctx context.Context, c *duck.Conn, docNos []int32) (map[int32]bool, error) {
	var list string
	_, err := c.One(ctx, "terms_said", []any{&list}, sql.Named("doc_nos", docNos), sql.Named("from", slices.Min(docNos)), sql.Named("to", slices.Max(docNos)))
	if err != nil {
		return nil, err
	}
	said := make(map[int32]bool, len(list)/6)
	for number := range strings.SplitSeq(list, " ") {
		if no, err := strconv.Atoi(number); err == nil {
			said[int32(no)] = true
		}
	}
	return said, nil
}
