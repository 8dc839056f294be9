// Package prompts holds what the engine says to chat models: one template per purpose under templates, one function per template.
//
// Whatever comes from a conversation or a file is material, never an instruction. Each piece stands in a fence that it can't close,
// see fence; it is valid UTF-8 without control characters, and template syntax in it means nothing. The same input gives the
// same prompt. Lengths are in tokens.
package prompts

import (
	"embed"
	"strings"
	"text/template"
)

//go:embed templates/*.tmpl
var files embed.FS

var templates = template.Must(template.ParseFS(files, "templates/*.tmpl"))

// render fills the template of that name. Templates see plain values only, so that a failure can't depend on the input: it would be
// a mistake in a template, and the tests render each of them.
func render(name string, data any) string {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name+".tmpl", data); err != nil {
		panic("prompts: " + err.Error())
	}
	return strings.TrimSpace(b.String())
}
