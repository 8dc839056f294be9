package foreign_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // any driver for SQLite does

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/foreign"
)

// A database may be read as often as one likes: it is copied first, and the host's own file is not touched.
func ExampleImport() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "mallard-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "goclaw.db")
	host, err := sql.Open("sqlite", path)
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()
	_, err = host.Exec(`CREATE TABLE messages (id TEXT PRIMARY KEY, session_key TEXT, timestamp INTEGER, role TEXT, content TEXT);
		INSERT INTO messages VALUES ('1_1', 'primary', 1772000000, 'user', 'Is the crane back?'), ('1_2', 'primary', 1772000005, 'assistant', 'Since noon.'),
			(NULL, 'primary', 1772000006, 'user', 'of no id')`)
	if err != nil {
		log.Fatal(err)
	}
	e, err := engine.Open(ctx, ":memory:", engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	for range 2 {
		report, err := foreign.Import(ctx, e, foreign.Request{Paths: []string{path}, Driver: "sqlite"})
		if err != nil {
			log.Fatal(err)
		}
		f := report.Files[0]
		fmt.Println(f.Host, f.Messages, "messages; unchanged:", f.Unchanged, "left out:", f.LeftOut)
	}
	// Output:
	// goclaw 2 messages; unchanged: false left out: map[messages without an id:1]
	// goclaw 0 messages; unchanged: true left out: map[]
}
