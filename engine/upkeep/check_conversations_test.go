package upkeep_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/upkeep"
)

// asBefore: what is broken is said twice in the file, and Doctor makes everything what it was.
const asBefore = "="

// talkSabotage breaks the file of talkFile, each line in one way. What Doctor leaves of it stands in the last column; empty: nothing.
var talkSabotage = []struct{ fault, statement, subject, left string }{
	{"message that is lost", "DELETE FROM context_items WHERE ref = '{11}'", "{11}", asBefore},
	{"message that is lost", "DELETE FROM summary_sources WHERE summary_id = '{leaf}' AND source = '{8}'", "{8}", asBefore},
	{"message that is lost", "DELETE FROM context_items", "{10}", asBefore},
	{"message that is under two summaries", "INSERT INTO summary_sources FROM summary_sources", "{1}", asBefore},
	{"summary that stands for itself", "UPDATE summary_sources SET kind = 'summary', source = '{top}' WHERE summary_id = '{low}'", "{low}", asBefore},
	{"source that is not in the conversation", "UPDATE summaries SET conversation_id = '{aside}'", "{leaf}", asBefore},
	{"message that is in the context twice", "INSERT INTO context_items FROM context_items WHERE ref = '{10}'", "{10}", ""},
	{"message that is in the context and under a summary", "INSERT INTO context_items SELECT conversation_id, seq, 'message', id, tokens FROM messages WHERE id = '{8}'", "{8}", ""},
	{"message that is in the context and set aside", "UPDATE messages SET set_aside = 'new', set_aside_at = said_at WHERE id = '{12}'", "{12}", ""},
	{"message that is under a summary and set aside", "UPDATE messages SET set_aside = 'new', set_aside_at = said_at WHERE id = '{2}'", "{2}", ""},
	{"message that is under two summaries", "INSERT INTO summary_sources VALUES ('{leaf}', 3, 'message', '{1}')", "{1}", asBefore},
	{"message that is set aside at no time", "UPDATE messages SET set_aside_at = NULL WHERE id = '{13}'", "{13}", ""},
	{"message that is set aside at no time", "UPDATE messages SET set_aside_at = said_at WHERE id = '{12}'", "{12}", ""},
	{"message whose tokens are not counted", "UPDATE messages SET tokens = NULL WHERE id = '{call}'", "{call}", ""},
	{"context item that refers to nothing", "UPDATE context_items SET ref = 'msg_ghost' WHERE ref = '{12}'", "msg_ghost", ""},
	{"context item that refers to nothing", "UPDATE context_items SET conversation_id = '{aside}' WHERE ref = '{12}'", "{12}", ""},
	{"context item that refers to nothing", "UPDATE context_items SET conversation_id = '{aside}' WHERE ref = '{leaf}'", "{leaf}", asBefore},
	{"context item that refers to nothing", "UPDATE context_items SET kind = 'other' WHERE ref = '{leaf}'", "{leaf}", asBefore},
	{"context item that refers to nothing", "UPDATE context_items SET kind = 'message' WHERE ref = '{leaf}'", "{leaf}", asBefore},
	{"context item that refers to nothing", "UPDATE context_items SET ref = 'sum_ghost' WHERE ref = '{leaf}'", "sum_ghost", asBefore},
	{"summary that is lost", "DELETE FROM context_items WHERE ref = '{leaf}'", "{leaf}", asBefore},
	{"summary that is lost", "DELETE FROM context_items WHERE kind = 'summary'", "{leaf}", asBefore},
	{"summary that is lost", "DELETE FROM summary_sources WHERE source = '{mid}'", "{mid}", asBefore},
	{"context item at another position", "UPDATE context_items SET position = 2 WHERE ref = '{top}'", "{top}", ""},
	{"context item with other tokens", "UPDATE context_items SET tokens = 99 WHERE ref = '{leaf}'", "{leaf}", ""},
	{"context item with other tokens", "UPDATE messages SET tokens = 99 WHERE id = '{12}'", "{12}", ""},
	{"context items that overlap", "UPDATE summaries SET last_seq = 10 WHERE id = '{leaf}'", "{10}", ""},
	{"context item in the midst of", "UPDATE context_items SET position = 5 WHERE ref = '{11}'", "{11}", ""},
	{"two active conversations of one name", "UPDATE conversations SET name = 'talk'", "talk", ""},
	{"two active conversations of one session key", "UPDATE conversations SET session_key = 'talk'", "talk", ""},
	{"conversation that is both active and archived", "UPDATE conversations SET active = false WHERE name = 'talk'", "{talk}", ""},
	{"conversation that is both active and archived", "UPDATE conversations SET archived_at = created_at WHERE name = 'talk'", "{talk}", ""},
	{"conversation that is both active and archived", "UPDATE conversations SET active = NULL WHERE name = 'talk'", "{talk}", ""},
	{"conversation whose tokens nobody can count", "UPDATE conversations SET estimator = 'guess' WHERE name = 'talk'", "{talk}", ""},
	{"conversation whose tokens nobody can count", "UPDATE conversations SET estimator = NULL WHERE name = 'talk'", "{talk}", ""},
	{"debt of no conversation", "INSERT INTO compaction_debts VALUES ('ghost', 'test', 1, now()::TIMESTAMP, 0, NULL, NULL)", "ghost", ""},
	{"debt of no conversation", "INSERT INTO compaction_debts SELECT '{talk}', 'test', 1, now()::TIMESTAMP, 0, NULL, NULL FROM range(2)", "{talk}", ""},
	{"compaction of no conversation", "INSERT INTO compactions VALUES ('cmp_1', 'ghost', '{leaf}', 'leaf', 0, 'normal', 'm', 3, 9, 8, 1, now()::TIMESTAMP, now()::TIMESTAMP)", "cmp_1", ""},
	{"cursor of no conversation", "UPDATE cursors SET conversation_id = 'ghost'", "/talk.jsonl", ""},

	{"summary of no conversation", "UPDATE summaries SET conversation_id = 'ghost' WHERE id = '{leaf}'", "{leaf}", asBefore},
	{"summary without a document", "DELETE FROM documents WHERE owner_id = '{leaf}'", "{leaf}", ""},
	{"document differs from its summary", "UPDATE documents SET live = false WHERE owner_id = '{leaf}'", "{leaf}", ""},
	{"document differs from its summary", "UPDATE documents SET created_at = created_at + INTERVAL 1 DAY WHERE owner_id = '{top}'", "{top}", ""},
	{"summary that was made from nothing", "DELETE FROM summary_sources WHERE summary_id = '{leaf}'", "{leaf}", asBefore},
	{"summary that was made from nothing", "DELETE FROM summary_sources WHERE summary_id = '{top}'", "{top}", asBefore},
	{"summary that was made from nothing", "UPDATE summaries SET messages = 4 WHERE id = '{leaf}'; DELETE FROM summary_sources WHERE summary_id = '{leaf}'", "{leaf}",
		"summary that was made from nothing"},
	{"sources of no summary", "DELETE FROM summaries WHERE id = '{leaf}'", "{leaf}", ""},
	{"source that is not in the conversation", "UPDATE summary_sources SET source = 'msg_ghost' WHERE source = '{9}'", "{leaf}", asBefore},
	{"source that is not in the conversation", "UPDATE summary_sources SET kind = 'other' WHERE source = '{low}'", "{top}", asBefore},
	{"source that is not in the conversation", "UPDATE summary_sources SET kind = 'message' WHERE source = '{low}'", "{top}", asBefore},
	{"source that is not in the conversation", "DELETE FROM summaries WHERE id = '{mid}'", "{top}", "source that is not in"},
	{"source that is not in the conversation", "UPDATE messages SET conversation_id = '{aside}', seq = 3 WHERE id = '{9}'", "{leaf}", "source that is not in"},
	{"sources that are not numbered from 0", "UPDATE summary_sources SET ordinal = 7 WHERE source = '{9}'", "{leaf}", ""},
	{"sources that are not numbered from 0", "UPDATE summary_sources SET ordinal = 0 WHERE source = '{9}'", "{leaf}", ""},
	{"sources that are out of order, or overlap", "UPDATE summary_sources SET ordinal = 1 - ordinal WHERE summary_id = '{top}'", "{top}", ""},
	{"sources that are out of order, or overlap", "UPDATE summaries SET last_seq = 4 WHERE id = '{low}'", "{top}", ""},
	{"summary that is not one deeper", "UPDATE summaries SET depth = 2 WHERE id = '{top}'", "{top}", ""},
	{"summary that is not one deeper", "UPDATE summaries SET kind = 'leaf' WHERE id = '{top}'", "{top}", ""},
	{"summary that is not one deeper", "UPDATE summaries SET depth = 1, kind = 'condensed' WHERE id = '{low}'", "{top}", ""},
	{"summary that is not one deeper", "INSERT INTO summary_sources VALUES ('{top}', 2, 'message', '{12}')", "{top}", asBefore},
	{"summary that is a source of two", "INSERT INTO context_items SELECT conversation_id, first_seq, 'summary', id, tokens FROM summaries WHERE id = '{mid}'", "{mid}", ""},
	{"summary that is a source of two", "INSERT INTO summary_sources VALUES ('{leaf}', 3, 'summary', '{mid}')", "{mid}", asBefore},
	{"summary that stands for itself", "INSERT INTO summary_sources VALUES ('{low}', 3, 'summary', '{top}')", "{low}", asBefore},
	{"summary that stands for itself", "UPDATE summaries SET last_seq = 6 WHERE id = '{low}'; DELETE FROM context_items WHERE ref = '{top}'; " +
		"UPDATE summary_sources SET kind = 'summary', source = '{top}' WHERE summary_id = '{low}'", "{low}", "summary that stands for itself"},
	{"counts of a summary differ", "UPDATE summaries SET messages = 4 WHERE id = '{leaf}'", "{leaf}", ""},
	{"counts of a summary differ", "UPDATE summaries SET source_tokens = source_tokens + 1 WHERE id = '{low}'", "{top}", ""},
	{"counts of a summary differ", "UPDATE summaries SET descendants = 3 WHERE id = '{top}'", "{top}", ""},
	{"counts of a summary differ", "UPDATE summaries SET tokens = tokens + 1 WHERE id = '{mid}'", "{top}", ""},
	{"counts of a summary differ", "UPDATE messages SET tokens = 99 WHERE id = '{7}'", "{leaf}", ""},
	{"range of a summary differs", "UPDATE summaries SET first_seq = 2 WHERE id = '{low}'", "{low}", ""},
	{"range of a summary differs", "UPDATE summaries SET latest_at = latest_at + INTERVAL 1 DAY WHERE id = '{top}'", "{top}", ""},

	{"part of no message", "UPDATE parts SET message_id = 'msg_ghost'", "msg_ghost", asBefore},
	{"part of no message", "UPDATE parts SET seq = 9", "{call}", asBefore},
	{"parts that are not numbered from 0", "UPDATE parts SET ordinal = 3 WHERE ordinal = 0", "{call}", ""},
	{"part that refers to no large file", "UPDATE parts SET file_id = 'file_ghost' WHERE ordinal = 1", "{call}", "part that refers to no large file"},
	{"large file of no message", "INSERT INTO large_files SELECT 'file_1', '{aside}', 'msg_ghost', NULL, NULL, bytes, 1, sha256, 'x', now()::TIMESTAMP FROM payloads", "file_1", ""},
	{"large file of no message", "INSERT INTO large_files SELECT 'file_1', '{talk}', '{long}', NULL, NULL, bytes, 1, sha256, 'x', now()::TIMESTAMP FROM payloads", "file_1", ""},
	{"content that is missing", "DELETE FROM payloads", "", "content that is missing"},
	{"content that is missing", "UPDATE payloads SET content = NULL", "", "content that is missing"},
	{"content that nobody refers to", "INSERT INTO payloads VALUES ('00', 3, 'abc'::BLOB)", "00", ""},
	{"content that was altered", "UPDATE payloads SET content = repeat('x', bytes::INTEGER)::BLOB", "", "content that was altered"},
	{"two messages of one key", "UPDATE messages SET caller_key = 'k' WHERE seq < 3 AND conversation_id = '{talk}'", "", "two messages of one key"},
	{"content of another length", "UPDATE payloads SET bytes = bytes + 1", "", "content of another length"},
}

// TestCheckFindsEveryFaultOfTalk wants a fault for each line of talkSabotage that TestDoctorRepairsTalk does not want to be found.
func TestCheckFindsEveryFaultOfTalk(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a file for every fault")
	}
	t.Parallel()
	whole, names := enginetest.TalkFile(t)
	broken := enginetest.NewFile(t)
	doctored := doctoredTalk()
	for _, test := range talkSabotage {
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
			return strings.HasPrefix(f.Fault, test.fault) && strings.HasPrefix(f.Subject, subject)
		}) {
			t.Errorf("%s: faults %v: want %q of %s", test.statement, faults, test.fault, subject)
		}
		enginetest.CloseFile(t, b)
	}
}
