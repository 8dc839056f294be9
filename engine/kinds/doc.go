// Package kinds names the kinds of documents: what can be recalled.
package kinds
