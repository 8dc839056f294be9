// Package session reads the transcripts that agent hosts write, brings them into an engine and follows them while they grow.
//
// Every host's format is read by a file of its own into one neutral Transcript, which Import and Watch hand to the engine. A message has
// a key that the transcript settles, so a file may be read again, in pieces, or as a copy, and nothing is stored twice.
//
// A further host is a format in a file of its own, and a line each in Hosts, Open, Find and mark.host, which tells it by its lines.
package session
