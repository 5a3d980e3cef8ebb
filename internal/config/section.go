package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"custos/internal/nearest"
)

// Section decodes one plug-in section into the struct (or the map of structs,
// for [probe.NAME]) that into points to, and leaves into as it is when the file
// has no such section. A key the struct does not have is an error with its line
// and the nearest name it does have; all of them are reported together. Nothing
// is decoded into into when there is an error.
func (c Config) Section(name string, into any) error {
	if !c.sections[name] {
		return fmt.Errorf("cannot read section [%s]: no plug-in is known by that name", name)
	}
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("cannot read section [%s]: %T is no pointer", name, into)
	}
	if _, there := c.lines[name]; !there {
		return nil
	}
	// A struct with this one section is decoded from the whole file, so that
	// the positions in the errors are those of the file.
	doc := reflect.New(reflect.StructOf([]reflect.StructField{{
		Name: "Section", Type: target.Type().Elem(),
		Tag: reflect.StructTag(fmt.Sprintf(`toml:%q`, name)),
	}}))
	doc.Elem().Field(0).Set(target.Elem())
	err := toml.NewDecoder(bytes.NewReader(c.Text)).DisallowUnknownFields().Decode(doc.Interface())
	if err := c.sectionErrors(name, target.Type().Elem(), err); err != nil {
		return err
	}
	target.Elem().Set(doc.Elem().Field(0))
	return nil
}

// sectionErrors keeps what concerns the section: to the decoder every other
// section is unknown too.
func (c Config) sectionErrors(name string, t reflect.Type, err error) error {
	p := &problems{file: c.File}
	var missing *toml.StrictMissingError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		for i := range missing.Errors {
			c.unknownKey(p, name, t, &missing.Errors[i])
		}
	default:
		p.add(lineOf(err), "[%s]: %s", name, plain(err))
	}
	return p.err()
}

func (c Config) unknownKey(p *problems, name string, t reflect.Type, e *toml.DecodeError) {
	key := e.Key()
	if len(key) < 2 || key[0] != name {
		return
	}
	last := key[len(key)-1]
	row, _ := e.Position()
	p.add(row, "unknown key %q in [%s]%s", last, strings.Join(key[:len(key)-1], "."), nearest.Hint(last, tomlKeys(t)))
}

// tomlKeys lists the keys a section's type takes, nested ones too: enough to
// guess what was meant.
func tomlKeys(t reflect.Type) []string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return tomlKeys(t.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if tag == "-" || tag == "" {
			continue
		}
		out = append(append(out, tag), tomlKeys(f.Type)...)
	}
	return out
}
