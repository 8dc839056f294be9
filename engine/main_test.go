package engine_test

import (
	"testing"

	"github.com/mallardmem/mallard/engine/enginetest"
)

func TestMain(m *testing.M) {
	enginetest.Main(m, map[string]func(path string) error{"write": writeForEver, "deed": killedDeed, "chaos": chaosForEver})
}
