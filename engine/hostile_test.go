package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/kinds"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
	"github.com/mallardmem/mallard/engine/scope"
)

// sentinels are all errors that a request may be answered with.
var sentinels = []error{engine.ErrInvalid, engine.ErrNotFound, engine.ErrAmbiguous, engine.ErrExists, engine.ErrBadScope, engine.ErrScopeDenied}

// rubbish makes strings that nobody should write, and some that only look so.
type rubbish struct {
	*rand.Rand
	made int // strings so far
}

var shards = []string{
	"\x00", "\xff", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc3", "\u0301", "\u200d", "\ufffd", "\ufeff", "\u202e", "\U0010ffff", "\u2028", "\r\n", "\t", " ", "",
	"👩‍🚀", "🏴‍☠️", "İ", "ß", "ﷺ", "한국어", "龍の", "עברית", "ไทย", "e\u0301\u0301\u0301", "1e999", "-1e999", "NaN", "Infinity", "0x1p-1074", "99999999999999999999999999",
	"9223372036854775808", "-0", `"`, `\`, `\u0000`, `\ud800`, `{"a":`, `{"id":null}`, `[[[[`, `]}`, `{"metadata":"{"}`, `"timestamp":1e300`, "null", "true",
	"'", "''", `";`, "; DROP TABLE memories; --", "/*", "*/", "--", "$1", "$text", "?", "%", "_", "{dims}", "{n}", "SELECT", "SELECT 1", " FROM memories", "(", ")", "ORDER BY", "::INTEGER",
	"global", "agent:", "agent:x", "reflection:agent:x", "system", "undefined", "mem_", "conv_", "proj:x", "2024-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "<", "&amp;", "]]>",
}

// text is a string of a few shards, random bytes or random runes; one in a thousand is of 100 kB.
func (r *rubbish) text() string {
	r.made++
	if r.IntN(1000) == 0 {
		return strings.Repeat(shards[r.IntN(len(shards))]+"x", 100_000)[:100_000]
	}
	var b strings.Builder
	for range r.IntN(8) {
		switch r.IntN(6) {
		case 0:
			b.WriteByte(byte(r.Uint32()))
		case 1:
			b.WriteRune(rune(r.IntN(0x110000)))
		case 2:
			fmt.Fprint(&b, r.number())
		default:
			b.WriteString(shards[r.IntN(len(shards))])
		}
	}
	return b.String()
}

// word is mostly an allowed value, so that the rest of a request is looked at too.
func (r *rubbish) word(allowed ...string) string {
	if r.IntN(10) == 0 {
		return r.text()
	}
	return allowed[r.IntN(len(allowed))]
}

// texts is a list, or nil.
func (r *rubbish) texts() []string {
	if r.IntN(4) > 0 {
		return nil
	}
	list := make([]string, r.IntN(3))
	for i := range list {
		list[i] = r.text()
	}
	return list
}

func (r *rubbish) number() float64 {
	odd := []float64{0, -0.5, 1, 2, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 53, 1e18, -1e18}
	return odd[r.IntN(len(odd))]
}

func (r *rubbish) time() time.Time {
	odd := []time.Time{{}, time.Unix(0, 0), time.Unix(-1<<40, 0), time.Unix(1<<40, 0), time.Unix(1<<60, 0), time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -86399)),
		time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 999, time.Local), time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC)}
	if r.IntN(4) > 0 {
		return time.Time{}
	}
	return odd[r.IntN(len(odd))]
}

// value is JSON of any kind, at most a few levels deep; what json can't hold comes as it is.
func (r *rubbish) value(depth int) any {
	switch r.IntN(8) {
	case 0:
		return nil
	case 1:
		return r.number()
	case 2:
		return json.RawMessage(r.text())
	case 3:
		if depth > 0 {
			return []any{r.value(depth - 1), r.value(depth - 1)}
		}
	case 4:
		if depth > 0 {
			return map[string]any{r.text(): r.value(depth - 1)}
		}
	}
	return r.text()
}

// line is a line of an interchange file: JSON with keys that mean something, or not even that.
func (r *rubbish) line(keys ...string) string {
	if r.IntN(4) == 0 {
		return r.text()
	}
	var parts []string
	for range 1 + r.IntN(5) {
		value := fmt.Sprintf("%q", r.text()) // Go's quoting, which JSON doesn't always know
		if b, err := json.Marshal(r.value(2)); err == nil {
			value = string(b)
		} else if r.IntN(2) == 0 {
			value = shards[r.IntN(len(shards))]
		}
		parts = append(parts, fmt.Sprintf("%q:%s", r.word(keys...), value))
	}
	return `{"text":"of a line",` + strings.Join(parts, ",") + "}"
}

func (r *rubbish) memory() memory.RememberRequest {
	x, y := r.number(), r.number()
	m := memory.RememberRequest{
		Text: r.text(), L0: r.word("", "short"), L1: r.word(""), L2: r.word(""), Scope: r.word("", "global", "agent:x", "project:p"), Agent: r.word("", "x"),
		Category: memory.Category(r.word("", "event", "preference", "fact")), Tier: memory.Tier(r.word("", "core")), State: memory.State(r.word("", "pending")),
		Layer: memory.Layer(r.word("")), TemporalType: r.word("", "dynamic"), Importance: &x, Confidence: &y, FactKey: r.word(""), Source: r.word("", "legacy"),
		CreatedAt: r.time(), ValidFrom: r.time(), ValidUntil: r.time(), SourceSession: r.word(""), ID: r.word("", "", "mem_taken"), Key: r.word("", "taken"), Unique: r.IntN(2) == 0,
	}
	if r.IntN(4) == 0 {
		m.Relations = []memory.Relation{{Type: r.word("about"), TargetID: r.word("mem_x")}}
		m.Contexts = r.texts()
		m.Extra = map[string]any{r.text(): r.value(3)}
	}
	return m
}

// TestHostileInput throws four thousand strings of rubbish (ten thousand, if long) at every field of every verb. Each gets an answer or an error of the list, and in the end the
// file is intact, can be exported, and imported again.
func TestHostileInput(t *testing.T) {
	strange := 4000
	switch {
	case enginetest.Long("simulation"):
		strange = 10_000
	case testing.Short():
		strange = 500
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := &rubbish{Rand: rand.New(rand.NewPCG(seed, 3))}
	ctx := t.Context()
	e := enginetest.Open(t, engine.Options{Embedder: enginetest.Words{}})
	answered := map[string]int{}
	check := func(verb string, err error) {
		t.Helper()
		if err == nil {
			answered[verb]++
		} else if !slices.ContainsFunc(sentinels, func(want error) bool { return errors.Is(err, want) }) {
			t.Errorf("%s: %.1000v", verb, err)
		}
	}
	memoryKeys := []string{"id", "text", "category", "scope", "importance", "timestamp", "metadata", "created_at", "valid_until", "relations", "access_count", "tier", "history", "x"}
	messageKeys := []string{"conversation", "text", "time", "role", "speaker", "key", "session", "caption"}
	id := "mem_none"
	for r.made < strange {
		batch := make([]memory.RememberRequest, 10)
		for i := range batch {
			batch[i] = r.memory()
		}
		all, err := e.RememberMany(ctx, batch)
		check("RememberMany", err)
		for _, one := range all {
			check("RememberMany", one.Err)
			if one.Created {
				id = one.ID
			}
		}
		var lines, talk strings.Builder
		for range 10 {
			lines.WriteString(r.line(memoryKeys...) + "\n")
			talk.WriteString(r.line(messageKeys...) + "\n")
		}
		imported, err := e.Import(ctx, strings.NewReader(lines.String()), interchange.ImportRequest{Agent: r.word("", "x"), Scope: r.word("", "global")})
		check("Import", err)
		if imported == nil {
			t.Fatal("Import gave nothing")
		}
		_, err = e.ImportMessages(ctx, strings.NewReader(talk.String()), interchange.ImportRequest{Agent: r.word("", "x"), Scope: r.word("", "global")})
		check("ImportMessages", err)
		text := r.text()
		update := memory.UpdateRequest{ID: r.word(id), Agent: r.word(""), Extra: map[string]any{r.text(): r.value(2)}}
		if r.IntN(2) == 0 {
			update.Text, update.Scope = &text, &text
		}
		_, err = e.Update(ctx, update)
		check("Update", err)
		_, err = e.Get(ctx, memory.GetRequest{ID: r.word(id, ids.Short(id)), Agent: r.word("")})
		check("Get", err)
		_, err = e.Append(ctx, conversation.AppendRequest{Conversation: r.text(), Scope: r.word("", "global"), Agent: r.word(""), Messages: []conversation.Message{
			{Text: r.text(), Role: r.word("", "tool"), Speaker: r.word("", "Ines"), Key: r.word(""), Session: r.word(""), Caption: r.word(""), SaidAt: r.time()}}})
		check("Append", err)
		_, err = e.Messages(ctx, conversation.MessagesRequest{Conversation: r.text(), Agent: r.word(""), From: int(r.Int64()), Limit: r.IntN(200) - 50})
		check("Messages", err)
		_, err = e.Conversations(ctx, r.text())
		check("Conversations", err)
		_, err = e.List(ctx, memory.ListRequest{Agent: r.word(""), Scopes: r.texts(), Standing: r.word("", "any"), Since: r.time(), Until: r.time(), Limit: r.IntN(200) - 50, Offset: r.IntN(9) - 1})
		check("List", err)
		_, err = e.Recall(ctx, recall.Query{Text: r.text(), Agent: r.word(""), Scopes: r.texts(), Conversations: r.texts(), Since: r.time(), Until: r.time(), AsOf: r.time(),
			Limit: 1 + r.IntN(50), Mode: recall.Mode(r.word("", "vector", "lexical")), WeightSet: r.word(""), TagPrefixes: r.texts(), Expand: r.IntN(2) == 0, Adaptive: r.IntN(2) == 0, Kinds: kinds.All()})
		check("Recall", err)
		_, err = e.Query(ctx, r.text(), 10)
		check("Query", err)
		_, err = e.Query(ctx, "SELECT '"+r.text()+"' "+r.text(), 10)
		check("Query", err)
		check("SetScopes", e.SetScopes(ctx, scope.Scopes{Default: r.word(""), Definitions: map[string]string{r.word("team"): r.text()}, Access: map[string][]string{r.word("y"): {r.word("global")}}}))
		check("SetWeights", e.SetWeights(ctx, r.word("own"), recall.MemoryWeights()))
		check("ResetWeights", e.ResetWeights(ctx, r.text()))
		check("Snapshot", e.Snapshot(ctx, t.TempDir()+"\x00"+r.text()))
		_, err = e.Export(ctx, io.Discard, memory.ExportRequest{Agent: r.word(""), Scopes: r.texts()})
		check("Export", err)
		if r.IntN(4) == 0 {
			_, err = e.Supersede(ctx, memory.SupersedeRequest{ID: r.word(id), By: r.memory()})
			check("Supersede", err)
			_, err = e.Forget(ctx, memory.ForgetRequest{ID: r.word(id), Agent: r.word(""), Reason: r.word("")})
			check("Forget", err)
			_, err = e.Purge(ctx, memory.PurgeRequest{ID: r.word(id), Agent: r.word("")})
			check("Purge", err)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d strings, answered: %v", r.made, answered)
	for _, verb := range []string{"RememberMany", "Import", "Update", "Get", "Append", "List", "Recall", "Query", "Export", "SetScopes"} {
		if answered[verb] == 0 && !testing.Short() {
			t.Errorf("no %s was answered: the rubbish is too bad to test anything", verb)
		}
	}
	faithful(t, e)
}

// faithful exports a file into another, which must then export the same.
func faithful(t *testing.T, e *engine.Engine) {
	t.Helper()
	enginetest.Check(t, e)
	var first, second bytes.Buffer
	n, err := e.Export(t.Context(), &first, memory.ExportRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.SetScopes(t.Context(), scope.Scopes{}); err != nil {
		t.Fatal(err)
	}
	other := enginetest.Open(t, engine.Options{})
	imported, err := other.Import(t.Context(), bytes.NewReader(first.Bytes()), interchange.ImportRequest{})
	if err != nil || imported.Created != n {
		t.Errorf("%d memories exported, imported %d, faults %.2000v, %v", n, imported.Created, imported.Faults, err)
	}
	if _, err := other.Export(t.Context(), &second, memory.ExportRequest{}); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		a, b := strings.Split(first.String(), "\n"), strings.Split(second.String(), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("exported %.1000q, and after an import %.1000q", a[i], b[i])
			}
		}
		t.Errorf("%d lines exported, and after an import %d", len(a), len(b))
	}
}

// TestDeepAndLong: what is nested or repeated past reason is refused, not tried.
func TestDeepAndLong(t *testing.T) {
	if testing.Short() {
		t.Skip("short: long, and nothing in it runs beside anything")
	}
	ctx := t.Context()
	e := enginetest.Open(t, engine.Options{})
	const n = 20_000
	for _, q := range []string{
		strings.Repeat("(", n) + "SELECT 1" + strings.Repeat(")", n), "SELECT " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
		"SELECT 1" + strings.Repeat("+1", n), "SELECT " + strings.Repeat("-", 1) + strings.Repeat(" -", n) + "1", "SELECT " + strings.Repeat("NOT ", n) + "true",
		"SELECT " + strings.Repeat("[", n) + strings.Repeat("]", n), "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 2000),
		strings.Repeat("SELECT * FROM (", 2000) + "SELECT 1" + strings.Repeat(")", 2000), "SELECT '" + strings.Repeat("x", 1_000_000) + "'",
		"SELECT " + strings.Repeat("abs(", n) + "1" + strings.Repeat(")", n), "SELECT repeat('x', 1000000000000)",
	} {
		if _, err := e.Query(ctx, q, 1); err != nil && !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%.40q…: %.300v", q, err)
		}
	}
	for _, line := range []string{
		strings.Repeat("[", 200_000), `{"text":"x","a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}", `{"text":"x","metadata":` + strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000) + "}",
		`{"text":"` + strings.Repeat("x", 3_000_000) + `"}`, `{"text":"` + strings.Repeat("word ", 200_000) + `"}`, `{"text":"x","b":1` + strings.Repeat("0", 100_000) + "}",
	} {
		if _, err := e.Import(ctx, strings.NewReader(line), interchange.ImportRequest{}); err != nil {
			t.Errorf("%.40q…: %.300v", line, err)
		}
	}
	all, err := e.List(ctx, memory.ListRequest{})
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	for _, m := range all {
		key := "touched"
		if _, err := e.Update(ctx, memory.UpdateRequest{ID: m.ID, Extra: map[string]any{key: true}}); err != nil {
			t.Errorf("update of %.40q…: %.300v", m.Text, err)
		}
	}
	faithful(t, e)
}
