package bench

import (
	"context"

	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/lookup"
	"github.com/mallardmem/mallard/engine/recall"
)

// reached is what one question finds of its evidence.
type reached struct {
	evidence int // turns
	window   int // of these, as they are in the window
	expanded int // in the window or among what the question expands
	recalled int // among what it recalls
	asked    bool
	kept     bool // the words of the answer, where there is one, all stand in the window
}

// reach puts one question.
func (r *compactionRun) reach(ctx context.Context, w *grown, q question) (a reached, err error) {
	expanded, err := r.expanded(ctx, w, q)
	if err != nil {
		return a, err
	}
	recalled, err := r.recalled(ctx, w, q)
	if err != nil {
		return a, err
	}
	for _, at := range q.gold {
		a.evidence++
		if w.shown[at] {
			a.window++
		}
		if w.shown[at] || expanded[at] {
			a.expanded++
		}
		if recalled[at] {
			a.recalled++
		}
	}
	terms := r.analyzer.QueryTokens(q.answer)
	a.asked, a.kept = len(terms) > 0, true
	for _, token := range terms {
		a.kept = a.kept && w.words[token.Term]
	}
	return a, nil
}

// expanded gives the positions of the turns that a question expands.
func (r *compactionRun) expanded(ctx context.Context, w *grown, q question) (map[int]bool, error) {
	found := map[int]bool{}
	result, err := r.engine.ExpandQuery(ctx, lookup.ExpandQueryRequest{Conversation: w.name, Prompt: q.text, TokenCap: r.config.Cap, Limit: 1000})
	if err != nil {
		return nil, err
	}
	for _, x := range result.Excerpts {
		found[w.positions[x.Message.ID]] = true
	}
	return found, nil
}

// shortTurn is what the turns of a talk have on average at least, in tokens, so that a recall is not ended by its limit before its tokens.
const shortTurn = 14

// recalled gives the positions of the turns that a plain recall finds, best first while there is room.
func (r *compactionRun) recalled(ctx context.Context, w *grown, q question) (map[int]bool, error) {
	mode := recall.LexicalMode
	if r.config.Embedder != nil {
		mode = recall.Hybrid
	}
	result, err := r.engine.Recall(ctx, recall.Query{Text: q.text, Mode: mode, Kinds: []kinds.Kind{kinds.Message},
		Conversations: []string{w.name}, Limit: min(max(walkLimit, r.config.Cap/shortTurn), 1000)})
	if err != nil {
		return nil, err
	}
	found, room := map[int]bool{}, r.config.Cap
	for _, hit := range result.Hits {
		if room -= w.tokens[hit.ID]; room < 0 {
			break
		}
		found[w.positions[hit.ID]] = true
	}
	return found, nil
}
