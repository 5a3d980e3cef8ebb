package rules

import (
	"fmt"
	"reflect"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// object is one of our structures as a value of CEL: a pointer with its type.
type object struct {
	typ string
	ptr any
}

func (o object) Value() any     { return o.ptr }
func (o object) Type() ref.Type { return objectType(o.typ) }

// Equal compares identity: two names for the same thing in one snapshot.
func (o object) Equal(other ref.Val) ref.Val {
	x, ok := other.(object)
	return types.Bool(ok && x.ptr == o.ptr)
}

func (o object) ConvertToNative(t reflect.Type) (any, error) {
	if v := reflect.ValueOf(o.ptr); v.Type().AssignableTo(t) {
		return o.ptr, nil
	}
	return nil, fmt.Errorf("cannot turn %s into %s", o.typ, t)
}

func (o object) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return objectType(o.typ)
	}
	return types.NewErr("cannot turn %s into %s", o.typ, t.TypeName())
}

// objects makes a list of CEL of a list of ours, without copying its elements.
func objects[T any](typ string, list []T) ref.Val {
	vals := make([]ref.Val, len(list))
	for i := range list {
		vals[i] = object{typ, &list[i]}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, vals)
}

// leafTable is a map whose values may be unknown. A key that is not there is
// unknown too, so that a probe that reports less never reads as healthy.
type leafTable struct{ traits.Mapper }

// Find answers unknown, not "no such key", for a name that was not reported.
func (t leafTable) Find(key ref.Val) (ref.Val, bool) {
	if v, ok := t.Mapper.Find(key); ok {
		return v, true
	}
	if k, ok := key.(types.String); ok {
		return unseen(string(k), "it was not reported"), true
	}
	return nil, false
}

// Get is Find for an index expression.
func (t leafTable) Get(key ref.Val) ref.Val {
	if v, ok := t.Find(key); ok {
		return v
	}
	return types.NewErr("cannot look up %v: want a text", key)
}
