package main

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mallardmem/mallard/embed/ort"
	"github.com/mallardmem/mallard/pull"
)

// onnxRuntime is the name under which the library is pulled as if it were a model.
const onnxRuntime = "onnxruntime"

// pullFlags say what to pull.
type pullFlags struct {
	pull.ModelRequest
	hub, releases, system string
}

func newModelPullCommand(a *app) *cobra.Command {
	var p pullFlags
	cmd := &cobra.Command{
		Use:   "pull [NAME]",
		Short: "Fetch a model, or ONNX Runtime, and hold its files to their hashes",
		Long: `Pull fetches a model's files into a folder of its name under $MEMCTL_MODELS, or models in your cache folder for mallard; pull onnxruntime fetches the
library that runs models fast, into your cache folder, where it is found. memctl model known lists the models that are known to be good. A download that
broke off goes on where it stopped. The folder takes its name when all of it is there.

Every file is held to a SHA-256. For a model that is locked, those come with memctl. For any other, NAME or --from says where it is, and --lock takes the files
as they are there now and writes their hashes to mallard-models.lock beside the models; from then on they are held to that. A hash that differs is
an error that names both. --revision is a commit, branch or tag; the commit that it is now is what gets locked.

Where nothing can be reached, pull says which files are missing, where they would come from, and where to put them by hand; the same command then holds
them to the lock. An archive of ONNX Runtime that is here already, a release or a Python wheel, is named with --from. The addresses are those of the
flags, else of the table [models] of the configuration.`,
		Example: `  memctl model pull all-MiniLM-L6-v2
  memctl model pull onnxruntime
  memctl model pull gte-small --lock
  memctl model pull --from sentence-transformers/all-MiniLM-L12-v2 --revision main --lock
  memctl model pull onnxruntime --from onnxruntime-1.23.2-cp312-cp312-manylinux_2_27_x86_64.whl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				p.Name = args[0]
			} else if p.From == "" {
				return usage("name a model (memctl model known lists some), onnxruntime, or another one with --from")
			}
			pulled, err := a.pull(cmd, p)
			if err != nil {
				return wordedPull(err)
			}
			if err := a.answer(pulled, func() { a.printPulled(pulled) }); err != nil || pulled.Library == "" || p.system != "" {
				return err
			}
			if err := ort.Load(pulled.Library); err != nil {
				return fmt.Errorf("%s is there, but can't be loaded here: %w", pulled.Library, err)
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			names := []string{onnxRuntime + "\tthe library that runs models fast"}
			for _, k := range pull.KnownModels() {
				if k.Refused == "" {
					names = append(names, k.Name+"\t"+k.GoodFor)
				}
			}
			if len(args) > 0 {
				names = nil
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.To, "to", "", "the folder that gets the model's folder (default $MEMCTL_MODELS, else models in your cache folder for mallard)")
	f.StringVar(&p.From, "from", "", "owner/name at the hub, or the address of a folder of files; of onnxruntime an archive, a file or an address")
	f.StringVar(&p.Revision, "revision", "", "commit, branch or tag; of onnxruntime the version (default that of the lock, else main)")
	f.StringVar(&p.Graph, "graph", "", "the graph among the repository's files (default onnx/model.onnx)")
	f.BoolVar(&p.Lock, "lock", false, "take what is in no lock as it comes, and lock it")
	f.StringVar(&p.hub, "hub", "", "address of the hub (default as configured, else "+pull.DefaultHub+")")
	f.StringVar(&p.releases, "releases", "", "address of ONNX Runtime's releases (default as configured)")
	f.StringVar(&p.system, "system", "", "of onnxruntime: for another system than this, such as linux/arm64")
	return cmd
}

func (a *app) pull(cmd *cobra.Command, p pullFlags) (*pull.Pulled, error) {
	c, err := loadConfig(a.config)
	if err != nil {
		return nil, err
	}
	bar := newProgress(a)
	bar.bytes = true
	defer bar.stop()
	source := pull.Source{Hub: cmp.Or(p.hub, c.Models.Hub), Releases: cmp.Or(p.releases, c.Models.Releases), Progress: bar.report}
	if p.Name != onnxRuntime {
		if p.system != "" {
			return nil, usage("system is for onnxruntime; a model is the same everywhere")
		}
		p.To = cmp.Or(p.To, modelsFolder())
		return source.Model(cmd.Context(), p.ModelRequest)
	}
	if p.Graph != "" {
		return nil, usage("graph is for models; onnxruntime has none")
	}
	system, arch, both := strings.Cut(cmp.Or(p.system, runtime.GOOS+"/"+runtime.GOARCH), "/")
	if !both {
		return nil, usage("system is %q; allowed: an operating system and an architecture as Go names them, such as linux/arm64", p.system)
	}
	return source.Runtime(cmd.Context(), pull.RuntimeRequest{To: p.To, Version: p.Revision, OS: system, Arch: arch, From: p.From, Lock: p.Lock})
}

// wordedPull says an error in the words of the command line.
func wordedPull(err error) error {
	if wrong := (*pull.Invalid)(nil); errors.As(err, &wrong) {
		if wrong.Field == "name" {
			return usage("%w: memctl model known lists them, and --from names others", err)
		}
		return usage("%w", err)
	}
	if open := (*pull.Unlocked)(nil); errors.As(err, &open) {
		at := ""
		if open.Revision != "" {
			at = " at " + open.Revision
		}
		return fmt.Errorf("nothing says what the files of %s (%s%s) have to be: --lock takes them as they are there now, and holds them to that from then on", open.Name, open.Source, at)
	}
	return err
}

func (a *app) printPulled(p *pull.Pulled) {
	var bytes int64
	for _, f := range p.Files {
		bytes += f.Size
	}
	switch {
	case p.Already && p.Library != "":
		a.printf("%s %s is there: %s\n", p.Name, p.Revision, p.Library)
	case p.Library != "":
		a.printf("%s %s is in %s\n", p.Name, p.Revision, p.Library)
	case p.Already:
		a.printf("%s is in %s, as locked: %s\n", p.Name, p.Folder, plural(len(p.Files), "file", "files"))
	default:
		a.printf("%s is in %s: %s, %.1f MB, as locked\n", p.Name, p.Folder, plural(len(p.Files), "file", "files"), float64(bytes)/1e6)
	}
	if p.Locked {
		a.printf("Locked as they came, at %s:\n", cmp.Or(p.Revision, p.Source))
		for _, f := range p.Files {
			a.printf("  %s  %s\n", f.SHA256, f.Path)
		}
	}
}

func newModelKnownCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "known",
		Short: "List the models that are known to be good",
		Long: `Known lists models with their size, licence, dimensions and what they are good for. The files of a locked one are known by their SHA-256, so that
memctl model pull NAME is enough; any other is pulled with --lock. Those that can't be run here say why.`,
		Example: `  memctl model known
  memctl model known --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			known := pull.KnownModels()
			return a.answer(map[string]any{"models": known}, func() {
				t := a.table("model", "kind", "MB", "dims", "tokens", "licence", "locked", "languages", "good for")
				right(t, "MB", "dims", "tokens")
				for _, k := range known {
					locked := "no"
					if k.Locked() {
						locked = "yes"
					} else if k.Refused != "" {
						locked = "–"
					}
					dims := "–"
					if k.Dims > 0 {
						dims = fmt.Sprint(k.Dims)
					}
					t.AppendRow([]any{k.Name, k.Kind, k.Megabytes, dims, k.Tokens, k.Licence, locked, k.Languages, k.GoodFor})
				}
				t.Render()
				for _, k := range known {
					if k.Refused != "" {
						a.printf("\n%s can't be run here: %s.", k.Name, k.Refused)
					}
				}
				a.printf("\n\nmemctl model pull NAME fetches one; one that is not locked needs --lock.\n")
			})
		},
	}
}
