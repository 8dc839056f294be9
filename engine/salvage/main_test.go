package salvage_test

import (
	"testing"

	"github.com/mallardmem/mallard/engine/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m, nil) }
