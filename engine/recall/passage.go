package recall

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/resident"
	"github.com/mallardmem/mallard/engine/text"
)

// Passage is the stretch of a long text that fits the question best.
type Passage struct {
	Start int    `json:"start"` // bytes of Hit.Text
	End   int    `json:"end"`
	Text  string `json:"text"` // Hit.Text[Start:End] without the white space around it
}

// Shown is what a reader needs of a hit: its passage, with … where more of the text is, or else the text.
func (h Hit) Shown() string { return h.Passage.Of(h.Text) }

// Of gives the passage of a text, with … on the sides where that goes on; the text, where there is none.
func (p *Passage) Of(whole string) string {
	if p == nil {
		return whole
	}
	shown := p.Text
	if strings.TrimSpace(whole[:p.Start]) != "" {
		shown = "…" + shown
	}
	if strings.TrimSpace(whole[p.End:]) != "" {
		shown += "…"
	}
	return shown
}

// showPassages chooses a passage of every long hit: by the words of the question that it has, as rare as they are, and by its cosine where that is
// known, as the weights of both channels say. The first of equal ones is taken, and the first of all where nothing speaks for any.
func (r *recall) showPassages(ctx context.Context, c *duck.Conn) error {
	r.step = "passages"
	passages := make([][]text.Passage, len(r.result.Hits))
	var docNos []int32
	for i, h := range r.result.Hits {
		lead := len(h.Text) - len(strings.TrimLeft(h.Text, " \t\r\n")) // what is embedded begins without
		if passages[i] = text.Passages(h.Text[lead:]); passages[i] == nil {
			continue
		}
		docNos = append(docNos, h.Signals.DocNo)
		for j := range passages[i] {
			passages[i][j].Start += lead
			passages[i][j].End += lead
		}
	}
	if docNos == nil {
		return nil
	}
	cosines, err := r.passageCosines(ctx, c, docNos)
	if err != nil {
		return err
	}
	worth := r.termWorths()
	for i := range r.result.Hits {
		if passages[i] == nil {
			continue
		}
		h := &r.result.Hits[i]
		lead := int32(passages[i][0].Start)
		byWords, byMeaning := make([]float64, len(passages[i])), make([]float64, len(passages[i]))
		var mostWords, mostMeaning float64
		for j, p := range passages[i] {
			if len(worth) > 0 {
				byWords[j] = r.wordsOf(h.Text[p.Start:p.End], worth)
			}
			byMeaning[j] = cosines[passageAt{h.Signals.DocNo, int32(p.Start) - lead}]
			mostWords, mostMeaning = max(mostWords, byWords[j]), max(mostMeaning, byMeaning[j])
		}
		best, most := 0, 0.0
		for j := range passages[i] {
			var score float64
			if mostWords > 0 {
				score += r.weights.Lexical * byWords[j] / mostWords
			}
			if mostMeaning > 0 {
				score += r.weights.Vector * max(byMeaning[j], 0) / mostMeaning
			}
			if score > most+1e-9 {
				best, most = j, score
			}
		}
		p := passages[i][best]
		h.Passage = &Passage{p.Start, p.End, strings.TrimSpace(h.Text[p.Start:p.End])}
	}
	return nil
}

// passageAt is where a passage begins in what is embedded of a document.
type passageAt struct{ docNo, start int32 }

// passageCosines gives the cosines of the passages of documents, as far as they have vectors.
func (r *recall) passageCosines(ctx context.Context, c *duck.Conn, docNos []int32) (map[passageAt]float64, error) {
	cosines := map[passageAt]float64{}
	if r.question.vector == nil {
		return cosines, nil
	}
	if r.result.Trace.Resident {
		ok, err := r.recaller.index.Resident(func() error { return nil }, func(x *resident.Index) error {
			if r.recaller.index.ResidentModel() != r.model {
				return errNoVectors
			}
			for _, p := range x.Passages(docNos, r.question.vector) {
				cosines[passageAt{p.No, p.Start}] = p.Cosine
			}
			return nil
		})
		if (ok || err != nil) && !errors.Is(err, errNoVectors) {
			return cosines, err
		}
	}
	c.List(docNos)
	return cosines, c.Each(ctx, "recall_passages", func(rows *sql.Rows) error {
		var at passageAt
		var cosine float64
		err := rows.Scan(&at.docNo, &at.start, &cosine)
		cosines[at] = cosine
		return err
	}, sql.Named("v", r.question.vector))
}

// termWorths gives what each term that is looked up, or is related to one, says of a passage that has it.
func (r *recall) termWorths() map[string]float64 {
	q, worths := &r.question, map[string]float64{}
	if !q.byWords {
		return worths
	}
	for _, t := range q.asked {
		if t.share > 0 {
			worths[t.term] = max(worths[t.term], t.share*max(q.rarity(q.sources[t.word]), 1e-6))
		}
	}
	return worths
}

// wordsOf is what the terms of a text are worth, each less the more often it stands there.
func (r *recall) wordsOf(s string, worths map[string]float64) (sum float64) {
	frequency := map[string]float64{}
	for _, token := range r.recaller.index.Analyzer.Tokens(s) {
		if worths[token.Term] > 0 {
			frequency[token.Term]++
		}
	}
	for term, n := range frequency {
		sum += worths[term] * 2 * n / (n + 1)
	}
	return sum
}
