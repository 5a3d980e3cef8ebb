package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"custos/internal/brokentoml"
)

// isSetting says whether the file has, under the name of a section, a key of its top: a
// budget of actions is written so.
func (c Config) isSetting(name string) bool {
	_, table := c.all[name].(map[string]any)
	return !table && slices.ContainsFunc(c.settings(), func(s setting) bool { return s.key == name })
}

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
	if _, there := c.lines[name]; !there || c.isSetting(name) {
		return nil
	}
	if err := c.Check(name, target.Type().Elem()); err != nil {
		return err
	}
	// A struct with this one section is decoded from the whole file.
	doc := reflect.New(reflect.StructOf([]reflect.StructField{{
		Name: "Section", Type: target.Type().Elem(),
		Tag: reflect.StructTag(fmt.Sprintf(`toml:%q`, name)),
	}}))
	doc.Elem().Field(0).Set(target.Elem())
	if err := toml.Unmarshal(c.Text, doc.Interface()); err != nil {
		return c.Misread(name, errors.New(brokentoml.Plain(err)))
	}
	target.Elem().Set(doc.Elem().Field(0))
	return nil
}

// Misread is what is wrong with a section, or with one key of it ("pool.dev.min"),
// as a mistake at its line (see LineOf). What names its line already stays as it is, and so does
// what is wrong where the file says nothing.
func (c Config) Misread(path string, err error) error {
	var said *Mistake
	if err == nil || c.lineOf(path) == 0 || errors.As(err, &said) {
		return err
	}
	p := &problems{file: c.File}
	where := fmt.Sprintf("[%s] ", path)
	if at := strings.LastIndexByte(path, '.'); at > 0 && !c.isTable(path) {
		where = fmt.Sprintf("[%s] %s: ", path[:at], path[at+1:])
	}
	p.add(c.LineOf(path, err), "%s%s", where, err)
	return p.err()
}

// LineOf is the line of what is wrong with a section: of the first key there that the
// error names, else of the section, else of what it stands in.
func (c Config) LineOf(path string, err error) int {
	below := c.keysBelow(path)
	for _, word := range keyWord.FindAllString(quoted.ReplaceAllString(err.Error(), ""), -1) {
		if line := below[word]; line > 0 {
			return line
		}
	}
	return c.lineOf(path)
}

// keyWord finds what may be a key in what is said, quoted what a text holds.
var (
	keyWord = regexp.MustCompile(`[A-Za-z0-9_-]+`)
	quoted  = regexp.MustCompile(`"[^"]*"`)
)

// keysBelow finds the keys below a path that are given a value, and the first line of
// each; what several sections call the same, where it is first.
func (c Config) keysBelow(path string) map[string]int {
	lines := map[string]int{}
	for key, line := range c.lines {
		at := strings.LastIndexByte(key, '.')
		if !strings.HasPrefix(key, path+".") || c.isTable(key) || c.lines[key+".0"] > 0 {
			continue
		}
		if last := key[at+1:]; lines[last] == 0 || line < lines[last] {
			lines[last] = line
		}
	}
	return lines
}

// isTable says whether there is a table of that name in the file.
func (c Config) isTable(path string) bool {
	var at any = c.all
	for _, key := range strings.Split(path, ".") {
		table, ok := at.(map[string]any)
		if !ok {
			return false
		}
		at = table[key]
	}
	_, ok := at.(map[string]any)
	return ok
}

// lineOf is the line of a key, else of what it stands in.
func (c Config) lineOf(path string) int {
	for path != "" && c.lines[path] == 0 {
		path = path[:max(0, strings.LastIndexByte(path, '.'))]
	}
	return c.lines[path]
}
