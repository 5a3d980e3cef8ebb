package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/fleet"
	"custos/internal/fleet/fleettest"
	"custos/internal/recording"
	"custos/internal/schema"
	"custos/internal/view"
)

// A random snapshot is what its schema says, down to every leaf; and so is each
// view of the cases.
func TestRecordingsAreWhatTheSchemaSays(t *testing.T) {
	schema := schemaTree(t, "recording")
	rapid.Check(t, func(t *rapid.T) {
		r := fleet.Recording{Version: 1, Snapshot: fleettest.Snapshot(t)}
		r.Past = fleettest.Past(t, r.Snapshot.At)
		b, err := recording.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		if err := conforms(schema, schema, v, "recording"); err != nil {
			t.Fatal(err)
		}
	})
}

func TestViewsAreWhatTheirSchemasSay(t *testing.T) {
	w := newWorld()
	for name, v := range map[string]any{
		"first-look": view.FirstLook(w.pass, w, view.Hints{}),
		"patrol":     view.PatrolReport(w.pass, false, w),
		"preflight":  view.Preflight(w.pass.Snapshot, nil),
		"plan":       view.Plan(w.pass, w),
		"run":        w.control().RunView(nightly("n-1")),
		"pass":       w.pass,
		"event":      view.Event(w.events[1]),
	} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var tree any
		if err := json.Unmarshal(b, &tree); err != nil {
			t.Fatal(err)
		}
		schema := schemaTree(t, name)
		if err := conforms(schema, schema, tree, name); err != nil {
			t.Errorf("%v", err)
		}
	}
}

// The checker below must be able to say no.
func TestSchemaRefuses(t *testing.T) {
	schema := schemaTree(t, "recording")
	for _, text := range []string{
		`{"version":1}`,
		`{"version":"1","custos":"","snapshot":{},"past":{},"policy":{},"rules":""}`,
		`{"version":1,"custos":"","snapshot":{},"past":{},"policy":{},"rules":"","more":1}`,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if conforms(schema, schema, v, "") == nil {
			t.Errorf("accepted %s", text)
		}
	}
	leaf := map[string]any{"$ref": "#/$defs/Memory"}
	for text, ok := range map[string]bool{
		`{"total":1,"available":{"unknown":"why"}}`:          true,
		`{"total":1,"available":{"unknown":"why","more":1}}`: false,
		`{"total":1,"available":"much"}`:                     false,
	} {
		var v any
		_ = json.Unmarshal([]byte(text), &v)
		if got := conforms(schema, leaf, v, "") == nil; got != ok {
			t.Errorf("%s: accepted = %v", text, got)
		}
	}
}

// What a fact says is said in the schema, too, whatever its type is.
func TestSchemaSaysWhatFactsSay(t *testing.T) {
	defs := schemaTree(t, "recording")["$defs"].(map[string]any)
	for path, want := range map[string]string{
		"Mount.path":      "where it is mounted",
		"Mount.total":     "bytes it holds",
		"Lock.file":       "its identity",
		"Worktree.bulk":   "folders of build output in it, biggest first",
		"Self.rows_aside": "rows of the database that could not be read and were set aside within a day",
		"RunFacts.steps":  "the commands of its open steps, as they are seen",
		"Snapshot.host":   "",
	} {
		of, name, _ := strings.Cut(path, ".")
		field, _ := defs[of].(map[string]any)["properties"].(map[string]any)[name].(map[string]any)
		if got, _ := field["description"].(string); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func schemaTree(t *testing.T, name string) map[string]any {
	t.Helper()
	b, err := schema.Of(name)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(b, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

// conforms checks a value against the part of JSON Schema that is used here.
func conforms(root, s map[string]any, v any, at string) error {
	if ref, ok := s["$ref"].(string); ok {
		def, ok := root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		if !ok {
			return fmt.Errorf("%s: %s leads nowhere", at, ref)
		}
		return conforms(root, def, v, at)
	}
	for _, word := range []string{"oneOf", "anyOf"} {
		if list, ok := s[word].([]any); ok {
			fit := slices.ContainsFunc(list, func(o any) bool { return conforms(root, o.(map[string]any), v, at) == nil })
			if !fit {
				return fmt.Errorf("%s: %v fits none of %v", at, v, list)
			}
		}
	}
	if want, ok := s["type"].(string); ok && !isType(want, v) {
		return fmt.Errorf("%s: %v is no %s", at, v, want)
	}
	if list, ok := v.([]any); ok {
		items, _ := s["items"].(map[string]any)
		for i, e := range list {
			if err := conforms(root, items, e, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	}
	if object, ok := v.(map[string]any); ok {
		return conformsObject(root, s, object, at)
	}
	return nil
}

func conformsObject(root, s, v map[string]any, at string) error {
	props, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, ok := v[name.(string)]; !ok {
			return fmt.Errorf("%s: %v is missing", at, name)
		}
	}
	for name, e := range v {
		sub, ok := props[name].(map[string]any)
		if more, has := s["additionalProperties"].(map[string]any); !ok && has {
			sub, ok = more, true
		}
		if !ok {
			if s["additionalProperties"] == false {
				return fmt.Errorf("%s: %s is not in the schema", at, name)
			}
			continue
		}
		if err := conforms(root, sub, e, at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func isType(want string, v any) bool {
	switch n := v.(type) {
	case nil:
		return want == "null"
	case bool:
		return want == "boolean"
	case string:
		return want == "string"
	case float64:
		return want == "number" || want == "integer" && n == float64(int64(n))
	case []any:
		return want == "array"
	}
	return want == "object"
}
