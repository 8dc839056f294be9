package bench

import (
	"math/rand/v2"
	"slices"
)

const (
	resamples = 10_000
	// bootstrapSeed makes two calls over the same answers agree.
	bootstrapSeed = 1
)

// Interval is the difference of each figure between two runs over the same questions, and the bounds that hold 95 % of it.
type Interval struct {
	Difference Figures `json:"difference"`
	Low        Figures `json:"low"`
	High       Figures `json:"high"`
}

// difference is what each figure of other is above that of base, with an interval by paired bootstrap (Efron and Tibshirani,
// 1993, chapter 13): questions are drawn anew, with replacement, as many as there are, 10,000 times, and the middle 95 % of the
// mean differences are kept. Of several data sets each has its questions drawn by itself, and counts the same. Both are answers to the same
// questions in the same order.
func difference(base, other []Answer) Interval {
	var paired [][][]float64 // by data set, then question, then figure
	others := byData(other)
	for n, part := range byData(base) {
		rows := make([][]float64, len(part))
		for i := range part {
			b, o := part[i].figures(), others[n][i].figures()
			for j, value := range o.values() {
				rows[i] = append(rows[i], *value-*b.values()[j])
			}
		}
		paired = append(paired, rows)
	}
	result := Interval{Difference: Figures{Questions: len(base)}, Low: Figures{Questions: len(base)}, High: Figures{Questions: len(base)}}
	mean, low, high := bootstrap(paired...)
	for j := range mean {
		*result.Difference.values()[j], *result.Low.values()[j], *result.High.values()[j] = mean[j], low[j], high[j]
	}
	return result
}

// bootstrap gives the mean of every column over some tables, of which each counts the same, and the bounds of its 95 % interval; nothing of no
// tables. No table is without rows.
func bootstrap(tables ...[][]float64) (mean, low, high []float64) {
	if len(tables) == 0 {
		return nil, nil, nil
	}
	means := func(drawn func(rows [][]float64, i int) []float64) []float64 {
		sum := make([]float64, len(tables[0][0]))
		for _, rows := range tables {
			for i := range rows {
				for j, x := range drawn(rows, i) {
					sum[j] += x / float64(len(rows)) / float64(len(tables))
				}
			}
		}
		return sum
	}
	mean = means(func(rows [][]float64, i int) []float64 { return rows[i] })
	random := rand.New(rand.NewPCG(bootstrapSeed, 0))
	drawn := make([][]float64, len(mean)) // by column, then resample
	for range resamples {
		for j, x := range means(func(rows [][]float64, _ int) []float64 { return rows[random.IntN(len(rows))] }) {
			drawn[j] = append(drawn[j], x)
		}
	}
	for _, column := range drawn {
		slices.Sort(column)
		low = append(low, column[resamples*25/1000])
		high = append(high, column[resamples*975/1000-1])
	}
	return mean, low, high
}
