package rules

import (
	"fmt"
	"reflect"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"custos/internal/fleet"
)

// typeNames are what the types of the vocabulary are called.
type typeNames map[reflect.Type]string

// reading is how values of a Go type are read: their type in CEL, and how one is turned
// into it. A value that is turned can be addressed.
type reading struct {
	typ  *types.Type
	turn func(reflect.Value) ref.Val
}

// seer is a fleet.Leaf, which shows what it holds, whatever that is.
type seer interface {
	Seen() any
	Why() string
}

// reading returns how a type is read. unless is the word by which a text of it says that
// it is not known; "" where each text is what it is.
func (n typeNames) reading(t reflect.Type, unless string) reading {
	switch {
	case t == reflect.TypeFor[fleet.Duration]():
		return reading{types.DurationType, func(v reflect.Value) ref.Val { return types.Duration{Duration: time.Duration(v.Int())} }}
	case t == reflect.TypeFor[fleet.Instant]():
		return reading{types.TimestampType, moment}
	case reflect.PointerTo(t).Implements(reflect.TypeFor[seer]()):
		inner, _ := reflect.PointerTo(t).MethodByName("Get")
		return n.reading(inner.Type.Out(0), unless).ifSeen()
	}
	switch t.Kind() {
	case reflect.String:
		return reading{types.StringType, textUnless(unless)}
	case reflect.Bool:
		return reading{types.BoolType, func(v reflect.Value) ref.Val { return types.Bool(v.Bool()) }}
	case reflect.Int, reflect.Int64:
		return reading{types.IntType, func(v reflect.Value) ref.Val { return types.Int(v.Int()) }}
	case reflect.Uint64:
		return reading{types.IntType, func(v reflect.Value) ref.Val { return types.Int(v.Uint()) }}
	case reflect.Float64:
		return reading{types.DoubleType, func(v reflect.Value) ref.Val { return types.Double(v.Float()) }}
	}
	return n.composed(t)
}

// composed returns how a type that is made of others is read.
func (n typeNames) composed(t reflect.Type) reading {
	switch t.Kind() {
	case reflect.Slice:
		each := n.reading(t.Elem(), "")
		return reading{types.NewListType(each.typ), each.all}
	case reflect.Map:
		each := n.reading(t.Elem(), "")
		return reading{types.NewMapType(types.StringType, each.typ), each.table}
	case reflect.Pointer:
		return n.reading(t.Elem(), "").atMostOne()
	}
	name, ok := n[t]
	if !ok {
		panic(fmt.Sprintf("cannot read a %s in rules: it has no name in the vocabulary", t))
	}
	return reading{objectType(name), func(v reflect.Value) ref.Val { return object{name, v.Addr().Interface()} }}
}

func moment(v reflect.Value) ref.Val {
	if at := v.Addr().Interface().(*fleet.Instant); !at.IsZero() {
		return types.Timestamp{Time: at.Wall}
	}
	return lack{why: "it never happened"}
}

func textUnless(word string) func(reflect.Value) ref.Val {
	if word == "" {
		return func(v reflect.Value) ref.Val { return types.String(v.String()) }
	}
	return func(v reflect.Value) ref.Val {
		if s := v.String(); s != "" && s != word {
			return types.String(s)
		}
		return lack{}
	}
}

// ifSeen reads a leaf of what is read so.
func (r reading) ifSeen() reading {
	return reading{r.typ, func(v reflect.Value) ref.Val {
		leaf := v.Addr().Interface().(seer)
		if at := leaf.Seen(); at != nil {
			return r.turn(reflect.ValueOf(at).Elem())
		}
		return lack{why: leaf.Why()}
	}}
}

// atMostOne reads a pointer as a list of one, or of none: so that what is not there is not
// taken for what was not seen. size(agent.tool) == 0 says that no tool is in flight.
func (r reading) atMostOne() reading {
	none := types.NewRefValList(types.DefaultTypeAdapter, nil) // made once: nearly every agent has none
	return reading{types.NewListType(r.typ), func(v reflect.Value) ref.Val {
		if v.IsNil() {
			return none
		}
		return types.NewRefValList(types.DefaultTypeAdapter, []ref.Val{r.turn(v.Elem())})
	}}
}

// all reads a list of what is read so, without copying its elements.
func (r reading) all(list reflect.Value) ref.Val {
	vals := make([]ref.Val, list.Len())
	for i := range vals {
		vals[i] = r.turn(list.Index(i))
	}
	return types.NewRefValList(types.DefaultTypeAdapter, vals)
}

// table reads a map of leaves.
func (r reading) table(m reflect.Value) ref.Val {
	vals := make(map[ref.Val]ref.Val, m.Len())
	for at := m.MapRange(); at.Next(); {
		leaf := reflect.New(m.Type().Elem()).Elem() // what is in a map cannot be addressed
		leaf.Set(at.Value())
		v := r.turn(leaf)
		if l, ok := v.(lack); ok {
			v = unseen(at.Key().String(), l.why)
		}
		vals[types.String(at.Key().String())] = v
	}
	return leafTable{types.NewRefValMap(types.DefaultTypeAdapter, vals)}
}
