package engine_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/mallardmem/mallard/engine"
	"github.com/mallardmem/mallard/engine/enginetest"
	"github.com/mallardmem/mallard/engine/index"
	"github.com/mallardmem/mallard/engine/memory"
)

// A second model is added while recall goes on with the first; then recall goes by it, and could go back.
func ExampleEngine_AddModel() {
	ctx := context.Background()
	e, err := engine.Open(ctx, ":memory:", engine.Options{Embedder: enginetest.Words{Name: "small", N: 16}})
	if err != nil {
		panic(err)
	}
	defer e.Close()
	for _, text := range []string{"Ines drinks green tea", "Okan bakes cake"} {
		if _, err := e.Remember(ctx, memory.RememberRequest{Text: text}); err != nil {
			panic(err)
		}
	}
	added, err := e.AddModel(ctx, index.AddModelRequest{Embedder: enginetest.Words{Name: "large", N: 64}})
	if err != nil {
		panic(err)
	}
	fmt.Println(added.Vectors, "vectors made, all:", added.Whole())

	if _, err := e.UseModel(ctx, index.UseModelRequest{Model: "large"}); err != nil {
		panic(err)
	}
	fmt.Println("now by", e.Embedder().Model())

	// What is written from now on has a vector of the large model alone.
	if _, err := e.Remember(ctx, memory.RememberRequest{Text: "Bea keeps bees"}); err != nil {
		panic(err)
	}
	_, err = e.UseModel(ctx, index.UseModelRequest{Model: "small"})
	fmt.Println(err)
	models, err := e.Models(ctx)
	if err != nil {
		panic(err)
	}
	for _, m := range models {
		fmt.Println(m.Model, m.Chosen, m.Documents)
	}
	if _, err := e.DropModel(ctx, index.DropModelRequest{Model: "small"}); err != nil {
		panic(err)
	}
	// Output:
	// 2 vectors made, all: true
	// now by large
	// use model: vectors are missing: small (16 dimensions) lacks those of 1 of 3 documents; call Engine.AddModel, which makes them, or set AllowMissing
	// large true {3 3}
	// small false {2 3}
}

// What was written while the model was down gets its vector later.
func ExampleEngine_EmbedMissing() {
	ctx := context.Background()
	model := &enginetest.Scripted{Texts: func(context.Context, []string) ([][]float32, error) { return nil, errors.New("the server is down") }}
	e, err := engine.Open(ctx, ":memory:", engine.Options{Embedder: model})
	if err != nil {
		panic(err)
	}
	defer e.Close()
	stored, err := e.Remember(ctx, memory.RememberRequest{Text: "Ines drinks green tea"})
	if err != nil {
		panic(err)
	}
	fmt.Println(stored.Created, stored.VectorErr)
	model.Texts = nil // it is up again
	made, err := e.EmbedMissing(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(made.Vectors, "vector made")
	// Output:
	// true embed with words: the server is down
	// 1 vector made
}
