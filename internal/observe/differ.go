package observe

import (
	"encoding/binary"
	"hash/fnv"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"custos/internal/fleet"
)

// moving are the fields that differ between any two looks at what is at work, and the
// words about them.
var moving = []string{"Reason", "Signals", "Procs", "Title", "Command", "why"}

// steady is the sum of what a look saw, without what moves by itself: times, rates and
// sizes. Those that cross a limit are judged by the next pass, which comes by the clock.
// So is the process table, which no rule ranges over.
func steady(put Put) uint64 {
	var s fleet.Snapshot
	if err := apply(put, &s); err != nil {
		return 0 // as often as it is so: it is told by the sight
	}
	s.Processes.Value = nil
	sum := fnv.New64a()
	_, _ = sum.Write(appendValue(nil, reflect.ValueOf(&s).Elem())) // a sum never fails
	return sum.Sum64()
}

// appendValue writes a value, and where it ends, so that no two things look like one.
func appendValue(to []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		to = strconv.AppendBool(to, v.Bool())
	case reflect.Int:
		to = strconv.AppendInt(to, v.Int(), 10)
	case reflect.Uint64:
		to = strconv.AppendUint(to, v.Uint(), 10)
	case reflect.String:
		to = append(binary.AppendUvarint(to, uint64(v.Len())), v.String()...)
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			to = appendValue(to, v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			to = appendValue(to, v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			to = appendValue(appendValue(to, key), v.MapIndex(key))
		}
	case reflect.Struct:
		to = appendFields(to, v)
	}
	return append(to, 0)
}

func appendFields(to []byte, v reflect.Value) []byte {
	t := v.Type()
	if t == reflect.TypeFor[fleet.Instant]() || t == reflect.TypeFor[time.Time]() {
		return to
	}
	for i := range v.NumField() {
		if !slices.Contains(moving, t.Field(i).Name) {
			to = appendValue(to, v.Field(i))
		}
	}
	return to
}
