package pull

import (
	_ "embed"
	"fmt"
	"slices"
	"sync"

	"github.com/BurntSushi/toml"
)

// What a model is for.
const (
	Embedding    = "embedding"
	CrossEncoder = "cross-encoder"
)

// Known is a model that is known to be good, and how its folder has to be read.
type Known struct {
	Name      string `toml:"name" json:"name"`
	Kind      string `toml:"kind" json:"kind"`
	Source    string `toml:"source" json:"source"`                           // owner/repository at the hub
	Licence   string `toml:"licence" json:"licence"`                         // as the repository states it
	Megabytes int    `toml:"megabytes" json:"megabytes"`                     // of its files, about
	Dims      int    `toml:"dims" json:"dims,omitempty"`                     // of an embedding
	Tokens    int    `toml:"tokens" json:"tokens"`                           // longer texts are cut
	Pooling   string `toml:"pooling" json:"pooling,omitempty"`               // of an embedding: mean or cls
	Languages string `toml:"languages" json:"languages"`                     //
	GoodFor   string `toml:"good_for" json:"good_for"`                       //
	Query     string `toml:"query_prefix" json:"query_prefix,omitempty"`     // stands before a question
	Passage   string `toml:"passage_prefix" json:"passage_prefix,omitempty"` // and before a text that is to be found
	Refused   string `toml:"refused" json:"refused,omitempty"`               // why it can't be run here; such a model is not pulled
	Revision  string `toml:"revision" json:"revision,omitempty"`             // that is locked
	Files     []File `toml:"files" json:"files,omitempty"`                   // none: it is not locked
}

// Locked reports whether the program says what the files are.
func (k Known) Locked() bool { return len(k.Files) > 0 }

// File is one file as a lock has it. Path is that in the repository, and in the folder.
type File struct {
	Path   string `toml:"path" json:"path"`
	Size   int64  `toml:"size" json:"size"`
	SHA256 string `toml:"sha256" json:"sha256"`
}

// archive is one of ONNX Runtime's releases for a system.
type archive struct {
	Version string `toml:"version"`
	OS      string `toml:"os"`   // as Go names it
	Arch    string `toml:"arch"` // likewise
	File
}

//go:embed known.toml
var knownText string

// shipped is what known.toml says.
var shipped = sync.OnceValue(func() (all struct {
	Models   []Known   `toml:"models"`
	Runtimes []archive `toml:"onnxruntime"`
}) {
	if _, err := toml.Decode(knownText, &all); err != nil {
		panic(fmt.Errorf("known.toml: %w", err)) // a part of the program, which a test reads
	}
	return all
})

// KnownModels lists the models that are known to be good.
func KnownModels() []Known { return slices.Clone(shipped().Models) }

// FindKnown gives one of them by its name.
func FindKnown(name string) (Known, bool) {
	i := slices.IndexFunc(shipped().Models, func(k Known) bool { return k.Name == name })
	if i < 0 {
		return Known{}, false
	}
	return shipped().Models[i], true
}
