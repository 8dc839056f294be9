package bench_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/bench"
)

// childPhase in the environment makes this test program run one phase of the recall bench.
const childPhase, childFile = "MALLARD_BENCH_PHASE", "MALLARD_BENCH_FILE"

func small() bench.RecallConfig {
	return bench.RecallConfig{Memories: 300, Words: 150, Versions: 2, Dims: 16, Queries: 3, Live: 5, Seed: 7}
}

func TestMain(m *testing.M) {
	phase := os.Getenv(childPhase)
	if phase == "" {
		os.Exit(m.Run())
	}
	report, err := bench.RunPhase(context.Background(), small(), bench.Phase(phase), os.Getenv(childFile))
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(report)
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

func TestRunRecall(t *testing.T) {
	if testing.Short() {
		t.Skip("short: eight processes, one of them killed")
	}
	config := small()
	config.Folder = t.TempDir()
	config.Child = func(ctx context.Context, phase bench.Phase, file string) *exec.Cmd {
		child := exec.CommandContext(ctx, os.Args[0])
		child.Env = append(os.Environ(), childPhase+"="+string(phase), childFile+"="+file)
		child.Stderr = os.Stderr
		return child
	}
	report, err := bench.RunRecall(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	var measured map[string]any // what is zero is left out
	if err := json.Unmarshal(content, &measured); err != nil {
		t.Fatal(err)
	}
	for _, name := range keys(reflect.TypeFor[bench.RecallReport]()) {
		if _, err := os.Stat("/proc/self/status"); err != nil && strings.HasSuffix(name, "peak_mb") {
			continue // this system does not tell
		}
		if _, ok := measured[name]; !ok {
			t.Errorf("%s was not measured", name)
		}
	}
	for _, name := range keys(reflect.TypeFor[bench.RecallTimes]()) {
		if measured[name] != measured[name+"_resident"] || measured[name+"_sql"] == nil {
			t.Errorf("%s: %v, by the resident index %v, by SQL %v", name, measured[name], measured[name+"_resident"], measured[name+"_sql"])
		}
	}
	if report.Memories != 300 || report.Dims != 16 {
		t.Errorf("%d memories of %d dimensions, want 300 of 16", report.Memories, report.Dims)
	}
	if want := report.FileMB * (1 << 20) / 300; report.BytesPerMemory != want {
		t.Errorf("%v bytes per memory, want %v", report.BytesPerMemory, want)
	}
	if report.RecallTimes.HybridP50 > report.RecallTimes.HybridP99 || report.RememberP99 > report.RememberMax {
		t.Errorf("percentiles out of order: %+v", report)
	}
	left, err := os.ReadDir(config.Folder)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if report.Agreement < 0.9 { // both read the clock, and hits of nearly the same score may change places
		t.Errorf("both ways agree on %v of the questions", report.Agreement)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil || !strings.Contains(text.String(), "300 memories, bench-clusters-16") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// keys are those of a report in JSON, in their order.
func keys(report reflect.Type) (names []string) {
	for i := range report.NumField() {
		field := report.Field(i)
		if field.Anonymous {
			names = append(names, keys(field.Type)...)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func TestRunRecallRefuses(t *testing.T) {
	for _, c := range []struct {
		config bench.RecallConfig
		want   string
	}{
		{bench.RecallConfig{Memories: 3}, "memories is 3; allowed: 100 to 10000000"},
		{bench.RecallConfig{Memories: 300, Dims: -1}, "dims is -1; allowed: 1 to 16384"},
		{bench.RecallConfig{Memories: 300, Queries: -1}, "queries is -1"},
		{bench.RecallConfig{Memories: 300, Live: -1}, "live is -1"},
	} {
		_, err := bench.RunRecall(context.Background(), c.config)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.config, err, c.want)
		}
	}
	_, err := bench.RunPhase(context.Background(), small(), "sleep", "x.db")
	if want := `phase is "sleep"; allowed: [load measure live reopen]`; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
