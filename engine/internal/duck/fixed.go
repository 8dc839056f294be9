package duck

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	sqlfiles "github.com/mallardmem/mallard/sql"
)

// mostFixed is how many plans of EachFixed a connection keeps: those that were run last.
const mostFixed = 64

// EachFixed is Each for a query whose arguments come again: strings, lists of them, and numbers. DuckDB plans a statement that has parameters and reads a table anew
// whenever it runs, which for a small one takes two to four times as long as to run it. So the arguments are written into the text, and it is prepared once for them.
func (c *Conn) EachFixed(ctx context.Context, name string, scan func(*sql.Rows) error, args ...any) error {
	key, ok := fixedKey(name, args)
	if !ok {
		return c.Each(ctx, name, scan, args...)
	}
	c.step()
	stmt, known := c.prepared[key]
	if !known {
		if err := checkArgs(args); err != nil {
			return err
		}
		var err error
		if stmt, err = c.SQL.PrepareContext(c.binds(ctx), fixedText(name, args)); err != nil {
			return QueryError(name, err)
		}
		c.prepared[key], c.heavier = stmt, true
	}
	c.use(key, known)
	rows, err := stmt.QueryContext(c.binds(ctx))
	if err != nil {
		return QueryError(name, err)
	}
	return ScanAll(rows, name, scan)
}

// OneFixed is One for a query whose arguments come again.
func (c *Conn) OneFixed(ctx context.Context, name string, dest []any, args ...any) (found bool, err error) {
	err = c.EachFixed(ctx, name, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(dest...)
	}, args...)
	return found, err
}

// use notes that a plan is run, and drops the one that was not run for longest where there are too many.
func (c *Conn) use(key string, known bool) {
	if known {
		i := slices.Index(c.fixed, key)
		c.fixed = append(slices.Delete(c.fixed, i, i+1), key)
		return
	}
	if c.fixed = append(c.fixed, key); len(c.fixed) > mostFixed {
		c.prepared[c.fixed[0]].Close()
		delete(c.prepared, c.fixed[0])
		c.fixed = slices.Delete(c.fixed, 0, 1)
	}
}

// fixedStep is how far apart the bounds lie that Outward gives.
const fixedStep = 32

// Outward gives bounds around some that move on with a conversation, so that the plan of EachFixed for them is found again: what lies outside those asked for is the
// caller's to leave out. Up to open, or beyond it, there is no upper bound.
func Outward(from, to, open int) (low, high int32) {
	low = int32(max(from, 0) / fixedStep * fixedStep)
	if to >= open {
		return low, maxInt32
	}
	return low, int32(min((to/fixedStep+1)*fixedStep, maxInt32))
}

const maxInt32 = 1<<31 - 1

// fixedKey names a query with its arguments; ok is false where one of them can't be written into it.
func fixedKey(name string, args []any) (key string, ok bool) {
	var b strings.Builder
	b.WriteString(name)
	for _, arg := range args {
		named, ok := arg.(sql.NamedArg)
		if !ok {
			return "", false
		}
		value, ok := literal(named.Value)
		if !ok {
			return "", false
		}
		b.WriteString(" " + named.Name + "=" + value)
	}
	return b.String(), true
}

var parameter = regexp.MustCompile(`\$\w+`)

// fixedText is a named query with its arguments written into it; comments, which could not hold them, are left out.
func fixedText(name string, args []any) string {
	values := map[string]string{}
	for _, arg := range args {
		named := arg.(sql.NamedArg)
		values["$"+named.Name], _ = literal(named.Value)
	}
	var lines []string
	for line := range strings.SplitSeq(sqlfiles.Query(name), "\n") {
		code, _, _ := strings.Cut(line, "--")
		lines = append(lines, parameter.ReplaceAllStringFunc(code, func(p string) string {
			value, ok := values[p]
			if !ok {
				panic(fmt.Sprintf("query %s has no argument %s", name, p))
			}
			return value
		}))
	}
	return strings.Join(lines, "\n")
}

// mostListed is how long a list may be that is written into a statement.
const mostListed = 64

// literal is a value as SQL writes it. A long list can't be written.
func literal(value any) (text string, ok bool) {
	switch value := value.(type) {
	case string:
		return "'" + strings.ReplaceAll(value, "'", "''") + "'", true
	case []string:
		if len(value) > mostListed {
			return "", false
		}
		all := make([]string, len(value))
		for i, s := range value {
			all[i], _ = literal(s)
		}
		return "[" + strings.Join(all, ", ") + "]", true
	case int32:
		return strconv.Itoa(int(value)), true
	case int64:
		return strconv.FormatInt(value, 10), true
	}
	return "", false
}
