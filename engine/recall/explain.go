package recall

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// Explanation says why a document has the score it has.
type Explanation struct {
	Words      []HitWord   `json:"words"`              // of the question, that it or its neighbours have; by Points
	Neighbours []Neighbour `json:"neighbours"`         // what was said around it and counts with it, in that order
	Speaker    *Speaker    `json:"speaker,omitempty"`  // nil: the question names nobody, or several
	Date       *DateFit    `json:"date,omitempty"`     // nil: the question names none
	Reply      *Neighbour  `json:"reply,omitempty"`    // the question just before, which it may answer
	Alike      *Alike      `json:"alike,omitempty"`    // the better document for whose sake it was deferred
	Shares     []Share     `json:"shares"`             // add up to Candidate.Fused
	Features   []Share     `json:"features,omitempty"` // add up to Candidate.Reranked, where features reranked it; the first is the fused score
}

// Share is what one signal brings into the fused score. Names are those of the weights, and "cap" for what the bounds 0 and 1 of
// the sum changed.
type Share struct {
	Name   string   `json:"name"`
	Value  *float64 `json:"value,omitempty"` // 0 to 1; nil: not known, which counts as 0
	Weight float64  `json:"weight"`          // the most it can bring; below 0 the most it can take
	Points float64  `json:"points"`          // Value * Weight; of a cap, what makes the sum right
}

// QuestionWord is a word that the index was asked.
type QuestionWord struct {
	Word      string  `json:"word"` // as written, folded
	Term      string  `json:"term"` // as indexed
	Documents int     `json:"documents"`
	Of        int     `json:"of"`     // documents asked, of which Documents have it
	Rarity    string  `json:"rarity"` // nowhere, rare, uncommon, common or everywhere
	Share     float64 `json:"share"`  // its idf by the greatest there can be, 0 to 1
}

// HitWord is such a word in a document.
type HitWord struct {
	QuestionWord
	Frequency float64  `json:"frequency"`         // in the document itself, of which longer texts count half
	Near      float64  `json:"near"`              // with neighbours and related words, as they count
	Through   []string `json:"through,omitempty"` // related words that stand for it, as written where they stand
	Points    float64  `json:"points"`            // of Candidate.Raw
}

// Neighbour is a document beside another.
type Neighbour struct {
	ID      string   `json:"id"`
	Step    int      `json:"step"`  // -2 to 2
	Share   float64  `json:"share"` // of its words and its vector in what is scored
	Speaker string   `json:"speaker,omitempty"`
	Snippet string   `json:"snippet"` // the part that has most of the question's words
	Cosine  *float64 `json:"cosine,omitempty"`
	Raw     *float64 `json:"bm25,omitempty"` // of its own

	docNo int32
}

// Speaker compares who said a document with whom the question names.
type Speaker struct {
	Name  string `json:"name"`
	Asked string `json:"asked"`
}

// DateFit compares the time of a document with the period of the question that is nearest to it.
type DateFit struct {
	Phrase string    `json:"phrase"` // of the question
	From   time.Time `json:"from"`
	Until  time.Time `json:"until"`
	At     time.Time `json:"at"`   // when it was said, or when what it says began
	Days   float64   `json:"days"` // between both; 0: within
}

// Alike is a better document that says nearly the same.
type Alike struct {
	ID     string  `json:"id"`
	Cosine float64 `json:"cosine"`
}

// explanation is the work of explaining one recall, on the recall's connection and in its transaction.
type explanation struct {
	*recall
	c       *duck.Conn
	docNos  []int32 // of what is explained
	subject map[int32]*Candidate
	made    map[int32]*Explanation
	shown   map[int32]Hit // these, and what the explanations speak of
}

// explain says why the hits are hits, and why the document that is missed is none, as far as that was asked.
func (r *recall) explain(ctx context.Context, c *duck.Conn) (err error) {
	if !r.query.explains() {
		return nil
	}
	r.step = "explain"
	x := &explanation{recall: r, c: c, subject: map[int32]*Candidate{}, made: map[int32]*Explanation{}, shown: map[int32]Hit{}}
	var missed *missed
	if r.query.WhyNot != "" {
		missed, err = x.find(ctx)
		if errors.Is(err, fault.ErrNotFound) && r.result.Trace.Past {
			r.result.WhyNot, err = x.findNow(ctx)
		}
		if err != nil {
			return err
		}
	}
	if err := x.prepare(ctx, missed); err != nil {
		return err
	}
	if r.query.Explain {
		for _, h := range r.result.Hits {
			x.add(h.Signals)
		}
	}
	if missed != nil {
		if i := slices.IndexFunc(r.candidates, func(v Candidate) bool { return v.DocNo == missed.docNo }); i >= 0 {
			x.add(r.candidates[i])
			if last := x.last(&r.candidates[i]); last != nil {
				x.add(*last)
			}
		}
	}
	if err := x.describe(ctx); err != nil {
		return err
	}
	if r.query.Explain {
		for i, h := range r.result.Hits {
			r.result.Hits[i].Explanation = x.made[h.Signals.DocNo]
		}
	}
	if missed != nil {
		if r.result.WhyNot, err = x.whyNot(ctx, missed); err != nil {
			return err
		}
	}
	return c.ExecTempDDL(ctx, sqlfiles.Query("explain_clear"))
}

// explains reports whether all candidates are wanted, to speak of them.
func (q Query) explains() bool { return q.Explain || q.WhyNot != "" }

func (x *explanation) add(v Candidate) {
	if x.subject[v.DocNo] == nil {
		x.subject[v.DocNo], x.made[v.DocNo] = &v, &Explanation{Words: []HitWord{}, Neighbours: []Neighbour{}}
		x.docNos = append(x.docNos, v.DocNo)
	}
}

// prepare fills the tables of the connection that explanations are made from.
func (x *explanation) prepare(ctx context.Context, missed *missed) error {
	if x.result.Trace.Resident { // the file was not asked yet
		if err := x.askFile(ctx, x.c); err != nil {
			return err
		}
	}
	if err := x.c.MakeTables(ctx, "explain_tables"); err != nil {
		return err
	}
	docNo := int32(0)
	if missed != nil {
		docNo = missed.docNo
	}
	if _, err := x.c.ExecTemp(ctx, "explain_sift", sql.Named("missed", docNo)); err != nil {
		return err
	}
	if _, err := x.c.ExecTemp(ctx, "explain_hits"); err != nil {
		return err
	}
	_, err := x.c.ExecTemp(ctx, "explain_meant")
	return err
}

// describe fills in all parts of the explanations.
func (x *explanation) describe(ctx context.Context) error {
	if err := x.readQuestion(ctx); err != nil || len(x.docNos) == 0 {
		return err
	}
	if err := x.load(ctx, x.docNos); err != nil {
		return err
	}
	for _, read := range []func(context.Context) error{x.offer, x.readShares, x.readFeatures, x.readDates, x.readSpeakers, x.readAlike, x.readNeighbours, x.readWords} {
		if err := read(ctx); err != nil {
			return err
		}
	}
	return nil
}

// load reads what is shown of documents, in full.
func (x *explanation) load(ctx context.Context, docNos []int32) error {
	hits, err := hitsOf(ctx, x.c, kinds.All(), docNos, memory.Full)
	maps.Copy(x.shown, hits)
	return err
}
