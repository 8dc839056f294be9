package assemble

import (
	"fmt"
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/compact"
)

// renderSummary is a summary as a model is shown it: an element that says where it comes from and that it is not to be trusted, for
// what is in it may have been said by anybody. Text and attributes are escaped, so that nothing in them can end the element.
func renderSummary(s *compact.Summary, zone *time.Location) string {
	var b strings.Builder
	b.Grow(len(s.Text) + 300)
	fmt.Fprintf(&b, `<summary id="%s" kind="%s" depth="%d" descendant_count="%d" trust="untrusted"`, escaped(s.ID), escaped(s.Kind), s.Depth, s.Descendants)
	for _, at := range []struct {
		name string
		at   time.Time
	}{{"earliest_at", s.EarliestAt}, {"latest_at", s.LatestAt}} {
		if !at.at.IsZero() {
			fmt.Fprintf(&b, ` %s="%s"`, at.name, at.at.In(zone).Format("2006-01-02T15:04:05"))
		}
	}
	b.WriteString(">\n")
	if s.Depth > 0 && len(s.Sources) > 0 {
		b.WriteString("  <parents>\n")
		for _, source := range s.Sources {
			fmt.Fprintf(&b, "    <summary_ref id=\"%s\" />\n", escaped(source.ID))
		}
		b.WriteString("  </parents>\n")
	}
	b.WriteString("  <content>\n")
	b.WriteString(escaped(s.Text))
	b.WriteString("\n  </content>\n</summary>")
	return b.String()
}

// Untrusted is a text in an element that says so, which nothing in it can end.
func Untrusted(element, text string) string {
	return "<" + element + ` trust="untrusted">` + "\n" + escaped(text) + "\n</" + element + ">"
}

// escaped is s as an element or an attribute can hold it.
func escaped(s string) string { return escaping.Replace(s) }

var escaping = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
