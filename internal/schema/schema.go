// Package schema says what is written as JSON looks like: the published face, a recording and
// a pass. It takes a name and returns a JSON Schema, and needs nothing of the world.
package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"custos/internal/api"
	"custos/internal/fleet"
)

// types are those whose JSON Schema can be asked for: those of the published face,
// and what a recording and a pass are made of.
func types() map[string]any {
	all := api.Types()
	all["recording"], all["pass"] = fleet.Recording{}, fleet.Pass{}
	return all
}

// Names are those that Of takes, sorted.
func Names() []string { return slices.Sorted(maps.Keys(types())) }

// Of returns the JSON Schema (draft 2020-12) of a type by its name, as indented JSON. A name
// that there is none of is an error of the kind NotFound.
func Of(name string) ([]byte, error) {
	v, ok := types()[name]
	if !ok {
		return nil, &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find a schema named %q: there are %s", name, strings.Join(Names(), ", "))}
	}
	s := reflector().Reflect(v)
	s.Title = "custos " + name
	allowNull(s, s, reflect.TypeOf(v), map[reflect.Type]bool{})
	return json.MarshalIndent(s, "", "  ")
}

func reflector() *jsonschema.Reflector {
	return &jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, Mapper: mapped, Namer: typeName, LookupComment: help}
}

// help is what a fact says, as its field declares it; "" for what is no fact.
func help(t reflect.Type, name string) string {
	if name == "" { // it is asked for the type itself
		return ""
	}
	f, _ := t.FieldByName(name)
	return f.Tag.Get("help")
}

var (
	typeDuration = reflect.TypeFor[fleet.Duration]()
	typeParts    = regexp.MustCompile(`[A-Za-z0-9/.]+`)
)

// mapped gives the schema of types that write themselves: durations are texts,
// and a leaf is its value or {"unknown": "why"}.
func mapped(t reflect.Type) *jsonschema.Schema {
	if t == typeDuration {
		return &jsonschema.Schema{Type: "string", Description: `a duration like "1h30m0s"`, Pattern: `^-?([0-9.]+(ns|µs|ms|s|m|h))+$`}
	}
	if value, ok := leafValue(t); ok {
		inner := &jsonschema.Reflector{Anonymous: true, DoNotReference: true, Mapper: mapped, Namer: typeName, LookupComment: help}
		known := inner.ReflectFromType(value)
		known.Version = ""
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{nullable(value, known), unseen()}}
	}
	return nil
}

// nullable allows for nil, which a list of none is written as.
func nullable(t reflect.Type, s *jsonschema.Schema) *jsonschema.Schema {
	if t.Kind() != reflect.Slice {
		return s
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
}

// allowNull lets fields that Go may write as null be null: lists, maps and
// pointers that are written even when there is nothing in them. The reflector
// does not do so by itself.
func allowNull(root, s *jsonschema.Schema, t reflect.Type, done map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t, s = t.Elem(), nil
	}
	if _, leaf := leafValue(t); leaf || t.Kind() != reflect.Struct || done[t] {
		return
	}
	done[t] = true
	if s == nil || s.Properties == nil {
		s = root.Definitions[definition(t)]
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if s != nil && s.Properties != nil && !strings.Contains(options, "omit") && nilable(f.Type) {
			if prop, ok := s.Properties.Get(name); ok {
				s.Properties.Set(name, &jsonschema.Schema{AnyOf: []*jsonschema.Schema{prop, {Type: "null"}}})
			}
		}
		allowNull(root, nil, f.Type, done)
	}
}

func nilable(t reflect.Type) bool {
	return t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Pointer
}

func definition(t reflect.Type) string { return cmp.Or(typeName(t), t.Name()) }

// unseen is the schema of {"unknown": "why"}.
func unseen() *jsonschema.Schema {
	props := jsonschema.NewProperties()
	props.Set("unknown", &jsonschema.Schema{Type: "string", Description: "why it could not be seen"})
	return &jsonschema.Schema{Type: "object", Properties: props, Required: []string{"unknown"}, AdditionalProperties: jsonschema.FalseSchema}
}

// leafValue returns T of a fleet.Leaf[T].
func leafValue(t reflect.Type) (reflect.Type, bool) {
	if t.PkgPath() != reflect.TypeFor[fleet.Vantage]().PkgPath() || !strings.HasPrefix(t.Name(), "Leaf[") {
		return nil, false
	}
	get, ok := t.MethodByName("Get")
	if !ok {
		return nil, false
	}
	return get.Type.Out(0), true
}

// typeName names generic types readably: Part[[]custos/internal/fleet.Pane]
// becomes PartOfPane.
func typeName(t reflect.Type) string {
	outer, inner, generic := strings.Cut(t.Name(), "[")
	if !generic {
		return ""
	}
	name := outer + "Of"
	for _, part := range typeParts.FindAllString(inner, -1) {
		last := part[strings.LastIndexAny(part, "./")+1:]
		name += strings.ToUpper(last[:1]) + last[1:]
	}
	return name
}
