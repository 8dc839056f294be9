package distill

import (
	"runtime"
	"sync"
)

// matrix is dense, row by row. Sums run in float32 and always in the same
// order, so that a run can be repeated to the bit.
type matrix struct {
	rows, cols int
	data       []float32
}

func newMatrix(rows, cols int) matrix { return matrix{rows, cols, make([]float32, rows*cols)} }

func (m matrix) row(i int) []float32 { return m.data[i*m.cols : (i+1)*m.cols] }

// bags is a sparse matrix: for each row some tokens, each with a share.
type bags struct {
	cols   int
	starts []int // one more than rows
	tokens []int32
	shares []float32
}

func (b *bags) rows() int { return len(b.starts) - 1 }

func (b *bags) row(i int) ([]int32, []float32) {
	from, to := b.starts[i], b.starts[i+1]
	return b.tokens[from:to], b.shares[from:to]
}

func (b *bags) transpose() *bags {
	t := &bags{cols: b.rows(), starts: make([]int, b.cols+1), tokens: make([]int32, len(b.tokens)), shares: make([]float32, len(b.shares))}
	for _, token := range b.tokens {
		t.starts[token+1]++
	}
	for i := range b.cols {
		t.starts[i+1] += t.starts[i]
	}
	next := append([]int(nil), t.starts...)
	for i := range b.rows() {
		tokens, shares := b.row(i)
		for k, token := range tokens {
			t.tokens[next[token]], t.shares[next[token]] = int32(i), shares[k]
			next[token]++
		}
	}
	return t
}

// times sets out to b·x.
func (b *bags) times(x, out matrix) {
	parallel(b.rows(), func(i int) {
		to := out.row(i)
		clear(to)
		tokens, shares := b.row(i)
		for k, token := range tokens {
			add(to, shares[k], x.row(int(token)))
		}
	})
}

// add adds scale·x to y.
func add(y []float32, scale float32, x []float32) {
	x = x[:len(y)]
	for j := range y {
		y[j] += scale * x[j]
	}
}

// parallel calls do for 0 to n-1, in blocks, on all cores.
func parallel(n int, do func(i int)) {
	const block = 256
	var group sync.WaitGroup
	work := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for from := range work {
				for i := from; i < min(from+block, n); i++ {
					do(i)
				}
			}
		})
	}
	for from := 0; from < n; from += block {
		work <- from
	}
	close(work)
	group.Wait()
}
