package faulttest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/memory"
	"github.com/mallardmem/mallard/engine/salvage"
)

// TestRecovery damages files as TestCorruption does and recovers each. Whatever happened to it, the new file opens and Check finds nothing that was not said; what is
// said to be whole is, and what is not there, or is otherwise than it was, was said to be.
func TestRecovery(t *testing.T) {
	seed := seeded(t)
	eachBase(t, func(t *testing.T, base image) { saveAll(t, base, seed, asked(t, 4, 500)) })
}

// saveAll damages the files of a folder so many times, and recovers each.
func saveAll(t *testing.T, base image, seed uint64, times int) {
	t.Helper()
	whole := save(t, &juror{}, base)
	if whole.Fault != "" || whole.Came != "whole" || len(whole.Content) == 0 {
		t.Fatalf("the undamaged file: %+v", whole)
	}
	strikeAll(t, base, seed, times, "recoveries", func(r *juror, damaged image) (came, fault string) {
		v := save(t, r, damaged)
		if v.Fault == "" && v.Came != "nothing" {
			v.Fault = v.untold(whole.Content)
		}
		return v.Came, v.Fault
	})
}

// saving is what a process that recovers a file says of it.
type saving struct {
	Came    string // whole, in part, nothing
	Fault   string // what must not be
	Content content
	Lost    bool // rows were said to be lost
	Altered bool // rows were said to be doubtful, or to have been put right
}

// untold is what was not said of rows that are not there, or are otherwise than they were.
func (v saving) untold(was content) string {
	var lost, altered []string
	for key, value := range was {
		switch {
		case v.Content[key] == "":
			lost = append(lost, key)
		case v.Content[key] != value:
			altered = append(altered, key)
		}
	}
	switch {
	case v.Came == "whole" && !maps.Equal(v.Content, was):
		return "not whole, but said to be: " + some(append(lost, altered...))
	case len(lost) > 0 && !v.Lost && !v.Altered:
		return "lost, and not said to be: " + some(lost)
	case len(altered) > 0 && !v.Altered && !v.Lost: // what was lost may be the last that happened to a row
		return "altered, and not said to be: " + some(altered)
	}
	return ""
}

// save has a folder made and its file recovered.
func save(t *testing.T, r *juror, m image) (v saving) {
	if died := r.putFolder(t, "save", m, &v); died != "" {
		v = saving{Fault: died}
	}
	return v
}

// saveFiles is the child that recovers files: of folders, one a line.
func saveFiles([]string) error {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var folder string
		if err := json.Unmarshal(in.Bytes(), &folder); err != nil {
			return err
		}
		tell(saveFile(folder))
	}
	return nil
}

// serveRecovery is the child that reads a damaged file for one that recovers it.
func serveRecovery([]string) error {
	return salvage.ServeRecovery(context.Background(), os.Stdin, os.Stdout)
}

// saveFile recovers the file of a folder and reads what came of it.
func saveFile(folder string) (v saving) {
	ctx := context.Background()
	l := newLife(folder)
	l.begin(999)
	to := filepath.Join(folder, "saved.db")
	found, err := engine.Recover(ctx, salvage.Request{From: filepath.Join(folder, fileName), To: to, Options: l.options(), Reader: func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), childRole+"=read-damaged")
		return cmd
	}})
	if err != nil {
		v.Came = "nothing"
		if !errors.Is(err, engine.ErrCorrupt) {
			v.Fault = "can't be recovered, but not as a file without anything: " + err.Error()
		}
		return v
	}
	v.Came, v.Lost, v.Altered = "in part", found.Behind || found.Log.Lost > 0, len(found.Repairs)+len(found.Left) > 0
	if found.Whole() {
		v.Came = "whole"
	}
	for _, table := range found.Tables {
		v.Lost = v.Lost || table.Lost > 0
		v.Altered = v.Altered || table.Doubtful > 0 || len(table.Without) > 0
	}
	e, err := engine.Open(ctx, to, l.options())
	if err != nil {
		v.Fault = "what was recovered does not open: " + err.Error()
		return v
	}
	defer e.Close()
	if v.Content, err = contentOf(ctx, e); err != nil {
		v.Fault = "what was recovered can't be read: " + err.Error()
		return v
	}
	faults, err := e.Check(ctx)
	if err != nil {
		v.Fault = "what was recovered can't be checked: " + err.Error()
	} else if len(faults) > 0 && len(found.Left) == 0 {
		v.Fault = fmt.Sprintf("check finds %d faults that were not said to be left: %s", len(faults), faults[0])
	}
	if _, err := e.Remember(ctx, memory.RememberRequest{Text: "written afterwards"}); err != nil && v.Fault == "" {
		v.Fault = "what was recovered can't be written to: " + strings.TrimSpace(err.Error())
	}
	return v
}
