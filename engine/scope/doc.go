// Package scope says who may see what: which scopes there are, which of them an agent may use, and where its writes go. It is pure; the engine keeps one
// value of it in the file, as a setting, and asks it at every verb that names an agent.
//
// What bites: an agent that is not listed has the global scope and its own, one with an empty list has nothing. An empty id, "system" and "undefined" are
// callers of the program itself, who see everything.
package scope
