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
	rarity float64
	seqs   []int32 // of the messages that have it, ascending
}

// isSaid reports whether one of the messages from a seq to another has the word.
func (w rareWord) isSaid(from, to int) bool {
	i, _ := slices.BinarySearch(w.seqs, int32(from))
	return i < len(w.seqs) && int(w.seqs[i]) <= to
}

// ahead is for how many leaves words are counted at once, after the first: many are seldom made, and words take memory.
const ahead = 24

// of tells the extractive summariser how rare a term is, as the index has it; one that is not in the messages summarised has no weight. Of summaries, and
// of messages without a word, nil: their own words count.
func (r *rarities) of(ctx context.Context, file *duck.File, in *summaryInput) (rarity func(term string) float64, err error) {
	if in.kind != window.Leaf {
		return nil, nil
	}
	from, to := in.firstSeq, in.lastSeq
	if from < r.from || to > r.to {
		err := file.Read(ctx, "term rarity", func(c *duck.Conn) error { return r.count(ctx, c, in.conversation.ID, from, max(to, in.until)) })
		if err != nil {
			return nil, err
		}
	}
	for _, w := range r.words {
		if w.isSaid(from, to) {
			return func(term string) float64 {
				if w := r.words[term]; w.isSaid(from, to) {
					return w.rarity
				}
				return 0
			}, nil
		}
	}
	return nil, nil
}

// count reads the words of messages anew, from one seq to another.
func (r *rarities) count(ctx context.Context, c *duck.Conn, conversationID string, from, to int) error {
	*r = rarities{from: from, to: to, words: map[string]rareWord{}}
	return c.Each(ctx, "term_rarity", func(rows *sql.Rows) error {
		var term, seqs string
		var w rareWord
		if err := rows.Scan(&term, &w.rarity, &seqs); err != nil {
			return err
		}
		w.rarity = max(w.rarity, 0)
		w.seqs = make([]int32, 0, strings.Count(seqs, " ")+1)
		for number := range strings.SplitSeq(seqs, " ") {
			seq, err := strconv.ParseInt(number, 10, 32)
			if err != nil {
				return err
			}
			w.seqs = append(w.seqs, int32(seq))
		}
		slices.Sort(w.seqs)
		r.words[term] = w
		return nil
	}, sql.Named("conversation_id", conversationID), sql.Named("from", int64(from)), sql.Named("to", int64(to)))
}
