// Package ids says what ids look like: a prefix for each kind of thing, then letters that sort by time; and how short people may write them.
package ids
