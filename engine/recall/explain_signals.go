package recall

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/mallardmem/mallard/engine/internal/duck"
)

// signalColumns are the columns of the table explained, beside doc_no.
var signalColumns = []struct {
	name string
	of   func(*Candidate) *float64
}{
	{"vector", func(v *Candidate) *float64 { return v.VectorScore }},
	{"lexical", func(v *Candidate) *float64 { return v.LexicalScore }},
	{"date", func(v *Candidate) *float64 { return v.DateScore }},
	{"speaker", func(v *Candidate) *float64 { return v.SpeakerScore }},
	{"reply", func(v *Candidate) *float64 { return v.ReplyScore }},
	{"answered", func(v *Candidate) *float64 { return v.AnsweredScore }},
	{"tells", func(v *Candidate) *float64 { return &v.Tells }},
	{"wish", func(v *Candidate) *float64 { return flag(v.Wishes) }},
	{"asks", func(v *Candidate) *float64 { return flag(v.Asks) }},
	{"relation", func(v *Candidate) *float64 { return v.RelationScore }},
	{"verbatim", func(v *Candidate) *float64 { return flag(v.Verbatim) }},
	{"fresh", func(v *Candidate) *float64 { return v.FreshScore }},
	{"fused", func(v *Candidate) *float64 { return &v.Fused }},
	{"cosine", func(v *Candidate) *float64 { return v.Cosine }},
	{"coverage", ofFeatures(func(f *Features) *float64 { return f.Coverage })},
	{"proximity", ofFeatures(func(f *Features) *float64 { return f.Proximity })},
	{"phrase", ofFeatures(func(f *Features) *float64 { return f.Phrase })},
	{"named", ofFeatures(func(f *Features) *float64 { return f.Name })},
	{"neighbour", ofFeatures(func(f *Features) *float64 { return f.Neighbour })},
	{"session_best", ofFeatures(func(f *Features) *float64 { return f.Session })},
}

// ofFeatures is one of the features of a candidate that has them.
func ofFeatures(of func(*Features) *float64) func(*Candidate) *float64 {
	return func(v *Candidate) *float64 {
		if v.Features == nil {
			return nil
		}
		return of(v.Features)
	}
}

func flag(set bool) *float64 {
	if set {
		return new(1.0)
	}
	return new(0.0)
}

// offer puts the signals of the candidates into the connection's table.
func (x *explanation) offer(ctx context.Context) error {
	args := []any{sql.Named("doc_nos", x.docNos)}
	for _, column := range signalColumns {
		values := make([]float64, len(x.docNos))
		for i, docNo := range x.docNos {
			values[i] = math.NaN() // the driver can't bind a list with a NULL in it
			if value := column.of(x.subject[docNo]); value != nil {
				values[i] = *value
			}
		}
		args = append(args, sql.Named(column.name, values))
	}
	_, err := x.c.ExecTemp(ctx, "explain_offer", args...)
	return err
}

func (x *explanation) readShares(ctx context.Context) error {
	return x.eachShare(ctx, "explain_shares", func(docNo int32, s Share) { x.made[docNo].Shares = append(x.made[docNo].Shares, s) })
}

// readFeatures reads what each feature brought, of the documents that were reranked by them.
func (x *explanation) readFeatures(ctx context.Context) error {
	if !slices.ContainsFunc(x.docNos, func(docNo int32) bool { return x.subject[docNo].Features != nil }) {
		return nil
	}
	return x.eachShare(ctx, "explain_features", func(docNo int32, s Share) {
		if x.subject[docNo].Features != nil {
			x.made[docNo].Features = append(x.made[docNo].Features, s)
		}
	})
}

func (x *explanation) eachShare(ctx context.Context, name string, add func(docNo int32, s Share)) error {
	return x.c.Each(ctx, name, func(rows *sql.Rows) error {
		var docNo int32
		var n int
		var s Share
		if err := rows.Scan(&docNo, &n, &s.Name, &s.Value, &s.Weight, &s.Points); err != nil {
			return err
		}
		add(docNo, s)
		return nil
	})
}

func (x *explanation) readDates(ctx context.Context) error {
	periods := x.occurrences()
	return x.c.Each(ctx, "explain_dates", func(rows *sql.Rows) error {
		var docNo int32
		var n int
		var d DateFit
		if err := rows.Scan(&docNo, &n, &d.At, &d.Days); err != nil {
			return err
		}
		p := periods[n-1]
		d.Phrase, d.From, d.Until = p.Phrase, p.From, p.Until
		x.made[docNo].Date = &d
		return nil
	})
}

// readSpeakers finds out whom the question names in each conversation: it is who said the candidates that fit.
func (x *explanation) readSpeakers(ctx context.Context) error {
	var fitting []int32
	for _, v := range x.candidates {
		if v.SpeakerScore != nil && *v.SpeakerScore == 1 {
			fitting = append(fitting, v.DocNo)
		}
	}
	if fitting == nil {
		return nil
	}
	asked := map[string]string{}
	err := x.c.Each(ctx, "explain_named", func(rows *sql.Rows) error {
		var conversation, speaker string
		err := rows.Scan(duck.TextOf(&conversation), duck.TextOf(&speaker))
		asked[conversation] = speaker
		return err
	}, sql.Named("doc_nos", fitting))
	for docNo, v := range x.subject {
		if v.SpeakerScore != nil {
			x.made[docNo].Speaker = &Speaker{cmp.Or(x.shown[docNo].Speaker, x.shown[docNo].Role), asked[x.shown[docNo].ConversationID]}
		}
	}
	return err
}

// readAlike finds, for what was deferred, the most similar document that stays before it.
func (x *explanation) readAlike(ctx context.Context) error {
	var deferred, kept []int32
	for _, docNo := range x.docNos {
		if x.subject[docNo].Deferred {
			deferred = append(deferred, docNo)
		}
	}
	if deferred == nil {
		return nil
	}
	score := map[int32]float64{}
	for _, v := range x.candidates {
		if !v.Deferred && (v.Dropped == "" || v.Dropped == "limit") {
			kept, score[v.DocNo] = append(kept, v.DocNo), v.Decayed
		}
	}
	like := map[int32]int32{}
	err := x.c.Each(ctx, "explain_alike", func(rows *sql.Rows) error {
		var docNo, other int32
		var a Alike
		if err := rows.Scan(&docNo, &other, &a.Cosine); err != nil {
			return err
		}
		if _, found := like[docNo]; !found && score[other] >= x.subject[docNo].Decayed {
			x.made[docNo].Alike, like[docNo] = &a, other
		}
		return nil
	}, sql.Named("deferred", deferred), sql.Named("kept", kept))
	if err != nil {
		return err
	}
	others := make([]int32, 0, len(like))
	for _, other := range like {
		others = append(others, other)
	}
	err = x.load(ctx, others)
	for docNo, other := range like {
		x.made[docNo].Alike.ID = x.shown[other].ID
	}
	return err
}
