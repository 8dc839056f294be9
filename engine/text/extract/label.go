package extract

import (
	"strings"
	"time"

	"github.com/mallardmem/mallard/engine/text/internal/char"
)

// Moment is the layout of a time in the bracket of a label. Whoever writes labels takes it from here, since it is read back out of summaries.
const Moment = minutes + " MST"

const (
	clock   = "15:04"
	minutes = time.DateOnly + " " + clock

	stampLayout = "[" + minutes // how a bracket of one time begins; the zone comes behind
	shortLayout = "[" + clock + "]"
)

// sameMoment is how far a line may be from the time last printed without a time of its own.
const sameMoment = 10 * time.Minute

// label says when and who.
type label struct {
	stamp   string    // the bracket that it begins with, or ""
	speaker string    // what stands behind
	at      time.Time // what the bracket says, zero unless it is one time
	zone    string
}

func newLabel(s string) label {
	s = strings.Join(strings.Fields(char.Clean(s)), " ")
	if end := strings.IndexByte(s, ']') + 1; end > 0 && s[0] == '[' {
		l := label{stamp: s[:end], speaker: strings.TrimLeft(s[end:], " |")}
		l.at, l.zone, _ = readStamp(l.stamp)
		return l
	}
	return label{speaker: s}
}

// labelPrinter prints labels, each as short as those before allow.
type labelPrinter struct {
	begun   bool
	before  label // of the line before
	printed label // the last whose stamp was printed
}

// next returns what a line under a label begins with, and false if it goes on with the line before.
func (p *labelPrinter) next(l label) (shown string, starts bool) {
	if p.begun && l == p.before {
		return "", false
	}
	p.begun, p.before = true, l
	name := l.speaker
	if name != "" {
		name += ": "
	}
	if l.stamp == "" || l.stamp == p.printed.stamp {
		return name, true
	}
	shown = l.stamp + " " + name
	if name != "" && !l.at.IsZero() && l.zone == p.printed.zone && l.at.Format(time.DateOnly) == p.printed.at.Format(time.DateOnly) {
		if l.at.Sub(p.printed.at).Abs() < sameMoment {
			return name, true
		}
		shown = l.at.Format(shortLayout) + " " + name
	}
	p.printed = l
	return shown, true
}

// readStamp reads a bracket of one time, as in [2026-01-02 03:04 UTC].
func readStamp(stamp string) (at time.Time, zone string, ok bool) {
	if len(stamp) <= len(stampLayout) || stamp[len(stamp)-1] != ']' {
		return time.Time{}, "", false
	}
	zone = stamp[len(stampLayout) : len(stamp)-1]
	at, err := time.Parse(stampLayout, stamp[:len(stampLayout)])
	if err != nil || strings.Contains(zone, " - ") {
		return time.Time{}, "", false
	}
	return at, zone, true
}

// maxSpeaker is the most bytes of a name and its colon that a line of a summary is taken to begin with.
const maxSpeaker = 40

// lineLabel reads what a line of an earlier summary begins with and returns the label, completed from the one before, and how many
// bytes it has there. Only a line after one with a bracket may leave its own bracket out.
func lineLabel(line string, before label, labels bool) (l label, n int) {
	stamp, rest := before.stamp, line
	if own, after, ok := strings.Cut(line, "] "); ok && line[0] == '[' {
		own += "]"
		at, err := time.Parse(shortLayout, own)
		switch _, _, full := readStamp(own); {
		case full:
			stamp = own
		case err == nil && !before.at.IsZero() && labels:
			stamp = "[" + before.at.Format(time.DateOnly) + " " + at.Format(clock) + before.zone + "]"
		default:
			return label{}, 0
		}
		rest, n = after, len(line)-len(after)
	} else if !labels {
		return label{}, 0
	}
	name, _, ok := strings.Cut(rest[:min(len(rest), maxSpeaker)], ": ")
	if words := len(strings.Fields(name)); ok && 0 < words && words <= 3 {
		return newLabel(stamp + " " + name), n + len(name) + len(": ")
	}
	return newLabel(stamp), n
}
