package probe

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/mallardmem/mallard/embed/wordpiece"
)

// Embedder is what is asked for vectors.
type Embedder interface {
	Model() string
	Dims() int
	EmbedTexts(ctx context.Context, texts []string) ([][]float32, error)
	EmbedQuery(ctx context.Context, text string, weight func(word string) float64) ([]float32, error)
}

// Expected is what is known of a model from elsewhere; zero values are not known.
type Expected struct {
	Dims           int
	Pooling        string // mean, cls or max
	Tokens         int
	Query, Passage string // prefixes
	Known          bool   // false: of this model nothing is known, and empty prefixes say nothing
	Reference      []Reference
}

// Tolerances: what the same model may differ by in another program, in the same program among other texts, and as another graph, with smaller numbers.
const (
	ofPrograms  = 1e-3
	ofBatches   = 1e-4
	ofQuantised = 0.2
)

// embeddingProbe is one run on its way.
type embeddingProbe struct {
	Report
	model     Embedder
	expected  Expected
	quantised bool // another graph than the folder's own: what it gives is only near that
}

// Embedding probes an embedding model. Folder is what its files say, nil where it has none. An error is the context's, or the model's own where it gives no
// vectors at all.
func Embedding(ctx context.Context, m Embedder, folder *wordpiece.SentenceModel, expected Expected) (*Report, error) {
	p := &embeddingProbe{model: m, Report: Report{Model: m.Model(), Kind: "embedding", Dims: m.Dims()}, expected: expected, quantised: strings.Contains(m.Model(), "/")}
	if folder != nil {
		p.files(folder)
	}
	for _, step := range []func(context.Context) error{p.vectors, p.reference, p.meaning, p.odd, p.questions} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Model(), err)
		}
	}
	var err error
	p.PerSecondOne, p.PerSecondMany, err = speed(ctx, func(texts []string) error { _, err := m.EmbedTexts(ctx, texts); return err })
	return &p.Report, err
}

// files looks at what the folder's files say.
func (p *embeddingProbe) files(folder *wordpiece.SentenceModel) {
	e := p.expected
	if e.Pooling != "" {
		p.add("pooling", judge(string(folder.Pooling) == e.Pooling, Wrong), e.Pooling, "%s", folder.Pooling)
	}
	if e.Tokens > 0 {
		p.add("length", judge(folder.MaxTokens == e.Tokens, Note), fmt.Sprintf("texts are cut to %d tokens", e.Tokens), "%d", folder.MaxTokens)
	}
	query, passage := folder.Prefixes()
	if e.Known {
		p.add("prefixes", judge(query == e.Query && passage == e.Passage, Wrong), fmt.Sprintf("%q before questions, %q before texts", e.Query, e.Passage), "%q, %q", query, passage)
	} else {
		p.add("prefixes", Skipped, "", "%q before questions, %q before texts", query, passage)
	}
	unknown, all := 0, 0
	var encoding wordpiece.Encoding
	for _, text := range said().Plain {
		folder.Tokenizer.Tokenize(&encoding, text, 0)
		for _, id := range encoding.IDs {
			all++
			if id == folder.Tokenizer.Unknown() {
				unknown++
			}
		}
	}
	p.add("tokenizer", judge(unknown == 0, Wrong), "no token of plain English is unknown", "%d of %d unknown", unknown, all)
}

// vectors looks at what every vector has to be.
func (p *embeddingProbe) vectors(ctx context.Context) error {
	texts := said().Plain
	together, err := p.model.EmbedTexts(ctx, texts)
	if err != nil {
		return err
	}
	if len(together) != len(texts) {
		p.add("one vector per text", Wrong, fmt.Sprint(len(texts)), "%d", len(together))
		return nil
	}
	dims := p.Dims
	if p.expected.Dims > 0 {
		dims = p.expected.Dims
	}
	fits, length := true, 0.0
	for _, v := range together {
		fits = fits && len(v) == dims && p.Dims == dims
		var square float64
		for _, x := range v {
			square += float64(x) * float64(x)
		}
		length = worse(length, math.Abs(math.Sqrt(square)-1))
	}
	p.add("dimensions", judge(fits, Wrong), fmt.Sprint(dims), "%d, in vectors of %d", p.Dims, len(together[0]))
	p.add("unit length", judge(length <= 1e-3, Wrong), "1", "at most %.2g off", length)
	again, err := p.model.EmbedTexts(ctx, texts)
	if err != nil {
		return err
	}
	var repeated, alone, nearest float64
	nearest = -1
	for i, text := range texts {
		single, err := p.model.EmbedTexts(ctx, []string{text})
		if err != nil {
			return err
		}
		repeated, alone = worse(repeated, apart(together[i], again[i])), worse(alone, apart(together[i], single[0]))
		for j := range i {
			nearest = max(nearest, cosine(together[i], together[j]))
		}
	}
	among := Wrong
	if p.quantised {
		among = Note // numbers of eight bits are scaled by the whole batch
	}
	p.add("repeatable", judge(repeated <= 1e-6, Wrong), "the same vector each time", "at most %.2g off", repeated)
	p.add("batches", judge(alone <= ofBatches, among), "the same vector alone and among others", "at most %.2g off", alone)
	same := judge(nearest < 0.98, Note)
	if nearest > 1-1e-6 {
		same = Wrong
	}
	p.add("tells texts apart", same, "cosines of unlike texts below 0.98", "at most %.4f", nearest)
	return nil
}

// reference compares with what another program made.
func (p *embeddingProbe) reference(ctx context.Context) error {
	var most float64
	n := 0
	for _, r := range p.expected.Reference {
		switch {
		case r.Vector != nil:
			v, err := p.model.EmbedTexts(ctx, []string{r.Text})
			if err != nil {
				return err
			}
			most = worse(most, apart(v[0], r.Vector))
		case r.Cosine != nil:
			v, err := p.model.EmbedTexts(ctx, []string{r.A, r.B})
			if err != nil {
				return err
			}
			most = worse(most, math.Abs(cosine(v[0], v[1])-*r.Cosine))
		default:
			continue
		}
		n++
	}
	if n == 0 {
		p.add("reference", Skipped, "", "none is known of this model; bring one with --reference")
		return nil
	}
	wanted := ofPrograms
	if p.quantised {
		wanted = ofQuantised
	}
	p.add("reference", judge(most <= wanted, Wrong), fmt.Sprintf("at most %g off; more is another model, tokenizer or pooling", wanted), "%d known values, at most %.2g off", n, most)
	p.Checks[len(p.Checks)-1].ByOthers = true
	return nil
}

// meaning looks whether what says the same is nearer than what does not, by language.
func (p *embeddingProbe) meaning(ctx context.Context) error {
	var languages []string
	right, all := map[string]int{}, map[string]int{}
	for _, m := range said().Meaning {
		v, err := p.model.EmbedTexts(ctx, []string{m.Text, m.Same, m.Other})
		if err != nil {
			return err
		}
		if all[m.Language]++; all[m.Language] == 1 {
			languages = append(languages, m.Language)
		}
		if cosine(v[0], v[1]) > cosine(v[0], v[2]) {
			right[m.Language]++
		}
	}
	for _, language := range languages {
		status := judge(right[language] == all[language], Note)
		if language == "English" && right[language]*2 <= all[language] {
			status = Wrong
		}
		p.add("meaning, "+language, status, "a paraphrase is nearer than a stranger", "%d of %d", right[language], all[language])
	}
	return nil
}

// odd looks whether hostile texts have vectors like any other.
func (p *embeddingProbe) odd(ctx context.Context) error {
	bad := 0
	var first string
	for _, text := range said().Odd {
		v, err := p.model.EmbedTexts(ctx, []string{text})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || len(v) != 1 || len(v[0]) != p.Dims || !(math.Abs(cosine(v[0], v[0])-1) < 1e-3) {
			if bad++; bad == 1 {
				first = fmt.Sprintf("; the first is %.30q: %v", text, err)
			}
		}
	}
	p.add("odd texts", judge(bad == 0, Wrong), "empty, very long, broken or foreign texts have vectors too", "%d of %d have none%s", bad, len(said().Odd), first)
	folded, err := p.model.EmbedTexts(ctx, []string{"Zoë went to Tórshavn", "zoe went to torshavn", "Zoe Went To Torshavn"})
	if err != nil {
		return err
	}
	p.add("case and accents", OK, "", "cosine %.3f without accents, %.3f in other case", cosine(folded[0], folded[1]), cosine(folded[1], folded[2]))
	return nil
}

// questions looks whether a question finds its answer.
func (p *embeddingProbe) questions(ctx context.Context) error {
	right, all := 0, 0
	for _, q := range said().Questions {
		if q.Language != "English" {
			continue
		}
		asked, err := p.model.EmbedQuery(ctx, q.Question, nil)
		if err != nil {
			return err
		}
		v, err := p.model.EmbedTexts(ctx, []string{q.Answer, q.Other})
		if err != nil {
			return err
		}
		if all++; cosine(asked, v[0]) > cosine(asked, v[1]) {
			right++
		}
	}
	status := judge(right == all, Note)
	if right*2 <= all {
		status = Wrong
	}
	p.add("questions", status, "an answer is nearer to its question than a stranger", "%d of %d", right, all)
	return nil
}
