package upkeep_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/upkeep"
	sqlfiles "github.com/mallardmem/mallard/sql"
)

// sabotage breaks a file, each line in one way. {id} is a live memory with a vector, {no} its document.
var sabotage = []struct{ fault, statement, subject string }{
	{"memory without a document", "UPDATE memories SET doc_no = 9999 WHERE id = '{id}'", "{id}"},
	{"memory without a document", "UPDATE documents SET kind = 'message' WHERE doc_no = {no}", "{id}"},
	{"message without a document", "DELETE FROM documents WHERE kind = 'message' AND doc_no = (SELECT min(doc_no) FROM messages)", "msg_"},
	{"document without an owner", "DELETE FROM memories WHERE id = '{id}'", "{id}"},
	{"document without an owner", "DELETE FROM messages", "msg_"},
	{"document without an owner", "UPDATE documents SET kind = 'summary' WHERE doc_no = {no}", "{id}"},
	{"document differs from its memory", "UPDATE documents SET scope = 'agent:other' WHERE doc_no = {no}", "{id}"},
	{"document differs from its memory", "UPDATE memories SET category = 'event' WHERE id = '{id}'", "{id}"},
	{"document differs from its memory", "UPDATE memories SET tier = 'core' WHERE id = '{id}'", "{id}"},
	{"document differs from its memory", "UPDATE documents SET created_at = created_at + INTERVAL 1 DAY WHERE doc_no = {no}", "{id}"},
	{"document differs from its memory", "UPDATE documents SET valid_from = NULL WHERE doc_no = {no}", "{id}"},
	{"document differs from its memory", "UPDATE memories SET invalidated_at = valid_from WHERE id = '{id}'", "{id}"},
	{"document differs from its memory", "UPDATE memories SET retired_at = now()::TIMESTAMP WHERE id = '{id}'", "{id}"},
	{"document differs from its message", "UPDATE conversations SET scope = 'agent:other'", "msg_"},
	{"document differs from its message", "UPDATE messages SET said_at = said_at + INTERVAL 1 DAY", "msg_"},
	{"document differs from its message", "UPDATE documents SET conversation_id = 'conv_other' WHERE kind = 'message'", "msg_"},
	{"message of no conversation", "DELETE FROM conversations", "msg_"},
	{"messages are not numbered 1 to 2", "UPDATE messages SET seq = 3 WHERE seq = 1", "conv_"},
	{"messages are not numbered 1 to 2", "UPDATE messages SET seq = 1", "conv_"},
	{"messages are not numbered 1 to 6", "UPDATE conversations SET next_seq = 7", "conv_"},
	{"message stands elsewhere than its document", "UPDATE documents SET place = 7 WHERE kind = 'message'", "msg_"},
	{"message stands elsewhere than its document", "UPDATE messages SET session_no = 9999 WHERE seq = 1", "msg_"},
	{"two documents of one session at one place", "UPDATE documents SET session_no = 9999 WHERE kind = 'message'", ""},
	{"two documents of one session at one place", "UPDATE documents SET session_no = {no} WHERE kind = 'memory'", "{no}"},
	{"conversation goes on elsewhere than after its last message", "UPDATE conversations SET last_place = last_place + 1", "conv_"},
	{"conversation goes on elsewhere than after its last message", "UPDATE conversations SET last_session_no = NULL", "conv_"},
	{"conversation goes on elsewhere than after its last message", "UPDATE conversations SET last_session = 'host'", "conv_"},
	{"conversation goes on elsewhere than after its last message", "UPDATE conversations SET last_said_at = last_said_at - INTERVAL 1 HOUR", "conv_"},
	{"live document with words, but no postings", "DELETE FROM postings WHERE doc_no = {no}", "{id}"},
	{"posting of no live document, or twice", "INSERT INTO postings SELECT term_no, kind, 9999, tf FROM postings LIMIT 1", "9999"},
	{"posting of no live document, or twice", "INSERT INTO postings SELECT * FROM postings WHERE doc_no = {no} LIMIT 1", "{no}"},
	{"posting of no live document, or twice", "UPDATE postings SET kind = 'message' WHERE doc_no = {no}", "{no}"},
	{"posting of no term", "DELETE FROM terms WHERE term = 'tea'", "{no}"},
	{"surface of no term", "INSERT INTO surfaces VALUES ('ghost', 9999, 0)", "ghost"},
	{"two terms of one number", "INSERT INTO terms SELECT term_no, 'ghost', 0 FROM terms WHERE term = 'tea'", ""},
	{"totals of a kind differ from a count", "UPDATE kind_stats SET documents = documents + 1 WHERE kind = 'memory'", "memory"},
	{"totals of a kind differ from a count", "UPDATE kind_stats SET length = length + 1 WHERE kind = 'message'", "message"},
	{"totals of a kind differ from a count", "UPDATE documents SET length = length + 1 WHERE doc_no = {no}", "memory"},
	{"totals of a kind differ from a count", "DELETE FROM kind_stats WHERE kind = 'memory'", "memory"},
	{"vector of no live document", "UPDATE vectors_1 SET doc_no = 9999 WHERE doc_no = {no}", "9999"},
	{"vector that is not of unit length", "UPDATE vectors_1 SET v = list_transform(v::FLOAT[], lambda x: x * 2)::FLOAT[64] WHERE doc_no = {no}", "{no}"},
	{"vector that is not of unit length", "UPDATE vectors_1 SET v = list_transform(v::FLOAT[], lambda x: 'nan'::FLOAT)::FLOAT[64] WHERE doc_no = {no}", "{no}"},
	{"blank scope", "UPDATE documents SET scope = ' ' WHERE doc_no = {no}", "{id}"},
	{"relation of no memory", "INSERT INTO memory_relations VALUES ('mem_ghost', 0, 'about', 'x')", "mem_ghost"},
	{"superseded by a memory that does not say so", "UPDATE memories SET superseded_by = (SELECT max(id) FROM memories) WHERE id = '{id}'", "{id}"},
	{"more than one chosen model, or none", "UPDATE models SET chosen = false", "words"},
	{"more than one chosen model, or none", "INSERT INTO models SELECT 2, 'other', dims, 'other', true, created_at FROM models", "words, other"},
	{"macro that is not Mallard's", "CREATE MACRO lower(x) AS 'shadowed'", "lower"},
	{"macro that is not Mallard's", "CREATE MACRO recent(n) AS TABLE SELECT * FROM memories LIMIT n", "recent"},
}

// TestCheckFindsEveryFault wants a fault for each line of sabotage that TestDoctorRepairsMemories does not want to be found.
func TestCheckFindsEveryFault(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a file for every fault")
	}
	t.Parallel()
	path := enginetest.NewFile(t)
	o := engine.Options{Embedder: enginetest.Words{}}
	e := enginetest.OpenFile(t, path, o)
	ids := enginetest.Stock(t, e)
	no := fmt.Sprint(enginetest.Rows(t, e, "SELECT doc_no FROM memories WHERE id = '"+ids[0]+"'")[0][0])
	enginetest.CloseFile(t, e)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names := strings.NewReplacer("{id}", ids[0], "{no}", no)
	broken := enginetest.NewFile(t)
	doctored := doctoredMemories()
	for _, test := range sabotage {
		if doctored[test.statement] && !enginetest.Long("doctor") {
			continue
		}
		if err := os.WriteFile(broken, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		statement, subject := names.Replace(test.statement), names.Replace(test.subject)
		enginetest.Tamper(t, broken, statement)
		b := enginetest.OpenFile(t, broken, engine.Options{ReadOnly: true})
		faults, err := b.Check(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		if !slices.ContainsFunc(faults, func(f upkeep.Fault) bool {
			return f.Fault == test.fault && strings.HasPrefix(f.Subject, subject)
		}) {
			t.Errorf("%s: faults %v: want %q of %s", statement, faults, test.fault, subject)
		}
		enginetest.CloseFile(t, b)
	}
}

// explained reports whether Doctor knows a fault.
func explained(fault string) bool {
	return upkeep.ExplanationOf(fault).Means != upkeep.ExplanationOf("\x00").Means
}

// TestEveryFaultIsTried compares the tables with the statements, so that a new fault needs a line there, and in what Doctor says.
func TestEveryFaultIsTried(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, name := range sqlfiles.QueryNames() {
		if !strings.HasPrefix(name, "check") {
			continue
		}
		for _, m := range regexp.MustCompile(`(?m)^SELECT (?:DISTINCT )?'([^']+)'`).FindAllStringSubmatch(sqlfiles.Query(name), -1) {
			known[m[1]] = true
		}
	}
	if len(known) < 50 {
		t.Fatalf("only %d faults found in the statements", len(known))
	}
	tried := []string{}
	for _, s := range sabotage {
		tried = append(tried, s.fault)
	}
	for _, s := range talkSabotage {
		tried = append(tried, s.fault)
	}
	for fault := range known {
		if !slices.ContainsFunc(tried, func(s string) bool { return strings.HasPrefix(s, fault) || strings.HasPrefix(fault, s) }) {
			t.Errorf("no sabotage makes the fault %q", fault)
		}
		if !explained(fault) {
			t.Errorf("Doctor does not explain %q", fault)
		}
	}
}
