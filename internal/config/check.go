package config

import (
	"encoding"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"custos/internal/nearest"
)

// checker says in plain words what is wrong with the values of one section, each
// at its line, before they are decoded.
type checker struct {
	Config
	p *problems
	// bare: the section is a whole file, whose keys stand in no table.
	bare bool
}

// Check compares a table of the file with the type it is read into, and with what
// the tags "is" of its fields ask for (see wants). Every mistake is in the error.
func (c Config) Check(name string, t reflect.Type) error {
	v, there := c.all[name]
	if !there {
		return nil
	}
	k := checker{Config: c, p: &problems{file: c.File}}
	k.value([]string{name}, v, t, "")
	return k.p.err()
}

func (k checker) wrong(path []string, format string, args ...any) {
	where := fmt.Sprintf("[%s]", strings.Join(path, "."))
	switch n := len(path) - 1; {
	case n > 0:
		where = fmt.Sprintf("[%s] %s", strings.Join(path[:n], "."), path[n])
	case k.bare:
		where = strings.Join(path, "")
	}
	k.p.add(k.lineOf(strings.Join(path, ".")), "%s: %s", where, fmt.Sprintf(format, args...))
}

func (k checker) value(path []string, v any, t reflect.Type, is string) {
	if t.Kind() == reflect.Pointer {
		k.value(path, v, t.Elem(), is)
		return
	}
	if reads, ok := reflect.New(t).Interface().(encoding.TextUnmarshaler); ok {
		k.text(path, v, func(s string) error { return reads.UnmarshalText([]byte(s)) })
		return
	}
	switch t.Kind() {
	case reflect.String:
		k.text(path, v, func(s string) error { return k.wants(is, s) })
	case reflect.Bool:
		if _, ok := v.(bool); !ok {
			k.wrong(path, "want true or false, not %s", kindOf(v))
		}
	case reflect.Int, reflect.Int64, reflect.Float64:
		k.number(path, v, t.Kind() != reflect.Float64, is)
	case reflect.Slice:
		k.list(path, v, t.Elem(), is)
	case reflect.Map:
		k.table(path, v, func(key string) (reflect.Type, string, bool) { return t.Elem(), is, true })
	case reflect.Struct:
		fields := fieldsOf(t)
		k.table(path, v, func(key string) (reflect.Type, string, bool) {
			f, known := fields[key]
			if !known && !isNamed(append(path[:len(path):len(path)], key), v.(map[string]any)[key]) {
				k.unknown(path, key, fields)
			}
			return f.Type, f.Tag.Get("is"), known
		})
	}
}

func (k checker) unknown(path []string, key string, fields map[string]reflect.StructField) {
	in := ""
	if len(path) > 0 {
		in = " in [" + strings.Join(path, ".") + "]"
	}
	k.p.add(k.lineOf(strings.Join(append(path[:len(path):len(path)], key), ".")), "unknown key %q%s%s", key, in, nearest.Hint(key, slices.Sorted(maps.Keys(fields))))
}

// text checks a text. An empty one is as good as none, but in a list.
func (k checker) text(path []string, v any, check func(string) error) {
	s, err := text(v)
	if err == nil && s != "" {
		err = check(s)
	}
	if err != nil {
		k.wrong(path, "%s", err)
	}
}

func (k checker) number(path []string, v any, whole bool, is string) {
	n, isWhole := v.(int64)
	f, isFloat := v.(float64)
	if isWhole {
		f = float64(n)
	}
	switch {
	case whole && !isWhole:
		k.wrong(path, "want a whole number, not %s", kindOf(v))
	case !isWhole && !isFloat:
		k.wrong(path, "want a number, not %s", kindOf(v))
	case !between(is, f):
		from, to, _ := strings.Cut(is, "..")
		k.wrong(path, "%v is not between %s and %s", v, from, to)
	}
}

// between says whether a number is within "0..50"; without a tag any is.
func between(is string, n float64) bool {
	from, to, ok := strings.Cut(is, "..")
	if !ok {
		return !math.IsNaN(n) && !math.IsInf(n, 0)
	}
	least, _ := strconv.ParseFloat(from, 64) // a test reads each tag
	most, _ := strconv.ParseFloat(to, 64)
	return n >= least && n <= most
}

func (k checker) list(path []string, v any, elem reflect.Type, is string) {
	all, ok := v.([]any)
	if !ok {
		k.wrong(path, "want a list in brackets, not %s", kindOf(v))
		return
	}
	for i, e := range all {
		if s, empty := e.(string); empty && s == "" && is != "" {
			k.wrong(path, "a text in it is empty")
			continue
		}
		if _, table := e.(map[string]any); table && k.lines[strings.Join(path, ".")+"."+strconv.Itoa(i)] != 0 {
			k.value(append(path[:len(path):len(path)], strconv.Itoa(i)), e, elem, is)
			continue
		}
		k.value(path, e, elem, is)
	}
}

func (k checker) table(path []string, v any, field func(key string) (reflect.Type, string, bool)) {
	all, ok := v.(map[string]any)
	if !ok {
		k.wrong(path, "want a section, not %s", kindOf(v))
		return
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if t, is, known := field(key); known {
			k.value(append(path[:len(path):len(path)], key), all[key], t, is)
		}
	}
}

// fieldsOf lists what a struct takes, by key.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	out := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if tag != "" && tag != "-" && f.IsExported() {
			out[tag] = f
		}
	}
	return out
}
