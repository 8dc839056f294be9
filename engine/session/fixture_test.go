package session_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/conversation"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/session"
)

// fixtures are the transcripts of testdata: a file, or a folder that is imported as one.
func fixtures(t testing.TB) (paths []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*", "*"))
	paths = slices.DeleteFunc(paths, func(p string) bool { return filepath.Ext(p) == ".golden" || filepath.Base(filepath.Dir(p)) == "fuzz" })
	if err != nil || len(paths) < 20 {
		t.Fatalf("testdata has %d fixtures: %v", len(paths), err)
	}
	return paths
}

// files are the single transcripts among them.
func files(t testing.TB) []string {
	t.Helper()
	return slices.DeleteFunc(fixtures(t), func(p string) bool { return filepath.Ext(p) != ".jsonl" })
}

// imported reads paths and gives the report.
func imported(t testing.TB, e *engine.Engine, paths ...string) *session.Report {
	t.Helper()
	report, err := session.Import(t.Context(), e, session.ImportRequest{Paths: paths})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Files {
		if f.Error != "" {
			t.Fatalf("%s: %s", f.Path, f.Error)
		}
	}
	return report
}

// dump writes down everything that an engine has of conversations, without ids.
func dump(t testing.TB, e *engine.Engine) string {
	t.Helper()
	ctx := context.Background()
	all, err := e.Conversations(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b conversation.Conversation) int {
		return cmp.Or(strings.Compare(a.SessionKey, b.SessionKey), strings.Compare(a.ID, b.ID))
	})
	names := map[string]string{}
	for _, c := range all {
		names[c.ID] = c.SessionID
	}
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "== %s session %s scope %s", plainKey(c.SessionKey), c.SessionID, c.Scope)
		if c.Title != "" {
			fmt.Fprintf(&b, " title %q", c.Title)
		}
		if c.ParentID != "" {
			fmt.Fprintf(&b, " parent %s", names[c.ParentID])
		}
		b.WriteString("\n")
		messages, err := e.Messages(ctx, conversation.MessagesRequest{Conversation: c.ID, Limit: 100_000})
		if err != nil {
			t.Fatal(err)
		}
		where := places(t, e, c.ID)
		for _, m := range messages {
			writeMessage(&b, m, where[m.ID])
		}
		for _, s := range rows(t, e, "SELECT caller_key, model, messages, text FROM summaries WHERE conversation_id = '"+c.ID+"' ORDER BY first_seq") {
			fmt.Fprintf(&b, "summary %s by %s of %s messages: %s\n", s[0], s[1], s[2], s[3])
		}
	}
	return b.String()
}

// plainKey is a session key without the folder that a plain file is in.
func plainKey(key string) string {
	if rest, ok := strings.CutPrefix(key, "plain:/"); ok {
		return "plain:…/" + filepath.Base(rest)
	}
	return key
}

func writeMessage(b *strings.Builder, m *conversation.Message, where string) {
	key := m.Key
	if len(key) > 40 && !strings.HasPrefix(key, "codex:") && !strings.HasPrefix(key, "openclaw:") {
		key = key[:40] + "…"
	}
	fmt.Fprintf(b, "%d %s %s %s %s", m.Seq, m.SaidAt.Format("2006-01-02T15:04:05.999999"), where, m.Role, key)
	if m.Speaker != "" {
		fmt.Fprintf(b, " by %s", m.Speaker)
	}
	b.WriteString("\n")
	if len(m.Blocks) == 0 {
		fmt.Fprintf(b, "    text: %q\n", m.Text)
	}
	for _, p := range m.Blocks {
		fmt.Fprintf(b, "    %s:", p.Type)
		if p.FileID != "" {
			p.Text = "(kept apart)"
		}
		for _, f := range []struct{ name, value string }{{"", p.Text}, {"call", p.CallID}, {"tool", p.Tool}, {"input", p.Input}, {"output", p.Output},
			{"file", p.FileName}, {"mime", p.MIME}, {"key", p.Key}} {
			if f.value != "" {
				fmt.Fprintf(b, " %s%q", f.name, f.value)
			}
		}
		if p.IsError {
			b.WriteString(" failed")
		}
		b.WriteString("\n")
	}
}

// places says of every message whether it is in the context, under a summary or set aside.
func places(t testing.TB, e *engine.Engine, conversation string) map[string]string {
	t.Helper()
	where := map[string]string{}
	for _, r := range rows(t, e, `SELECT m.id, coalesce(m.set_aside, '') || CASE WHEN i.ref IS NULL THEN '' ELSE 'context' END || CASE WHEN s.source IS NULL THEN '' ELSE 'summarised' END
		FROM main.messages AS m LEFT JOIN main.context_items AS i ON i.ref = m.id LEFT JOIN main.summary_sources AS s ON s.source = m.id
		WHERE m.conversation_id = '`+conversation+`'`) {
		where[r[0]] = r[1]
	}
	return where
}

func rows(t testing.TB, e *engine.Engine, query string) (all [][]string) {
	t.Helper()
	table, err := e.Query(context.Background(), query, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range table.Rows {
		var cells []string
		for _, cell := range row {
			cells = append(cells, fmt.Sprint(cell))
		}
		all = append(all, cells)
	}
	return all
}

// open makes an engine in memory, without a model.
func open(t testing.TB) *engine.Engine { return enginetest.Open(t, engine.Options{}) }

// write makes a file of the test's own.
func write(t testing.TB, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
