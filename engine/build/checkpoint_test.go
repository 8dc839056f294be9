package build_test

import (
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine/build"
	"github.com/mallardmem/mallard/engine/checkpoint"
	"github.com/mallardmem/mallard/engine/ids"
)

// TestCheckpointIsTheState: where a preset shows how the agent stands and no summaries, the newest checkpoint is shown, if it has read as far as the newest summary.
func TestCheckpointIsTheState(t *testing.T) {
	t.Parallel()
	e := busy(t) // a summary stands for the messages 1 and 2
	stands := func(preset string) string {
		t.Helper()
		b := built(t, e, build.Request{Preset: preset, Input: "and now?", Snapshot: true})
		v, err := e.VerifyContext(t.Context(), b.SnapshotID, "")
		if err != nil || !v.Same {
			t.Errorf("%s: built again: %+v, %v", preset, v, err)
		}
		for _, it := range b.Items {
			if it.Kind == "summary" && it.Kept {
				return it.ID + " " + it.Text
			}
		}
		return ""
	}
	adopt := func(key, after, summary string) {
		t.Helper()
		k, adopted, err := e.AdoptCheckpoint(t.Context(), checkpoint.AdoptRequest{Conversation: "c", Key: key, After: after, Summary: summary, Questions: []string{"which berth?"}})
		if err != nil || !adopted || !strings.HasPrefix(k.ID, ids.Checkpoint) {
			t.Fatalf("%+v, %v, %v", k, adopted, err)
		}
	}
	if s := stands("openboa"); !strings.HasPrefix(s, ids.Summary) {
		t.Errorf("without a checkpoint: %q", s)
	}
	adopt("1", "", "They look for a berth & a crane.")
	if s := stands("openboa"); !strings.HasPrefix(s, ids.Checkpoint) || !strings.Contains(s, "They look for a berth &amp; a crane.") || !strings.Contains(s, "which berth?") {
		t.Errorf("with a checkpoint: %q", s)
	}
	if s := stands("goclaw"); !strings.HasPrefix(s, ids.Summary) {
		t.Errorf("a preset of summaries: %q", s)
	}
	before := built(t, e, build.Request{Preset: "openboa", Input: "and now?"})
	adopt("2", "", "They have found it.")
	if v, err := e.VerifyContext(t.Context(), before.SnapshotID, ""); err != nil || !v.Same {
		t.Errorf("a later checkpoint changes what was built: %+v, %v", v, err)
	}
	if s := stands("openboa"); !strings.Contains(s, "They have found it.") {
		t.Errorf("the newest: %q", s)
	}
}
