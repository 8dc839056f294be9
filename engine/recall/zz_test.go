package recall_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
	"math/rand/v2"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

func TestZZTime(t *testing.T) {
	if os.Getenv("ZZ") == "" {
		t.Skip()
	}
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	rng := rand.New(rand.NewPCG(5, 5))
	many := make([]memory.RememberRequest, 1000)
	for i := range many {
		many[i].Text = enginetest.Sentence(rng) + enginetest.Sentence(rng)
	}
	if _, err := e.RememberMany(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	for _, resident := range []bool{false, true} {
		enginetest.Index(e).AskFile(!resident)
		if resident {
			enginetest.Index(e).AwaitResident(t.Context())
		}
		times := []time.Duration{}
		
		for i := range 150 {
			if i == 20 {
				
				times = times[:0]
			}
			began := time.Now()
			r, err := e.Recall(t.Context(), recall.Query{Text: enginetest.Sentence(rng)})
			if err != nil || r.Trace.Resident != resident {
				t.Fatal(err, r.Trace.Resident)
			}
			times = append(times, time.Since(began))
		}
		slices.Sort(times)
		fmt.Println("resident", resident, "p50", times[len(times)/2], "min", times[0])
	}
}
