// Package fleettest makes random fleet values for property tests, and lists
// every leaf and part of a snapshot so that each can be blinded in turn.
package fleettest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"pgregory.net/rapid"

	"custos/internal/fleet"
)

// Snapshot draws a snapshot that could have been seen: every part ok, stale,
// pending, unknown or absent, every leaf known or not, everything it holds seen
// at or before its At.
func Snapshot(t *rapid.T) fleet.Snapshot {
	return Any[fleet.Snapshot](t, Now(t))
}

// Past draws a past of records made at or before at.
func Past(t *rapid.T, at fleet.Instant) fleet.Past { return Any[fleet.Past](t, at) }

// Now draws the present: an instant of some boot in 2026.
func Now(t *rapid.T) fleet.Instant {
	up := time.Duration(rapid.Int64Range(int64(time.Minute), int64(60*24*time.Hour)).Draw(t, "up"))
	day := rapid.IntRange(0, 364).Draw(t, "day")
	wall := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, day).Add(up % (24 * time.Hour))
	return fleet.Instant{Wall: wall, Up: fleet.Duration(up), Boot: boots[0]}
}

// Any draws any value made of fleet's words, by reflection: a new field is
// filled without a change here. Instants lie at or before at.
func Any[T any](t *rapid.T, at fleet.Instant) T {
	var v T
	g := generator{t: t, at: at}
	g.fill(reflect.ValueOf(&v).Elem(), "")
	return v
}

type generator struct {
	t  *rapid.T
	at fleet.Instant
}

var (
	instantType  = reflect.TypeFor[fleet.Instant]()
	durationType = reflect.TypeFor[fleet.Duration]()
	timeType     = reflect.TypeFor[time.Time]()
	snapshotType = reflect.TypeFor[fleet.Snapshot]()
	sightType    = reflect.TypeFor[fleet.Sight]()
	targetType   = reflect.TypeFor[fleet.Target]()
	runType      = reflect.TypeFor[fleet.Run]()
)

// fill sets v, which is the field called name, to something random.
func (g generator) fill(v reflect.Value, name string) {
	switch {
	case v.Type() == instantType:
		v.Set(reflect.ValueOf(g.instant()))
	case v.Type() == timeType: // of a clock that is not Custos' own
		v.Set(reflect.ValueOf(g.instant().Wall))
	case v.Type() == durationType:
		v.SetInt(g.duration())
	case isLeaf(v.Type()):
		g.leaf(v, name)
	case v.Type() == targetType:
		g.target(v)
	default:
		g.kind(v, name)
	}
}

func (g generator) kind(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Struct:
		g.fields(v)
	case reflect.Slice:
		g.slice(v, name)
	case reflect.Map:
		g.mapping(v, name)
	case reflect.Pointer:
		if g.chance("pointer " + name) {
			v.Set(reflect.New(v.Type().Elem()))
			g.fill(v.Elem(), name)
		}
	case reflect.String:
		v.SetString(g.text(v.Type(), name))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(g.t, name))
	case reflect.Int, reflect.Int64:
		v.SetInt(g.whole(name))
	case reflect.Uint64:
		v.SetUint(uint64(rapid.Int64Range(1, 1<<53).Draw(g.t, name)))
	case reflect.Float64:
		v.SetFloat(g.fraction(name))
	default:
		panic(fmt.Sprintf("cannot draw a %s (field %s): teach fleettest to", v.Type(), name))
	}
}

func (g generator) fields(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		g.fill(v.Field(i), f.Name)
	}
	if v.Type() == snapshotType {
		v.FieldByName("At").Set(reflect.ValueOf(g.at))
	}
	if v.Type() == runType {
		g.wire(v.Addr().Interface().(*fleet.Run))
	}
	if sight, ok := v.Addr().Interface().(interface{ Look() *fleet.Sight }); ok && v.Type() != sightType {
		if s := sight.Look(); !s.Usable() {
			v.FieldByName("Value").SetZero() // a part that was not seen holds nothing
		}
	}
}

// wire names the steps of a run once each, and lets each need some of those
// before it.
func (g generator) wire(r *fleet.Run) {
	for i := range r.Steps {
		s := &r.Steps[i]
		s.ID, s.Needs = fmt.Sprint("s", i+1), nil
		for before := range i {
			if rapid.Bool().Draw(g.t, "needs") {
				s.Needs = append(s.Needs, r.Steps[before].ID)
			}
		}
	}
}

func (g generator) slice(v reflect.Value, name string) {
	n := rapid.IntRange(0, 3).Draw(g.t, name+" length")
	if n == 0 {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		g.fill(v.Index(i), name)
	}
}

func (g generator) mapping(v reflect.Value, name string) {
	n := rapid.IntRange(0, 2).Draw(g.t, name+" size")
	if n == 0 {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range n {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		g.fill(key, name)
		g.fill(value, name)
		v.SetMapIndex(key, value)
	}
}

// leaf fills a leaf through its JSON form, the only door to its fields.
func (g generator) leaf(v reflect.Value, name string) {
	if !g.chance("known " + name) {
		why := rapid.SampledFrom(whys).Draw(g.t, "why")
		v.Addr().Interface().(interface{ Blind(string) }).Blind(why)
		return
	}
	inner := reflect.New(v.Field(0).Type())
	g.fill(inner.Elem(), name)
	b, err := json.Marshal(inner.Interface())
	if err == nil {
		err = v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(b)
	}
	if err != nil {
		panic(fmt.Sprintf("cannot draw leaf %s: %v", name, err))
	}
}

// target sets exactly one field, as a target has.
func (g generator) target(v reflect.Value) {
	i := rapid.IntRange(0, v.NumField()-1).Draw(g.t, "target")
	f := v.Field(i)
	f.Set(reflect.New(f.Type().Elem()))
	g.fill(f.Elem(), v.Type().Field(i).Name)
}

func (g generator) chance(label string) bool {
	return rapid.IntRange(0, 3).Draw(g.t, label) > 0
}

// instant draws a moment at or before now, sometimes of an earlier boot.
func (g generator) instant() fleet.Instant {
	ago := time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(g.t, "ago"))
	if up := time.Duration(g.at.Up); ago <= up {
		return g.at.Add(-ago)
	}
	return fleet.Instant{Wall: g.at.Wall.Add(-ago), Up: fleet.Duration(ago), Boot: boots[1]}
}

func (g generator) duration() int64 {
	return rapid.OneOf(
		rapid.Int64Range(0, int64(time.Minute)),
		rapid.Int64Range(0, int64(30*24*time.Hour)),
	).Draw(g.t, "duration")
}

func (g generator) whole(name string) int64 {
	if strings.HasSuffix(name, "PID") || strings.HasSuffix(name, "GID") || name == "SID" || name == "Occupied" {
		return rapid.Int64Range(2, 1<<22).Draw(g.t, name)
	}
	return rapid.OneOf(rapid.Int64Range(0, 5), rapid.Int64Range(0, 1<<42)).Draw(g.t, name)
}

// fraction draws a confidence of 0 to 1, and anything else of 0 to 100.
func (g generator) fraction(name string) float64 {
	f := float64(rapid.IntRange(0, 10000).Draw(g.t, name)) / 100
	if name == "Confidence" {
		f /= 100
	}
	return f
}

func isLeaf(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasPrefix(t.Name(), "Leaf[") && t.PkgPath() == instantType.PkgPath()
}
