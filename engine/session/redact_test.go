package session_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine/session"
)

// notSecret are made up here; they only have the form of keys.
var notSecret = map[string]string{
	"model key":    "sk-" + strings.Repeat("a1B2", 8),
	"hub token":    "ghp_" + strings.Repeat("x9Y8", 9),
	"cloud key":    "AKIA" + strings.Repeat("Q7", 8),
	"web token":    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
	"bearer":       "bmV2ZXItYS10b2tlbg==",
	"private key":  "MIIEvQIBADANBgkqh",
	"password":     "hunter2hunter2",
	"in an URL":    "swordfish",
	"by its name":  "correct horse battery staple",
	"in arguments": "tr0ub4dor",
}

// secretLine tells all of them.
func secretLine(t *testing.T) string {
	t.Helper()
	said := "use " + notSecret["model key"] + " and " + notSecret["hub token"] + ", " + notSecret["cloud key"] + ";\nAuthorization: Bearer " + notSecret["bearer"] +
		"\n-----BEGIN RSA PRIVATE KEY-----\n" + notSecret["private key"] + "\n-----END RSA PRIVATE KEY-----\npassword=" + notSecret["password"] +
		" https://ines:" + notSecret["in an URL"] + "@example.org token " + notSecret["web token"]
	line, err := json.Marshal(map[string]any{"type": "assistant", "uuid": "u1", "sessionId": "s", "timestamp": "2026-01-02T03:04:05Z", "message": map[string]any{
		"id": "m", "role": "assistant", "content": []any{
			map[string]any{"type": "text", "text": said},
			map[string]any{"type": "tool_use", "id": "t", "name": "login", "input": map[string]any{"api_key": notSecret["by its name"], "body": `{"password":"` + notSecret["in arguments"] + `"}`}},
		}}})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(line), "ghp_", `\u0067hp_`, 1) + "\n" // an escape hides nothing
}

func TestRedact(t *testing.T) {
	line := secretLine(t)
	masked := string(session.RedactJSON([]byte(line)))
	if !json.Valid([]byte(masked)) {
		t.Fatalf("no JSON any more: %s", masked)
	}
	for name, secret := range notSecret {
		if strings.Contains(masked, secret) {
			t.Errorf("%s is still there: %s", name, masked)
		}
	}
	for _, kept := range []string{`"uuid":"u1"`, "use [redacted] and [redacted], [redacted];", "ines:[redacted]example.org", `"name":"login"`} {
		if !strings.Contains(masked, kept) {
			t.Errorf("%s is gone: %s", kept, masked)
		}
	}
	for _, plain := range []string{`{"a": "nothing to hide",  "b":[1, 2.50, "\ud800", "\u0041"]}`, `not json at all`, `{"tokens": 5, "max_tokens":"many"}`} {
		if got := string(session.RedactJSON([]byte(plain))); got != plain {
			t.Errorf("%s became %s", plain, got)
		}
	}
}

// TestImportRedacted sees that nothing of a secret gets into the file, in no column.
func TestImportRedacted(t *testing.T) {
	e := open(t)
	path := write(t, filepath.Join(t.TempDir(), "s.jsonl"), secretLine(t))
	report, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{path}, Redact: true})
	if err != nil || report.Messages != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	stored := rows(t, e, `SELECT text, raw::VARCHAR FROM main.messages UNION ALL SELECT concat_ws(' ', text, input, output), raw::VARCHAR FROM main.parts
		UNION ALL SELECT term, '' FROM main.terms`)
	if len(stored) < 3 {
		t.Fatalf("%d rows", len(stored))
	}
	for _, row := range stored {
		for name, secret := range notSecret {
			if s := strings.Join(row, " "); strings.Contains(s, secret) {
				t.Errorf("%s is stored: %s", name, s)
			}
		}
	}
	if again, err := session.Import(t.Context(), e, session.ImportRequest{Paths: []string{write(t, filepath.Join(t.TempDir(), "s.jsonl"), secretLine(t))}}); err != nil || again.Messages != 0 {
		t.Errorf("unmasked it is another message: %+v, %v", again, err)
	}
}
