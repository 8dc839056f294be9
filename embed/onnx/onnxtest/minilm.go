// Package onnxtest gives tests, wherever they are, the real model that is run with ONNX Runtime. Both are on few machines: elsewhere such tests are skipped.
package onnxtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mallardmem/mallard/embed/onnx"
	"github.com/mallardmem/mallard/embed/ort"
)

// Folder is that of all-MiniLM-L6-v2, in the folder that MEMCTL_MODELS names. The test is skipped, saying what is not tested then, where there is none or no runtime.
func Folder(t testing.TB, untested string) string {
	t.Helper()
	models := os.Getenv("MEMCTL_MODELS")
	if models == "" {
		t.Skip("MEMCTL_MODELS is not set: " + untested)
	}
	if err := ort.Load(""); err != nil {
		t.Skipf("ONNX Runtime is not installed: %v: %s", err, untested)
	}
	return filepath.Join(models, "all-MiniLM-L6-v2")
}

// MiniLM opens the model, and closes it when the test is over.
func MiniLM(t testing.TB, untested string) *onnx.Model {
	t.Helper()
	m, err := onnx.Open(Folder(t, untested), onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}
