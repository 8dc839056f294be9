package main

import (
	"cmp"
	"errors"
	"os"
	"reflect"
	"strings"

	"github.com/mallardmem/mallard/wire"
)

// serverConfig is what the tables of servers in the configuration have in common.
type serverConfig struct {
	table    string
	provider string
	keyEnv   string // the variable that has the keys, where the table names one
	standard string // the variable where it names none
	fields   reflect.Type
}

func (s serverConfig) variable() string { return cmp.Or(s.keyEnv, s.standard) }

// keys are those that the variable has, with commas or spaces in between.
func (s serverConfig) keys() ([]string, error) {
	said, set := os.LookupEnv(s.variable())
	if s.keyEnv != "" && !set {
		return nil, usage("%s.key_env is %s, which is not set", s.table, s.keyEnv)
	}
	return strings.FieldsFunc(said, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }), nil
}

// retries are as a client takes them: 0 is its default, -1 is none.
func (s serverConfig) retries(n *int) (int, error) {
	switch {
	case n == nil:
		return 0, nil
	case *n < 0:
		return 0, usage("%s.retries is %d; allowed: 0 or more", s.table, *n)
	case *n == 0:
		return -1, nil
	}
	return *n, nil
}

// told says what is wrong with fields by their keys in the configuration, and of a provider's key by the variable that has it, without its value.
func (s serverConfig) told(refused []wire.Fault) (all error) {
	for _, fault := range refused {
		if fault.Field == "Keys" {
			all = errors.Join(all, usage("%s, which has the key of %s.provider %s, is %s; allowed: %s (%[2]s.key_env names another variable)", s.variable(), s.table, s.provider, fault.Value, fault.Allowed))
			continue
		}
		field, _ := s.fields.FieldByName(fault.Field)
		all = errors.Join(all, usage("%s.%s is %s; allowed: %s", s.table, field.Tag.Get("toml"), fault.Value, fault.Allowed))
	}
	return all
}
