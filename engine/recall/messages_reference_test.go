package recall_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/setup"
	"github.com/mallardmem/mallard/engine/text"
	"github.com/mallardmem/mallard/engine/text/dates"
)

// transcripts is a second, plain implementation in Go of what recall gathers: documents with their neighbours, and the signals of each.
type transcripts struct {
	analyzer *text.Analyzer
	related  setup.Related
	told     []*told
	last     map[string]*told // of a conversation, or of the source of memories
}

// told is a document as the second implementation knows it.
type told struct {
	kind                 kinds.Kind
	id, conversation     string
	scope, host, speaker string // host: the host's session
	role                 string
	said                 time.Time // or true from
	created              time.Time
	session, place       int // the session is numbered like its first document
	tf                   map[string]float64
	length, tells        float64
	characters           float64
	embedded             string
	asks, endsAsking     bool
	wishes               bool
}

func newTalk(t testing.TB, related setup.Related) *transcripts {
	t.Helper()
	analyzer, err := text.NewAnalyzer("english")
	if err != nil {
		t.Fatal(err)
	}
	return &transcripts{analyzer: analyzer, related: related, last: map[string]*told{}}
}

// add takes in a document after all others, and gives it its place: last is what it may follow.
func (k *transcripts) add(d *told, follows func(last *told) bool, source, written string, fields map[string]float64) {
	d.session, d.tf = len(k.told), map[string]float64{}
	if last := k.last[source]; last != nil && source != "" && follows(last) {
		d.session, d.place = last.session, last.place+1
	}
	k.last[source] = d
	for field, weight := range fields {
		for _, token := range k.analyzer.Tokens(field) {
			d.tf[token.Term] += weight
			d.length += weight
		}
	}
	d.characters, d.tells = float64(utf8.RuneCountInString(written)), float64(k.analyzer.Tells(written))
	d.wishes = d.role != "assistant" && text.Wishes(written)
	d.asks, d.endsAsking = strings.Contains(written, "?"), strings.HasSuffix(written, "?")
	k.told = append(k.told, d)
}

func (k *transcripts) addMessage(conversation, id string, m conversation.Message) {
	d := &told{kind: kinds.Message, id: id, conversation: conversation, scope: "global", host: m.Session, speaker: m.Speaker, role: cmp.Or(m.Role, "user"), said: m.SaidAt, created: m.SaidAt,
		embedded: strings.TrimSpace(m.Text + " " + m.Caption)}
	follows := func(last *told) bool { return last.host == m.Session && m.SaidAt.Sub(last.said).Abs() <= 6*time.Hour }
	k.add(d, follows, "conversation "+conversation, m.Text, map[string]float64{m.Speaker + " \n " + m.SaidAt.Format("2 January 2006") + " \n " + m.Text + " \n " + m.Caption: 1})
}

func (k *transcripts) addMemory(m *memory.Memory) {
	d := &told{kind: kinds.Memory, id: m.ID, scope: m.Scope, said: m.ValidFrom, created: m.CreatedAt, embedded: m.Text}
	if m.L2 != "" {
		d.embedded = m.Level(memory.Abstract) + " " + m.L2
	}
	source := ""
	if m.SourceSession != "" {
		source = "source " + m.Scope + " " + m.SourceSession
	}
	k.add(d, func(*told) bool { return true }, source, m.Text, map[string]float64{m.Text + " \n " + m.L0: 1, m.L1 + " \n " + m.L2: 0.5})
}

// reckoning is one recall of the second implementation, with all weights but the one that is left out.
type reckoning struct {
	*transcripts
	q       recall.Query
	w       recall.Weights
	without string

	counted  []*told
	eligible []*told
	asked    []word
	cosine   map[*told]float64 // nil: no vector is asked
}

// word is a word of the question: its own term, and related ones.
type word struct {
	shares  map[string]float64 // by term
	idf     map[kinds.Kind]float64
	average map[kinds.Kind]float64
}

// reckon gives the signals of every candidate.
func (k *transcripts) reckon(t testing.TB, q recall.Query, without string) map[string]recall.Candidate {
	t.Helper()
	r := &reckoning{transcripts: k, q: q, w: *q.Weights, without: without}
	for _, d := range k.told {
		isAsked := slices.Contains(q.Kinds, d.kind) && (q.Scopes == nil || slices.Contains(q.Scopes, d.scope)) &&
			(q.Conversations == nil || slices.Contains(q.Conversations, d.conversation)) &&
			!d.created.Before(q.Since) && (q.Until.IsZero() || d.created.Before(q.Until)) && (q.AsOf.IsZero() || !d.said.After(q.AsOf))
		if isAsked {
			r.eligible = append(r.eligible, d)
		}
		if isAsked || r.w.Counted == "kind" {
			r.counted = append(r.counted, d)
		}
	}
	r.ask(t)
	return r.score(r.candidates(t))
}

// share is a weight, or nothing when it is left out.
func (r *reckoning) share(name string, weight float64) float64 {
	if name == r.without {
		return 0
	}
	return weight
}

func (r *reckoning) at() time.Time {
	if r.q.AsOf.IsZero() {
		return enginetest.Noon
	}
	return r.q.AsOf
}

// ask takes the question apart.
func (r *reckoning) ask(t testing.TB) {
	documents, total := map[string]map[kinds.Kind]float64{}, map[kinds.Kind]float64{}
	lengths := map[kinds.Kind]float64{}
	for _, d := range r.counted {
		total[d.kind]++
		lengths[d.kind] += d.length
		for term := range d.tf {
			if documents[term] == nil {
				documents[term] = map[kinds.Kind]float64{}
			}
			documents[term][d.kind]++
		}
	}
	idf := func(n, of float64) float64 { return math.Log((of-n+0.5)/(n+0.5) + 1) }
	termOf := map[string]string{}
	for _, token := range r.analyzer.Tokens(r.q.Text) {
		if _, known := termOf[token.Surface]; !known {
			termOf[token.Surface] = token.Term
		}
	}
	rarity := func(word string) float64 {
		n, of := 0.0, 0.0
		for _, kind := range r.q.Kinds {
			n, of = n+documents[termOf[word]][kind], of+total[kind]
		}
		return clamped(idf(n, of) / idf(0, of))
	}
	if r.q.Mode != recall.VectorMode {
		for _, token := range r.analyzer.QueryTokens(r.q.Text) {
			w := word{map[string]float64{token.Term: 1}, map[kinds.Kind]float64{}, map[kinds.Kind]float64{}}
			for kind, of := range total {
				w.idf[kind], w.average[kind] = idf(documents[token.Term][kind], of), lengths[kind]/of
			}
			if r.share("related", r.w.Related) > 0 && r.related != nil && rarity(token.Surface) >= 0.2 && !r.dated(token.Surface) {
				others, cosines := r.related(token.Surface)
				for i, other := range others {
					for _, o := range r.analyzer.QueryTokens(other) {
						if w.shares[o.Term] == 0 {
							w.shares[o.Term] = r.w.Related * float64(cosines[i]) * float64(cosines[i])
						}
					}
				}
			}
			r.asked = append(r.asked, w)
		}
	}
	if r.q.Mode == recall.LexicalMode {
		return
	}
	if !r.w.Rarity || r.without == "rarity" {
		rarity = nil
	}
	v, err := enginetest.Words{}.EmbedQuery(t.Context(), r.q.Text, rarity)
	if err != nil {
		t.Fatal(err)
	}
	r.cosine = map[*told]float64{}
	for _, d := range r.eligible {
		cosine := func(s string) (sum float64) {
			of, err := enginetest.Words{}.EmbedQuery(t.Context(), s, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range v {
				sum += float64(v[i]) * float64(of[i])
			}
			return sum
		}
		r.cosine[d] = cosine(d.embedded)
		if share := r.share("passage", r.w.Passage); share > 0 {
			for _, p := range text.Passages(d.embedded) {
				r.cosine[d] = max(r.cosine[d], share*cosine(d.embedded[p.Start:p.End]))
			}
		}
	}
}

func (r *reckoning) dated(word string) bool {
	return r.share("date", r.w.Date) > 0 && slices.ContainsFunc(dates.Find(r.q.Text, r.at()), func(p dates.Period) bool { return strings.Contains(strings.ToLower(p.Phrase), word) })
}

// frequency is how often a document says a word, related ones included.
func (r *reckoning) frequency(w word, d *told) (tf float64) {
	for term, share := range w.shares {
		if share < 1 {
			share *= r.shortness(d)
		}
		tf += share * d.tf[term]
	}
	return tf
}

func (r *reckoning) bm25(idf, tf, length, average, b float64) float64 {
	return idf * tf * (r.w.K1 + 1) / (tf + r.w.K1*(1-b+b*length/average))
}

// around gives what is eligible around a document, with its share.
func (r *reckoning) around(d *told) map[*told]float64 {
	found := map[*told]float64{}
	for _, other := range r.eligible {
		if other.session == d.session {
			step := max(other.place-d.place, d.place-other.place)
			if share := []float64{1, r.share("near", r.w.Near), r.share("far", r.w.Far), 0}[min(step, 3)]; share > 0 {
				if step > 0 {
					share *= r.shortness(d) * r.shortness(other)
				}
				found[other] = share
			}
		}
	}
	return found
}

// shortness is 1 of a short document.
func (r *reckoning) shortness(d *told) float64 {
	half := r.share("long_turn", r.w.LongTurn)
	if half == 0 {
		return 1
	}
	return half / (half + d.characters)
}

// candidates are all that is eligible where that is little, else the best of each channel with their neighbours. A best that only
// rounding settles proves nothing: the question is given up.
func (r *reckoning) candidates(t testing.TB) []*told {
	if len(r.eligible) <= r.w.Whole {
		return r.eligible
	}
	chosen := map[*told]bool{}
	best := func(score map[*told]float64) {
		all := slices.SortedFunc(mapKeys(score), func(a, b *told) int { return cmp.Compare(score[b], score[a]) })
		n := min(len(all), max(r.w.Pool, 2*r.q.Limit))
		if n < len(all) && score[all[n-1]]-score[all[n]] < 1e-6 {
			t.Skip("what is the best is a matter of rounding")
		}
		for _, d := range all[:n] {
			for other := range r.around(d) {
				chosen[other] = true
			}
		}
	}
	raw := map[*told]float64{}
	for _, d := range r.eligible {
		for _, w := range r.asked {
			if tf := r.frequency(w, d); tf > 0 {
				raw[d] += r.bm25(w.idf[d.kind], tf, d.length, w.average[d.kind], r.w.B)
			}
		}
	}
	best(raw)
	if r.cosine != nil {
		best(r.cosine)
	}
	if r.wish() > 0 {
		newest := map[*told]float64{}
		for i, d := range r.eligible {
			if d.wishes {
				newest[d] = float64(i)
			}
		}
		best(newest)
	}
	return slices.Collect(mapKeys(chosen))
}

func mapKeys[K comparable, V any](m map[K]V) func(yield func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
