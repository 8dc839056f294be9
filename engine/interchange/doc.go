// Package interchange reads the lines of files that others wrote, JSON or JSON Lines, and reports what became of them. What the lines mean is known to
// those who keep it: memory and conversation.
package interchange
