package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// megabytes is a size of memory, as flags, variables and the configuration file have it: 512MB or 2GB, and 512 are megabytes. 0: not said.
type megabytes int

var sizeWritten = regexp.MustCompile(`^(?i)([1-9][0-9]{0,6}) ?(MB|GB|)$`)

func (m *megabytes) UnmarshalText(text []byte) error {
	parts := sizeWritten.FindSubmatch(text)
	if parts == nil {
		return fmt.Errorf("%q is no size; allowed: whole megabytes or gigabytes, such as 512MB or 2GB", text)
	}
	n, err := strconv.Atoi(string(parts[1]))
	if strings.EqualFold(string(parts[2]), "GB") {
		n *= 1024
	}
	*m = megabytes(n)
	return err
}

func (m megabytes) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Set, String and Type make it a flag.
func (m *megabytes) Set(text string) error { return m.UnmarshalText([]byte(text)) }

func (m megabytes) String() string {
	if m == 0 {
		return ""
	}
	return fmt.Sprintf("%dMB", int(m))
}

func (*megabytes) Type() string { return "SIZE" }
