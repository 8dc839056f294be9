// Package fault is what every room of the engine says when it refuses: the errors that callers ask for with errors.Is, and the checks of requests that
// name the field, its value and what is allowed. It owns no table and no lock, and asks nothing of other rooms. Callers know the errors by their names in
// package engine.
package fault
