//go:build !ORT && !ALL

package hugotrun

import "fmt"

func openORT(_ []byte, library string) (*Graph, error) {
	return nil, fmt.Errorf("%w: Library is %q, but this program is built without the tag ORT", errNoORT, library)
}
