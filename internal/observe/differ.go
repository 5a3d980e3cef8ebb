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
	all := summary{fields: map[reflect.Type][]int{}}
	all.add(reflect.ValueOf(&s).Elem())
	_, _ = sum.Write(all.text) // a sum never fails
	return sum.Sum64()
}

// summary is what a snapshot says, as text that is another one when anything of it is.
type summary struct {
	text   []byte
	fields map[reflect.Type][]int // that count
}

// add writes a value, and where it ends, so that no two things look like one.
func (s *summary) add(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		s.text = strconv.AppendBool(s.text, v.Bool())
	case reflect.Int:
		s.text = strconv.AppendInt(s.text, v.Int(), 10)
	case reflect.Uint64:
		s.text = strconv.AppendUint(s.text, v.Uint(), 10)
	case reflect.String:
		s.text = append(binary.AppendUvarint(s.text, uint64(v.Len())), v.String()...)
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			s.add(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			s.add(v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			s.add(key)
			s.add(v.MapIndex(key))
		}
	case reflect.Struct:
		for _, i := range s.counting(v.Type()) {
			s.add(v.Field(i))
		}
	}
	s.text = append(s.text, 0)
}

// counting lists the fields of a struct that count. Of one moment none does.
func (s *summary) counting(t reflect.Type) []int {
	fields, known := s.fields[t]
	if !known && t != reflect.TypeFor[fleet.Instant]() && t != reflect.TypeFor[time.Time]() {
		for i := range t.NumField() {
			if !slices.Contains(moving, t.Field(i).Name) {
				fields = append(fields, i)
			}
		}
	}
	s.fields[t] = fields
	return fields
}
