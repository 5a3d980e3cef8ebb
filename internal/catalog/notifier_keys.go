package catalog

import (
	"fmt"
	"reflect"
	"strings"

	"custos/internal/report"
)

// anyNotifier is the struct that every [notifier.NAME] is read into before its type is
// known: type, and the keys of every kind. What each may be is checked in all of them.
func anyNotifier(kinds []report.Kind) reflect.Type {
	fields := []reflect.StructField{{Name: "Type", Type: reflect.TypeFor[string](),
		Tag: reflect.StructTag(`toml:"type" is:"|` + strings.Join(notifierTypes(kinds), "|") + `"`)}}
	known := map[string]bool{}
	for _, k := range kinds {
		for _, f := range keysOf(k) {
			if key := f.Tag.Get("toml"); !known[key] {
				known[key] = true
				fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Key%d", len(fields)), Type: f.Type, Tag: f.Tag})
			}
		}
	}
	return reflect.StructOf(fields)
}

func notifierTypes(kinds []report.Kind) (names []string) {
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}

// keysOf lists the keys of a kind, those of what it embeds too.
func keysOf(k report.Kind) []reflect.StructField { return keysIn(reflect.TypeOf(k.Keys)) }

func keysIn(t reflect.Type) (out []reflect.StructField) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("toml") != "" {
			out = append(out, f)
		}
	}
	return out
}

// copyKeys gives a struct of a kind what its section has.
func copyKeys(into, section reflect.Value) {
	for _, f := range keysIn(into.Type()) {
		into.FieldByIndex(f.Index).Set(valueOf(section, f.Tag.Get("toml")))
	}
}

func valueOf(section reflect.Value, key string) reflect.Value {
	for _, f := range keysIn(section.Type()) {
		if f.Tag.Get("toml") == key {
			return section.FieldByIndex(f.Index)
		}
	}
	return reflect.Value{}
}

// onlyItsOwn refuses a key that another type of notifier has: it would do nothing.
func onlyItsOwn(kinds []report.Kind, k report.Kind, section reflect.Value) error {
	for _, f := range keysIn(section.Type())[1:] { // after type
		key := f.Tag.Get("toml")
		v := section.FieldByIndex(f.Index)
		if given := v.Kind() == reflect.Slice && v.Len() > 0 || v.Kind() != reflect.Slice && !v.IsZero(); !given || hasKey(k, key) {
			continue
		}
		var with []string
		for _, other := range kinds {
			if hasKey(other, key) {
				with = append(with, other.Name)
			}
		}
		return fmt.Errorf("%s: a notifier of type %q has none: it is for %s only", key, k.Name, strings.Join(with, " and "))
	}
	return nil
}

func hasKey(k report.Kind, key string) bool {
	for _, f := range keysOf(k) {
		if f.Tag.Get("toml") == key {
			return true
		}
	}
	return false
}
