package fleettest

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"custos/internal/fleet"
)

// Blinder is one leaf or part of a snapshot that can be made unknown.
type Blinder struct {
	Name  string // as in JSON: host.value.memory.available, locks, agents.value[0].cpu
	Part  fleet.PartName
	Blind func(why string)
}

// Leaves lists every part and every leaf of s, in a fixed order. Blind of one
// changes s itself (and what s shares with its copies: copy deeply first).
func Leaves(s *fleet.Snapshot) []Blinder {
	w := walker{}
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		name := jsonName(v.Type().Field(i))
		if fleet.PartName(name) == "" || s.Sight(fleet.PartName(name)) == nil {
			continue
		}
		w.part = fleet.PartName(name)
		w.add(name, v.Field(i).Addr().Interface().(blind).Blind)
		w.walk(v.Field(i), name)
	}
	return w.found
}

type blind interface{ Blind(why string) }

type walker struct {
	part  fleet.PartName
	found []Blinder
}

func (w *walker) add(name string, blind func(string)) {
	w.found = append(w.found, Blinder{Name: name, Part: w.part, Blind: blind})
}

func (w *walker) walk(v reflect.Value, name string) {
	if isLeaf(v.Type()) {
		w.add(name, v.Addr().Interface().(blind).Blind)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		w.fields(v, name)
	case reflect.Slice:
		for i := range v.Len() {
			w.walk(v.Index(i), fmt.Sprintf("%s[%d]", name, i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			w.walk(v.Elem(), name)
		}
	case reflect.Map:
		w.mapping(v, name)
	}
}

func (w *walker) fields(v reflect.Value, name string) {
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			w.walk(v.Field(i), name+"."+jsonName(f))
		}
	}
}

// mapping lists the leaves of a map, which cannot be changed in place.
func (w *walker) mapping(m reflect.Value, name string) {
	if !isLeaf(m.Type().Elem()) {
		return
	}
	for _, key := range sortedKeys(m) {
		w.add(name+"."+key.String(), func(why string) {
			leaf := reflect.New(m.Type().Elem())
			leaf.Interface().(blind).Blind(why)
			m.SetMapIndex(key, leaf.Elem())
		})
	}
}

func sortedKeys(m reflect.Value) []reflect.Value {
	return slices.SortedFunc(slices.Values(m.MapKeys()), func(a, b reflect.Value) int {
		return cmp.Compare(a.String(), b.String())
	})
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		return f.Name
	}
	return name
}
