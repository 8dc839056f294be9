package wire

import (
	"fmt"
	"net/url"
	"strings"
)

// Fault is what is wrong with a field of a configuration. Values that may hold a secret aren't repeated.
type Fault struct{ Field, Value, Allowed string }

func (f Fault) Error() string {
	return fmt.Sprintf("%s is %s; allowed: %s", f.Field, f.Value, f.Allowed)
}

// CheckAddress says what is wrong with the address of a server; nil: nothing.
func CheckAddress(field, address string) error {
	const allowed = "http://host or https://host, with a path, without user, query or fragment"
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return Fault{field, "no URL", allowed}
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return Fault{field, fmt.Sprintf("%q", PublicAddress(address)), allowed}
	}
	return nil
}

// CheckKey says that a key can't be sent; which is its number among several, from 1, or 0 for the only one. nil: it can.
func CheckKey(field string, which int, key string) error {
	if key != "" && strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) < 0 {
		return nil
	}
	value := "not shown"
	if which > 0 {
		value = fmt.Sprintf("not shown, number %d", which)
	}
	return Fault{field, value, "printable ASCII without spaces"}
}

// PublicAddress is an address without what may be secret in it. One that doesn't parse isn't shown.
func PublicAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "?"
	}
	if u.User != nil {
		u.User = url.User("hidden")
	}
	if u.RawQuery != "" {
		u.RawQuery = "hidden"
	}
	if u.Fragment != "" {
		u.Fragment, u.RawFragment = "hidden", ""
	}
	if u.Opaque != "" {
		u.Opaque = "hidden"
	}
	return u.String()
}
