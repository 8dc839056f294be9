//go:build !ORT && !ALL

package hugot

import "fmt"

func openORT(_ []byte, library string) (*graph, error) {
	return nil, fmt.Errorf("%w: Library is %q, but this program is built without the tag ORT", errNoORT, library)
}
