package duck_test

import (
	"testing"

	"github.com/mallardmem/mallard/engine/enginetest"
)

func TestMain(m *testing.M) {
	enginetest.Main(m, map[string]func(path string) error{"limited": limited})
}
