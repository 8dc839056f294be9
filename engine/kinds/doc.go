// Package kinds names the kinds of documents: what can be recalled. They are those of the SQL type document_kind; a further one needs a migration and a
// Source in the room that keeps it (docs/decisions/0021-one-kind-more.md).
package kinds
