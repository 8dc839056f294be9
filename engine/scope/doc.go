// Package scope says who may see what: which scopes there are, which of them an agent may use, and where its writes go.
//
// Scopes is a value and its judgements are pure. Registry keeps the file's: as the setting scopes, and in memory, where they change with the writer's lock, after
// the commit. It asks duck for that; rooms above ask Registry.Now at every verb that names an agent.
//
// What bites: an agent that is not listed has the global scope and its own, one with an empty list has nothing. An empty id, "system" and "undefined" are
// callers of the program itself, who see everything.
package scope
