// Package setup is what a file is opened with: options with their defaults and limits, the settings of conversations, and what models have to do.
//
// It keeps nothing, and asks of fault, ids and text what is allowed and what is the default. Rooms get options that engine.Open has completed and validated.
//
// What bites: a limit that may be zero on purpose is a pointer (IncrementalMaxDepth), for zero is the default.
package setup
