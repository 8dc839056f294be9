// Package capture finds in plain text what is worth remembering, without a model: sentences that fit one of its rules become drafts. It also knows the
// small judgements that go with a draft: its context (in the evening, at work), the slot of a preference, whether it will soon be out of date.
//
// A rule is a pattern of one language for one kind of statement; english.go, german.go and chinese.go have them all, and docs/memories.md lists what they
// cover. filter.go says what is never captured: questions, code, quotations, markup, what speaks about memory itself, credentials.
//
// It keeps nothing and knows no clock. A text is read sentence by sentence, and a pattern is tried only where the sentence has one of its words.
package capture
