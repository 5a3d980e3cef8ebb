package rules

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// provider makes our types known to CEL.
type provider struct {
	types.Provider
	structs map[string]*structure
	missed  map[string]string // field that was asked for in vain → type it was asked of
}

func newProvider(base types.Provider) *provider {
	p := &provider{Provider: base, structs: map[string]*structure{}, missed: map[string]string{}}
	for _, s := range vocabulary() {
		p.structs[typeName(s.name)] = s
	}
	return p
}

// FindStructType knows our types beside those of CEL.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if s, ok := p.structs[name]; ok {
		return types.NewTypeTypeWithParam(s.typ), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames lists the fields of a type.
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if s, ok := p.structs[name]; ok {
		return s.order, true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType finds a field of a type and how to read it. What is not
// found is kept, to say afterwards which name would have been right.
func (p *provider) FindStructFieldType(name, fieldName string) (*types.FieldType, bool) {
	s, ok := p.structs[name]
	if !ok {
		return p.Provider.FindStructFieldType(name, fieldName)
	}
	f, ok := s.fields[fieldName]
	if !ok {
		p.missed[fieldName] = name
		return nil, false
	}
	return &types.FieldType{Type: f.typ, IsSet: func(any) bool { return true }, GetFrom: func(o any) (any, error) {
		if u, ok := o.(*types.Unknown); ok { // what lies in something unseen is unseen
			return u, nil
		}
		return f.get(o), nil
	}}, true
}

// adapter passes our values through and leaves the rest to CEL.
type adapter struct{ types.Adapter }

// NativeToValue turns a Go value into one of CEL.
func (a adapter) NativeToValue(v any) ref.Val {
	if val, ok := v.(ref.Val); ok {
		return val
	}
	return a.Adapter.NativeToValue(v)
}
