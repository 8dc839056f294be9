// Package ids says what ids look like: a prefix for each kind of thing, then letters that sort by time; and how short people may write them. It keeps nothing,
// and asks nothing of other rooms. Options.NewID may make ids of another form behind the prefix, so nothing is read out of one.
package ids
