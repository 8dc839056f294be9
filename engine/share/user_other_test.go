//go:build !unix

package share_test

import "testing"

const addressesAreShort = true

// anotherUser is nobody here: the folder's rights are those of the socket.
func anotherUser(*testing.T, string) {}
