package session_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/session"
)

// A transcript may be read as often as one likes; Watch reads it the same way, and follows it.
func ExampleImport() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "mallard-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	transcript := filepath.Join(folder, "talk.jsonl")
	lines := `{"role": "user", "content": "Is the crane back?", "time": "2026-03-24T09:00:00Z"}
no JSON
{"role": "assistant", "content": "Since noon.", "time": "2026-03-24T09:00:05Z"}
`
	if err := os.WriteFile(transcript, []byte(lines), 0o600); err != nil {
		log.Fatal(err)
	}
	e, err := engine.Open(ctx, ":memory:", engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	for range 2 {
		report, err := session.Import(ctx, e, session.ImportRequest{Paths: []string{transcript}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(report.Messages, "messages")
		for _, f := range report.Files {
			for _, skipped := range f.Skipped {
				fmt.Println("line", skipped.Line, "skipped:", skipped.Reason)
			}
		}
	}
	// Output:
	// 2 messages
	// line 2 skipped: no JSON
	// 0 messages
}
