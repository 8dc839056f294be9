package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/engine/ids"
	"github.com/mallardmem/mallard/engine/lineage"
	"github.com/mallardmem/mallard/engine/share"
)

func newLineageCommand(a *app) *cobra.Command {
	var r lineage.Request
	cmd := &cobra.Command{
		Use:   "lineage ID",
		Short: "Show what something came from, and what came from it",
		Long: `Lineage draws two trees: what a memory, message, summary, import or call of a model came from, and what came from it. Each step says how: drawn from
messages, found by a call, merged, imported, named, supported, contradicted, superseded or summarised. What stands twice in a tree is taken further once.`,
		Example: `  memctl lineage 8f3k2m9p
  memctl lineage msg_01j8x4v2h6d0e3s5t7w9y1a2b3 --depth 2 --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeArgs(a.memories, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.ID, r.Agent = args[0], a.agent
			return a.asking(cmd.Context(), 0, func(file *share.Reader) error {
				l, err := share.Lineage.Do(cmd.Context(), file, r)
				if err != nil {
					return err
				}
				return a.answer(l, func() { a.printLineage(l) })
			})
		},
	}
	cmd.Flags().IntVar(&r.Depth, "depth", 100, "how many steps")
	return cmd
}

func (a *app) printLineage(l *lineage.Lineage) {
	a.printf("%s\n", a.nodeOf(l.Node, 0))
	for _, way := range []struct {
		name     string
		branches []*lineage.Branch
	}{{"came from", l.Ancestors}, {"became", l.Descendants}} {
		if len(way.branches) == 0 {
			a.printf("%s: nothing\n", way.name)
			continue
		}
		a.printf("%s:\n", way.name)
		a.printBranches(way.branches, "")
	}
}

func (a *app) printBranches(all []*lineage.Branch, margin string) {
	for i, b := range all {
		branch, below := "├─ ", "│  "
		if i == len(all)-1 {
			branch, below = "└─ ", "   "
		}
		how := string(b.How)
		for _, more := range []string{b.Part, b.Label} {
			if more != "" {
				how += " (" + printable(more) + ")"
			}
		}
		again := ""
		if b.Again {
			again = "  (see above)"
		}
		a.printf("%s%s%s: %s%s\n", margin, branch, how, a.nodeOf(b.Node, len([]rune(margin+branch+how))+2), again)
		a.printBranches(b.Branches, margin+below)
	}
}

// nodeOf is a source or a memory on one line, which has so many characters before it.
func (a *app) nodeOf(n lineage.Node, before int) string {
	head := fmt.Sprintf("%s %s", n.Kind, ids.Short(n.ID))
	if n.Standing != "" {
		head += " [" + printable(n.Standing) + "]"
	}
	return strings.TrimSpace(head + "  " + line(cmp.Or(n.Text, "–"), max(a.width()-before-len(head)-2, 20)))
}
