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

// TestCheckFindsEveryFault wants found what TestDoctorRepairsMemories does not.
func TestCheckFindsEveryFault(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a file for every fault")
	}
	t.Parallel()
	whole, names := stockedFile(t)
	findEvery(t, whole, names, ofMemories(t), doctoredMemories(t))
}

// TestCheckFindsEveryFaultOfTalk wants found what TestDoctorRepairsTalk does not.
func TestCheckFindsEveryFaultOfTalk(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a file for every fault")
	}
	t.Parallel()
	whole, names := enginetest.TalkFile(t)
	findEvery(t, whole, names, ofTalk(t), doctoredTalk(t))
}

// findEvery breaks a file in some ways, and has Check find each. If it is not long, those that Doctor's test wants found are left to that, and some are tried
// together; what is not found of those is tried alone, for one may be in another's way.
func findEvery(t *testing.T, whole []byte, names *strings.Replacer, ways []sabotage, doctored map[string]bool) {
	t.Helper()
	ways = slices.DeleteFunc(ways, func(way sabotage) bool { return doctored[way.statement] && !enginetest.Long("doctor") })
	for _, group := range together(ways) {
		hidden, _ := unfound(t, whole, names, group)
		for _, way := range hidden {
			if still, faults := unfound(t, whole, names, []sabotage{way}); len(still) > 0 {
				t.Errorf("%s: faults %v: want %q of %s", names.Replace(way.statement), faults, way.fault, names.Replace(way.subject))
			}
		}
	}
}

// unfound breaks a file in some ways at once, and gives those of which Check does not find the fault, and what it finds.
func unfound(t *testing.T, whole []byte, names *strings.Replacer, ways []sabotage) (hidden []sabotage, faults []upkeep.Fault) {
	t.Helper()
	broken := enginetest.NewFile(t)
	if err := os.WriteFile(broken, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	enginetest.Tamper(t, broken, statements(ways, names)...)
	e := enginetest.OpenFile(t, broken, engine.Options{ReadOnly: true})
	defer enginetest.CloseFile(t, e)
	faults, err := e.Check(t.Context())
	if err != nil {
		t.Fatalf("%v: %v", statements(ways, names), err)
	}
	for _, way := range ways {
		subject := names.Replace(way.subject)
		if !slices.ContainsFunc(faults, func(f upkeep.Fault) bool { return f.Fault == way.fault && strings.HasPrefix(f.Subject, subject) }) {
			hidden = append(hidden, way)
		}
	}
	return hidden, faults
}

// explained reports whether Doctor knows a fault.
func explained(fault string) bool {
	return upkeep.ExplanationOf(fault).Means != upkeep.ExplanationOf("\x00").Means
}

// TestEveryFaultIsTried compares the ways to break a file with the statements, so that a new fault needs a line there, and in what Doctor says.
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
	for _, way := range append(ofMemories(t), ofTalk(t)...) {
		tried = append(tried, way.fault)
	}
	for fault := range known {
		if !slices.ContainsFunc(tried, func(s string) bool { return strings.HasPrefix(s, fault) }) {
			t.Errorf("no sabotage makes the fault %q", fault)
		}
		if !explained(fault) {
			t.Errorf("Doctor does not explain %q", fault)
		}
	}
}

// TestCheckOfOneTable leaves one table at a time filled, of all a file has: Check, which asks nothing of tables that are empty, finds what all its
// statements find.
func TestCheckOfOneTable(t *testing.T) {
	enginetest.Alone(t)
	e := enginetest.OpenFile(t, enginetest.NewFile(t), engine.Options{Embedder: enginetest.Words{}})
	enginetest.Stock(t, e)
	enginetest.Shelf(t, e)
	tamper := func(statement string) {
		t.Helper()
		if err := enginetest.TamperOpen(t.Context(), e, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	var filled []string
	for _, row := range enginetest.Rows(t, e, "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' AND database_name = current_database() AND NOT internal AND estimated_size > 0") {
		name := fmt.Sprint(row[0])
		tamper("CREATE TABLE kept_" + name + " AS FROM " + name)
		tamper("DELETE FROM " + name)
		filled = append(filled, name)
	}
	faulty := 0
	for _, name := range filled {
		tamper("INSERT INTO " + name + " FROM kept_" + name)
		var want, got []string
		for _, query := range sqlfiles.QueryNames() {
			if strings.HasPrefix(query, "check_") && query != "check_macros" {
				for _, row := range enginetest.Rows(t, e, sqlfiles.Query(query)) {
					want = append(want, fmt.Sprintf("%s: %s", row...))
				}
			}
		}
		faults, err := e.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range faults {
			got = append(got, f.String())
		}
		slices.Sort(want)
		slices.Sort(got)
		enginetest.Equal(t, "faults where only "+name+" is filled", want, got)
		faulty += min(len(want), 1)
		tamper("DELETE FROM " + name)
	}
	if faulty < 12 {
		t.Errorf("only %d of the tables %v make a fault alone", faulty, filled)
	}
}
