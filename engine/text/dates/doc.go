// Package dates finds the periods that a question names: "last summer", "on the 7th", "between March and May". It knows English and German, and no
// clock: the time of asking is given to it. Find has the rules. A rule is a method of the parser that tries to read a date at a token, and the words
// of each language are a table of their own.
package dates
