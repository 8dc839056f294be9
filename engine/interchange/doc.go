// Package interchange reads the lines of files that others wrote, JSON, JSON Lines or Markdown, and reports what became of them. What the lines mean is known to
// those who keep it: memory and conversation. It owns no table and no lock, and asks only fault.
//
// What bites: in a list that is broken it can't be told where the next element begins, so nothing is read after it.
package interchange
