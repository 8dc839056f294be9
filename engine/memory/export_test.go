package memory_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/interchange"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/recall"
)

// fullLine is a memory with every field set, in the form of an export, and unknown keys of every sort.
const fullLine = `{"id":"mem_full","key":"k","text":"The crane \"HB-455\" <b>& co</b>\n\tstands again 起重机 🏗","l0_abstract":"crane stands","l1_overview":"- crane","l2_content":"the whole story",` +
	`"category":"event","source_category":"decision","scope":"project:harbor","tier":"core","state":"pending","memory_layer":"archive","memory_temporal_type":"dynamic",` +
	`"importance":0.123456789,"confidence":1,"created_at":"2026-01-01T00:00:00.000001Z","valid_from":"2026-01-02T00:00:00Z","valid_until":"2036-01-01T00:00:00Z",` +
	`"invalidated_at":"2026-03-01T00:00:00Z","recorded_at":"2026-01-03T00:00:00Z","updated_at":"2026-01-04T00:00:00Z","retired_at":"2026-04-01T00:00:00Z","retired_reason":"wrong",` +
	`"fact_key":"mine","supersedes":"mem_before","superseded_by":"mem_after","canonical_id":"mem_canon","relations":[{"type":"about","target_id":"t"},{"type":"about","target_id":"u"}],` +
	`"source":"auto-capture","source_session":"s1","trust":"extracted","access_count":3,"last_accessed_at":"2026-02-01T00:00:00Z","injected_count":4,"last_injected_at":"2026-02-02T00:00:00Z",` +
	`"bad_recall_count":2,"last_confirmed_use_at":"2026-02-03T00:00:00Z","suppressed_until_turn":9,"suppressed_until":"2026-02-04T00:00:00Z",` +
	`"support_info":{"slices":[{"context":"晚上","strength":0.50}],"total":4},"contexts":["work","evening"],"sources":[{"id":12345678901234567890},"m1"],"history":["h1",[1,2]],` +
	`"admission_control":{"audit":[true,null,"x"],"score":0.6200},"big":123456789012345678901234567890,"empty":{},"float":1.0,"lone":"\ud800 and \udc00","none":null,"sourceCount":9007199254740993,"type":"memory-reflection-item","日本":"キー"}`

func exported(t *testing.T, e *engine.Engine) string {
	t.Helper()
	var out bytes.Buffer
	n, err := e.Export(t.Context(), &out, memory.ExportRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != n {
		t.Errorf("%d memories exported in %d lines", n, lines)
	}
	return out.String()
}

func TestExportOfAnImportIsTheSame(t *testing.T) {
	enginetest.Alone(t)
	clock := &enginetest.Clock{At: enginetest.Noon}
	e := enginetest.Open(t, engine.Options{Now: clock.Now})
	enginetest.Import(t, e, fullLine, interchange.Imported{Lines: 1, Created: 1})
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_plain", Text: "plain"})
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_old", Text: "Drink: tea", Category: memory.Preference})
	clock.Advance(time.Hour)
	if _, err := e.Supersede(t.Context(), memory.SupersedeRequest{ID: "mem_old", By: memory.RememberRequest{ID: "mem_new", Text: "Drink: coffee"}}); err != nil {
		t.Fatal(err)
	}
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_gone", Text: "forgotten", Key: "again"})
	if _, err := e.Forget(t.Context(), memory.ForgetRequest{ID: "mem_gone", Reason: "老了"}); err != nil {
		t.Fatal(err)
	}
	enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_again", Text: "forgotten", Key: "again"})
	for _, word := range []memory.Category{"fact", "reflection", "profile"} {
		enginetest.Remember(t, e, memory.RememberRequest{ID: "mem_" + string(word), Text: "my " + string(word), Category: word, Source: "reflection"})
	}
	if _, err := e.Update(t.Context(), memory.UpdateRequest{ID: "mem_plain", Extra: map[string]any{"n": 7, "list": []string{"x"}}}); err != nil {
		t.Fatal(err)
	}
	first := exported(t, e)
	// What the file makes of the full line: Go's JSON has U+FFFD for half a surrogate pair.
	want := strings.ReplaceAll(strings.ReplaceAll(fullLine, `\ud800`, "\ufffd"), `\udc00`, "\ufffd")
	want = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(want)
	if got, _, _ := strings.Cut(first, "\n"); got != want {
		t.Errorf("the full line (-want +got):\n%s", cmp.Diff(strings.Split(want, ","), strings.Split(got, ",")))
	}
	clock.Advance(time.Hour)
	second := enginetest.Open(t, engine.Options{Now: clock.Now, Embedder: enginetest.Words{}})
	enginetest.Import(t, second, first, interchange.Imported{Lines: 9, Created: 9})
	if diff := cmp.Diff(strings.Split(first, "\n"), strings.Split(exported(t, second), "\n")); diff != "" {
		t.Errorf("after an import (-first +second):\n%s", diff)
	}
	enginetest.Import(t, second, first, interchange.Imported{Lines: 9, Known: 9})
	if exported(t, second) != first {
		t.Error("the second import changed something")
	}
	if got := enginetest.RecallIDs(t, second, recall.Query{Text: "crane HB-455 forgotten"}); !cmp.Equal(got[:1], []string{"mem_again"}) {
		t.Errorf("recall: %v, want nothing that was forgotten", got)
	}
}

func TestExportFilters(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, engine.Options{})
	for i, scope := range []string{"global", "agent:scout", "user:ines"} {
		enginetest.Remember(t, e, memory.RememberRequest{ID: fmt.Sprint("mem_", i), Text: "x", Scope: scope})
	}
	for _, test := range []struct {
		request memory.ExportRequest
		want    string
	}{
		{memory.ExportRequest{}, "012"},
		{memory.ExportRequest{Scopes: []string{}}, ""},
		{memory.ExportRequest{Scopes: []string{"user:ines", "global"}}, "02"},
		{memory.ExportRequest{Agent: "scout"}, "01"},
		{memory.ExportRequest{Agent: "scout", Scopes: []string{"user:ines", "agent:scout"}}, "1"},
	} {
		var out bytes.Buffer
		n, err := e.Export(t.Context(), &out, test.request)
		got := ""
		for line := range strings.Lines(out.String()) {
			got += strings.TrimPrefix(line, `{"id":"mem_`)[:1]
		}
		if err != nil || n != len(test.want) || got != test.want {
			t.Errorf("%+v: %d %q, %v, want %q", test.request, n, got, err, test.want)
		}
	}
}
