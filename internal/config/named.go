package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// named are the sections below which, beside keys of their own, things with names stand: a
// table with one of those keys is one. [host] says how this machine is looked at, and
// [host.box1], with an ssh or a socket, is another one.
var named = map[string][]string{"host": {"ssh", "socket"}}

// isNamed says whether what stands below a section is a thing with a name.
func isNamed(path []string, v any) bool {
	table, ok := v.(map[string]any)
	return ok && len(path) == 2 && slices.ContainsFunc(named[path[0]], func(key string) bool { return table[key] != nil })
}

// Named decodes the things with names below a section into the map that into points to, by
// their names. It says what is wrong with them as Section does.
func (c Config) Named(section string, into any) error {
	list := reflect.ValueOf(into)
	if list.Kind() != reflect.Pointer || list.Elem().Kind() != reflect.Map {
		return fmt.Errorf("cannot read [%s.NAME]: %T is no map", section, into)
	}
	below, _ := c.all[section].(map[string]any)
	things := maps.Clone(below)
	maps.DeleteFunc(things, func(name string, v any) bool { return !isNamed([]string{section, name}, v) })
	k := checker{Config: c, p: &problems{file: c.File}}
	for name, v := range things {
		k.value([]string{section, name}, v, list.Type().Elem().Elem(), "")
	}
	if err := k.p.err(); err != nil {
		return err
	}
	text, err := toml.Marshal(things)
	if err == nil {
		err = toml.Unmarshal(text, into)
	}
	return c.Misread(section, err)
}
