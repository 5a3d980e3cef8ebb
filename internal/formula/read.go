package formula

import (
	"errors"
	"reflect"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"custos/internal/brokentoml"
)

// Parse reads a formula. file is how problems name it. It reports everything
// that is wrong and every key that is not acted on; a formula with an error is
// not to be run. Parse takes any bytes and looks at no other file.
func Parse(file string, data []byte) (Formula, []Problem) {
	f := defaults()
	r := open(file, data, &f.Places)
	if r.doc != nil {
		r.table(reflect.ValueOf(&f).Elem(), r.doc, nil)
	}
	f.File = file
	f.settle(r)
	return f, r.problems.sorted()
}

func defaults() Formula {
	return Formula{SingleFlight: true, Mode: Session, MemoryGuard: 2000, SessionTime: 2 * time.Hour, Parallel: 4}
}

// settle fills in what follows from what was written.
func (f *Formula) settle(r *reader) {
	f.Type = cmpType(f)
	if f.TimeoutLegacy > 0 && f.Places["session_timeout"].Line == 0 {
		f.SessionTime = time.Duration(min(f.TimeoutLegacy, 1<<20)) * time.Minute
	}
	for i := range f.Inputs {
		if f.Inputs[i].Type == "" {
			f.Inputs[i].Type = "string"
		}
	}
	if f.Name == "" && r.doc != nil {
		r.problems.wrong(Place{r.file, 1, 1}, `the formula has no name: write name = "…" (or formula = "…")`)
	}
}

// cmpType returns the written type, or what the formula looks like.
func cmpType(f *Formula) Type {
	switch {
	case f.Type != "":
		return f.Type
	case len(f.Steps) > 0 || len(f.Extends) > 0:
		return workflow
	case len(f.Legs) > 0:
		return convoy
	case len(f.Template) > 0:
		return expansion
	case len(f.Aspects)+len(f.Advice) > 0:
		return aspect
	}
	return workflow
}

// reader reads one file.
type reader struct {
	file     string
	doc      map[string]any
	places   *table
	lines    lines
	shift    tolerance
	problems problems
	fields   map[reflect.Type]map[string]field
	unknown  int // keys that are not acted on
}

// open reads the bytes as TOML; doc is nil when they are none.
func open(file string, data []byte, root *Places) *reader {
	r := &reader{file: file, fields: map[reflect.Type]map[string]field{}}
	*root = Places{"": {file, 1, 1}}
	if len(data) > MaxBytes {
		r.problems.wrong(Place{File: file}, "the file is larger than %d MiB (%d bytes): put long texts in files of their own, and name them in context", MaxBytes>>20, MaxBytes)
		return r
	}
	r.lines = linesOf(data)
	if at := firstInvalid(data); at >= 0 {
		r.problems.wrong(r.place(at), "cannot read TOML: this byte is not UTF-8")
		return r
	}
	r.shift = tolerant(data)
	r.backslashes()
	if r.doc = r.unmarshal(); r.doc != nil {
		r.places = tableOf(r.shift.text)
	}
	return r
}

// maxTold is how many problems of one sort are told one by one.
const maxTold = 50

func (r *reader) backslashes() {
	for i, at := range r.shift.doubled {
		place := r.place(at - i)
		if i == maxTold {
			r.problems.warn(place, "%d more bare backslashes from here on", len(r.shift.doubled)-i)
			return
		}
		r.problems.warn(place, `a bare backslash in a basic string: kept as it is; write \\, or use ''' quotes`)
	}
}

func (r *reader) unmarshal() map[string]any {
	doc := map[string]any{}
	err := toml.Unmarshal(r.shift.text, &doc)
	if err == nil {
		return doc
	}
	at := Place{File: r.file, Line: 1, Column: 1}
	var d *toml.DecodeError
	if errors.As(err, &d) {
		row, column := d.Position()
		offset := linesOf(r.shift.text)[min(row, len(r.lines))-1] + column - 1
		at = r.place(r.shift.original(offset))
	}
	r.problems.wrong(at, "%s", brokentoml.Plain(err))
	return nil
}

func firstInvalid(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for at := 0; at < len(data); {
		c, n := utf8.DecodeRune(data[at:])
		if c == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return -1
}

// place is that of an offset in the text as it was written.
func (r *reader) place(offset int) Place {
	line, column := r.lines.of(offset)
	return Place{r.file, line, column}
}

// at is the place of a key, or of the nearest above it that has one.
func (r *reader) at(path []string) Place {
	for n := len(path); n > 0; n-- {
		if offset, ok := r.places.keys[pathKey(path[:n])]; ok {
			return r.place(r.shift.original(offset))
		}
	}
	return Place{r.file, 1, 1}
}

// textAt is where the text of a string begins.
func (r *reader) textAt(path []string) (Place, bool) {
	offset, ok := r.places.values[pathKey(path)]
	if !ok {
		return Place{}, false
	}
	return r.place(r.shift.original(offset)), true
}

// ordered returns the keys in the order in which they were written.
func (r *reader) ordered(path []string, keys map[string]any) []string {
	var out []string
	for k := range keys {
		out = append(out, k)
	}
	slices.Sort(out)
	slices.SortStableFunc(out, func(a, b string) int {
		return r.offset(path, a) - r.offset(path, b)
	})
	return out
}

func (r *reader) offset(path []string, key string) int {
	return r.places.keys[pathKey(append(slices.Clone(path), key))]
}
