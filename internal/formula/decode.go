package formula

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"custos/internal/fleet"
	"custos/internal/nearest"
)

// field is one key that a table may have.
type field struct {
	index int
	key   string // the first of its names
}

// fieldsOf lists the keys of a struct by its tags; "a|b" are two names of one.
func fieldsOf(t reflect.Type) map[string]field {
	out := map[string]field{}
	for i := range t.NumField() {
		tag := t.Field(i).Tag.Get("toml")
		if tag == "" || tag == "-" {
			continue
		}
		names := strings.Split(tag, "|")
		for _, n := range names {
			out[n] = field{i, names[0]}
		}
	}
	return out
}

func (r *reader) fieldsOf(t reflect.Type) map[string]field {
	if r.fields[t] == nil {
		r.fields[t] = fieldsOf(t)
	}
	return r.fields[t]
}

// table reads a TOML table into a struct, and says of every key of it that
// nothing acts on.
func (r *reader) table(into reflect.Value, doc map[string]any, path []string) {
	fields := r.fieldsOf(into.Type())
	places := Places{"": r.at(path)}
	for _, key := range r.ordered(path, doc) {
		at := append(slices.Clone(path), key)
		f, ok := fields[key]
		if !ok || isForeign(into.Type(), key, doc[key]) {
			r.unread(into.Type(), key, fields, r.at(at))
			continue
		}
		places[f.key] = r.at(at)
		if text, ok := r.textAt(at); ok {
			places["="+f.key] = text
		}
		r.value(into.Field(f.index), doc[key], at)
	}
	if p := into.FieldByName("Places"); p.IsValid() {
		p.Set(reflect.ValueOf(places))
	}
}

// isForeign: Disinto's triage has a table of the name that is a text here.
func isForeign(t reflect.Type, key string, v any) bool {
	_, table := v.(map[string]any)
	return table && key == "project" && t == reflect.TypeFor[Formula]()
}

func (r *reader) unread(t reflect.Type, key string, fields map[string]field, at Place) {
	if r.unknown++; r.unknown > 10*maxTold {
		if r.unknown == 10*maxTold+1 {
			r.problems.warn(at, "more keys from here on are not acted on")
		}
		return
	}
	if why, ok := notActedOn()[t.Name()+"."+key]; ok {
		r.problems.warn(at, "%s is read and not acted on: %s", key, why)
		return
	}
	var names []string
	for n := range fields {
		names = append(names, n)
	}
	r.problems.warn(at, "key %q is not acted on%s", key, nearest.Hint(key, names))
}

func (r *reader) value(into reflect.Value, v any, path []string) {
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	defer r.placed(into, path)
	if read, ok := r.special(into.Addr().Interface()); ok {
		read(v, path)
		return
	}
	switch into.Kind() {
	case reflect.String:
		r.text(into, v, path)
	case reflect.Bool:
		r.boolean(into, v, path)
	case reflect.Int:
		r.number(into, v, path)
	case reflect.Slice:
		r.list(into, v, path)
	case reflect.Struct:
		if doc, ok := v.(map[string]any); ok {
			r.table(into, doc, path)
		} else {
			r.mismatch(v, path, "a table")
		}
	}
}

// placed gives a place to what could not be read as a table, since others will
// have more to say about it.
func (r *reader) placed(into reflect.Value, path []string) {
	if into.Kind() != reflect.Struct {
		return
	}
	if p := into.FieldByName("Places"); p.IsValid() && p.IsNil() {
		p.Set(reflect.ValueOf(Places{"": r.at(path)}))
	}
}

func (r *reader) mismatch(v any, path []string, want string) {
	r.problems.wrong(r.at(path), "%s is %s, want %s", spoken(path), kindOf(v), want)
}

// text takes numbers and truth values too: a version or a default may be one.
func (r *reader) text(into reflect.Value, v any, path []string) {
	if s, ok := plain(v); ok {
		into.SetString(s)
	} else {
		r.mismatch(v, path, "text")
	}
}

func (r *reader) boolean(into reflect.Value, v any, path []string) {
	if b, ok := v.(bool); ok {
		into.SetBool(b)
	} else {
		r.mismatch(v, path, "true or false")
	}
}

func (r *reader) number(into reflect.Value, v any, path []string) {
	n, ok := v.(int64)
	if !ok || n < 0 || n > 1<<31-1 {
		r.mismatch(v, path, "a whole number, not negative")
		return
	}
	into.SetInt(n)
}

// list reads texts or tables, and adds to what is there: one list may be
// written under two names. One text stands for a list of it.
func (r *reader) list(into reflect.Value, v any, path []string) {
	if s, ok := v.(string); ok && into.Type().Elem().Kind() == reflect.String {
		v = []any{s}
	}
	items, ok := v.([]any)
	if !ok {
		r.mismatch(v, path, "a list")
		return
	}
	if into.Type().Elem().Kind() == reflect.Struct && len(path) > maxDepth*2 {
		r.problems.wrong(r.at(path), "%s is nested too deeply", spoken(path))
		return
	}
	for i, item := range items {
		one := reflect.New(into.Type().Elem()).Elem()
		if s, ok := one.Addr().Interface().(*Schedule); ok {
			s.CatchUp = true
		}
		r.value(one, item, append(slices.Clone(path), element(i)))
		into.Set(reflect.Append(into, one))
	}
}

// special reads what has a form of its own.
func (r *reader) special(into any) (func(any, []string), bool) {
	switch x := into.(type) {
	case *time.Duration:
		return func(v any, path []string) { r.duration(x, v, path) }, true
	case *Run:
		return func(v any, path []string) { r.run(x, v, path) }, true
	case *Waits:
		return func(v any, path []string) { r.waits(x, v, path) }, true
	case *map[string]string:
		return func(v any, path []string) { r.texts(x, v, path) }, true
	case *[]Var:
		return func(v any, path []string) { r.vars(x, v, path) }, true
	case *[]Preset:
		return func(v any, path []string) { r.presets(x, v, path) }, true
	case *[]Named:
		return func(v any, path []string) { r.named(x, v, path) }, true
	case *Context, *Gate:
		return r.short(into)
	}
	return nil, false
}

// short reads tables of which the main key may be written alone.
func (r *reader) short(into any) (func(any, []string), bool) {
	return func(v any, path []string) {
		doc, isTable := v.(map[string]any)
		switch x := into.(type) {
		case *Context:
			if isTable {
				r.table(reflect.ValueOf(x).Elem(), doc, path)
				return
			}
			x.Places = Places{"": r.at(path)}
			r.list(reflect.ValueOf(&x.Files).Elem(), v, path)
		case *Gate:
			if s, ok := v.(string); ok {
				*x = Gate{Type: s, Places: Places{"": r.at(path)}}
			} else if isTable {
				r.table(reflect.ValueOf(x).Elem(), doc, path)
			} else {
				r.mismatch(v, path, "a table or the type of a gate")
			}
		}
	}, true
}

func (r *reader) duration(into *time.Duration, v any, path []string) {
	s, ok := v.(string)
	if !ok {
		r.mismatch(v, path, "a duration like \"90s\", \"2h30m\" or \"3d\"")
		return
	}
	d, err := duration(s)
	if err != nil {
		r.problems.wrong(r.at(path), "%s: %v", spoken(path), err)
	}
	*into = d
}

// duration reads "90s", "2h30m" or "3d".
func duration(s string) (time.Duration, error) { return fleet.ParseDuration(s) }

func (r *reader) run(into *Run, v any, path []string) {
	if s, ok := v.(string); ok {
		into.Script = s
		return
	}
	r.list(reflect.ValueOf(&into.Argv).Elem(), v, path)
}

func (r *reader) waits(into *Waits, v any, path []string) {
	if s, ok := v.(string); ok && (s == "all-children" || s == "any-children") {
		into.Children = s
		return
	}
	r.list(reflect.ValueOf(&into.Steps).Elem(), v, path)
}

func (r *reader) texts(into *map[string]string, v any, path []string) {
	doc, ok := v.(map[string]any)
	if !ok {
		r.mismatch(v, path, "a table of texts")
		return
	}
	*into = map[string]string{}
	for _, k := range r.ordered(path, doc) {
		at := append(slices.Clone(path), k)
		if s, ok := plain(doc[k]); ok {
			(*into)[k] = s
		} else {
			r.mismatch(doc[k], at, "text")
		}
	}
}

func (r *reader) named(into *[]Named, v any, path []string) {
	all := map[string]string{}
	r.texts(&all, v, path)
	if doc, ok := v.(map[string]any); ok {
		for _, k := range r.ordered(path, doc) {
			*into = append(*into, Named{k, all[k]})
		}
	}
}

// vars reads tables by name. A text alone is the default of its variable.
func (r *reader) vars(into *[]Var, v any, path []string) {
	r.byName(v, path, func(name string, v any, at []string) {
		one := Var{Name: name, Places: Places{"": r.at(at)}}
		if s, ok := plain(v); ok {
			one.Default = &s
		} else {
			r.value(reflect.ValueOf(&one).Elem(), v, at)
		}
		*into = append(*into, one)
	})
}

func (r *reader) presets(into *[]Preset, v any, path []string) {
	r.byName(v, path, func(name string, v any, at []string) {
		one := Preset{Name: name}
		r.value(reflect.ValueOf(&one).Elem(), v, at)
		*into = append(*into, one)
	})
}

func (r *reader) byName(v any, path []string, each func(string, any, []string)) {
	doc, ok := v.(map[string]any)
	if !ok {
		r.mismatch(v, path, "a table")
		return
	}
	for _, name := range r.ordered(path, doc) {
		each(name, doc[name], append(slices.Clone(path), name))
	}
}

// plain returns a single value as text.
func plain(v any) (string, bool) {
	switch x := v.(type) {
	case string:
		return x, true
	case bool, int64, float64:
		return fmt.Sprint(x), true
	}
	return "", false
}

func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "text"
	case bool:
		return "true or false"
	case int64, float64:
		return fmt.Sprintf("the number %v", v)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}

// spoken returns a path as it is said: steps[2].needs.
func spoken(path []string) string {
	var b strings.Builder
	for i, p := range path {
		if n, ok := strings.CutPrefix(p, "#"); ok {
			b.WriteString("[" + n + "]")
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}
