package remote_test

import (
	"fmt"

	remote "github.com/mallardmem/mallard/embed/http"
)

// A model that is known needs no more than its name: the length of its vectors and its prefixes are those it is known for. New asks the server nothing.
func ExampleNew() {
	model, err := remote.New(remote.Config{Provider: "ollama", Model: "nomic-embed-text"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Model(), model.Dims())

	_, err = remote.New(remote.Config{Provider: "ollama", Model: "of-tomorrow"})
	fmt.Println(err)
	// Output:
	// nomic-embed-text 768
	// embedding: Dims is 0; allowed: the length of the vectors of of-tomorrow, which is not known here
}
