// Package share lets other processes of the same user read a memory file while one process holds it. The holder serves a socket beside the file,
// FILE.sock, which only its owner may use; a Reader asks it, or an engine of its own, with the same verbs and the same answers.
//
// A connection is lines of JSON, of which those of a client have a megabyte at most. The first of the client is its hello and that of the holder its
// welcome, both with the version of the protocol; then every request gets one reply, in order. Who closes the connection gives up what it asked. An
// error comes back as what errors.Is knows of engine/errors.go.
package share
