package main

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/embed/hugot"
	"github.com/mallardmem/mallard/embed/onnx/onnxtest"
	"github.com/mallardmem/mallard/engine/enginetest"
)

// TestRuntimesAgree holds a folder's vectors to be the same whatever runs its graph, so that a file written with one runtime is read
// with the other.
func TestRuntimesAgree(t *testing.T) {
	dir := onnxtest.Folder(t, "hugot is not compared with ONNX Runtime")
	native := onnxtest.MiniLM(t, "hugot is not compared with ONNX Runtime")
	pure, err := hugot.Open(dir, hugot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pure.Close()
	if native.Model() != pure.Model() || native.Dims() != pure.Dims() || native.Fingerprint() != pure.Fingerprint() {
		t.Errorf("ONNX Runtime gives %s %d %s, hugot %s %d %s: want the same", native.Model(), native.Dims(), native.Fingerprint(),
			pure.Model(), pure.Dims(), pure.Fingerprint())
	}
	texts := agreeingTexts()
	want, err := native.EmbedTexts(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pure.EmbedTexts(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	var worst float64
	for i := range want {
		for j := range want[i] {
			if d := math.Abs(float64(want[i][j] - got[i][j])); d > 1e-4 {
				t.Errorf("%.60q: %g apart in dimension %d", texts[i], d, j)
				break
			} else {
				worst = max(worst, d)
			}
		}
	}
	t.Logf("%d texts, at most %g apart", len(texts), worst)
}

// agreeingTexts are of many lengths, scripts and sorts; if the test is not long, a third of those that are made of the same words.
func agreeingTexts() []string {
	texts := []string{
		"", "?", "ok", "Hello, World!", "Zoë's café in Zürich costs 25 €.", "東京 is not Kyoto", "Привет, мир", "مرحبا بالعالم", "e\u0301e\u0301",
		"def add(a, b): return a + b", "https://example.org/a_b?x=1#top", "👋 hi 👩\u200d💻", "line one\nline two\ttabbed", "\xff\xfe\x00", "\u3000\u2028",
		"[SEP] inside [MASK]", "antidisestablishmentarianism", strings.Repeat("x", 300), strings.Repeat("How long is a rope? ", 60),
	}
	who := []string{"the ferryman", "Ines", "a retired pilot", "our auditor", "nobody in the village", "the night shift"}
	what := []string{"repaired", "sold on 3 May 2024", "was afraid of", "has never seen", "counts, every evening,", "wrote home about"}
	whom := []string{"the lighthouse.", "two grey geese!", "invoice #4711", "the frozen canal behind the old sugar factory?", "v1.2.3", "it"}
	for i, a := range who {
		for j, b := range what {
			for k, c := range whom {
				if n := i + j + k; n%2 == 0 && (n%3 == 0 || enginetest.Long("models")) {
					texts = append(texts, fmt.Sprintf("%s %s %s", a, b, c), fmt.Sprintf("%s: %s, %s", c, a, b))
				}
			}
		}
	}
	return texts
}
