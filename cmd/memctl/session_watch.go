package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/session"
)

// followable leaves out what is not there and has no name of a transcript that may come, and says so: a folder that is misspelt would be waited for
// in silence.
func (a *app) followable(paths []string) (there []string, err error) {
	var errs []error
	for _, path := range paths {
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(strings.TrimSuffix(path, ".zst"), ".jsonl") {
			errs = append(errs, fmt.Errorf("%s: %w; allowed: a folder that is there, or a file of the name *.jsonl, which may come later", path, fs.ErrNotExist))
			continue
		}
		there = append(there, path)
	}
	if len(there) == 0 {
		return nil, errors.Join(errs...)
	}
	for _, err := range errs {
		fmt.Fprintf(a.stderr, "memctl: not followed: %s\n", printable(err.Error()))
	}
	return there, nil
}

func newSessionWatchCommand(a *app) *cobra.Command {
	var r session.WatchRequest
	cmd := &cobra.Command{
		Use:   "watch [PATH…]",
		Short: "Follow transcripts while they grow",
		Long: `Watch imports transcripts and then follows them: files, also such as do not exist yet when their name is that of a transcript (*.jsonl), and
folders with all that comes into them.
It runs until it is interrupted, and nobody else writes the memory file meanwhile; memctl recall, list, get, stats, sql, snapshot and conversation
grep of the same user are answered through it. Stop it whenever you like: the next watch or import goes on where it was. With --json it prints one line for every file that brought something.`,
		Example: `  memctl session watch --host claude
  memctl session watch ~/.codex/sessions --debounce 1s`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && r.Host == "" {
				return usage("name files or folders, or a --host")
			}
			there, err := a.followable(args)
			if err != nil {
				return err
			}
			r.Paths, r.Agent = there, a.agent
			r.Report = func(f session.FileReport) {
				if a.json {
					json.NewEncoder(a.stdout).Encode(f) // a reader that went away ends the program by itself
					return
				}
				a.printSessionFile(f)
			}
			r.Ready = func() { a.note("Following; interrupt to stop.") }
			return a.with(cmd.Context(), canWrite|canEmbed|canCreate|canExplore|canRerank|holds, func(e *engine.Engine) error {
				defer a.share(e)()
				return session.Watch(cmd.Context(), e, r)
			})
		},
	}
	f := cmd.Flags()
	sessionFlags(f, &r.Host, &r.Scope, &r.Redact)
	f.DurationVar(&r.Debounce, "debounce", 300*time.Millisecond, "how long a file has to be quiet before it is read")
	complete(cmd, "host", session.Hosts())
	return cmd
}
