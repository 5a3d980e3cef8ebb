package formula

import (
	"reflect"
	"slices"
	"strings"
)

// Lookup finds a formula by its name, or by "NAME.overlay" what a project lays
// over the formula NAME. It returns the text, how problems shall name it, and
// whether there is one. Whose formula wins, the project's or the built-in, is
// the caller's order.
type Lookup func(name string) (text []byte, file string, ok bool)

// Resolve brings in what a formula builds on, in this order: the formulas it
// extends, the expansions and aspects it composes, its own advice, and the
// overlay of the project. Afterwards the formula stands alone. The problems of
// the formulas brought in are among those returned.
func Resolve(f Formula, lookup Lookup) (Formula, []Problem) {
	r := &resolver{lookup: lookup}
	f = r.inherit(f, []string{f.Name})
	if r.tooMany(f) {
		return f, r.problems.sorted()
	}
	f = r.compose(f)
	f = r.overlay(f)
	return f, r.problems.sorted()
}

type resolver struct {
	lookup   Lookup
	problems problems
	read     int // formulas read for this one
}

// find reads another formula.
func (r *resolver) find(name string, at Place) (Formula, bool) {
	r.read++
	if r.read > 4*maxDepth {
		r.problems.wrong(at, "cannot bring in %q: too many formulas are brought in", name)
		return Formula{}, false
	}
	text, file, ok := r.lookup(name)
	if !ok {
		r.problems.wrong(at, "there is no formula %q", name)
		return Formula{}, false
	}
	f, found := Parse(file, text)
	r.problems = append(r.problems, found...)
	return f, !Refused(found) && !r.tooMany(f)
}

func (r *resolver) tooMany(f Formula) bool {
	n := countSteps(f)
	if n > maxSteps {
		r.problems.wrong(f.Places.of("steps"), "the formula has %d steps: at most %d are run", n, maxSteps)
	}
	return n > maxSteps
}

func countSteps(f Formula) (n int) {
	for _, list := range [][]Step{f.Steps, f.Template} {
		every(list, func(*Step) { n++ })
	}
	return n + len(f.Legs) + len(f.Aspects) + len(f.Advice)
}

// inherit lays a formula over those it extends. chain is who led here.
func (r *resolver) inherit(f Formula, chain []string) Formula {
	var base *Formula
	for _, name := range f.Extends {
		at := f.Places.of("extends")
		if slices.Contains(chain, name) || len(chain) > maxDepth {
			r.problems.wrong(at, "the formula extends itself: %s", strings.Join(append(chain, name), " → "))
			continue
		}
		parent, ok := r.find(name, at)
		if !ok {
			continue
		}
		parent = r.inherit(parent, append(slices.Clone(chain), name))
		if base == nil {
			base = &parent
		} else {
			merged := over(parent, *base)
			base = &merged
		}
	}
	if base == nil {
		return f
	}
	out := over(f, *base)
	out.Extends = nil
	out.Type = inheritedType(f, *base)
	return out
}

func inheritedType(f, base Formula) Type {
	if f.Places["type"].Line == 0 {
		return base.Type
	}
	return f.Type
}

// over lays a child over its parent. Steps, legs, variables and presets of the
// same name are replaced where they stand, new ones come after; lists of advice
// are joined; any other key that the child does not have is the parent's.
func over(child, parent Formula) Formula {
	out := child
	to, from := reflect.ValueOf(&out).Elem(), reflect.ValueOf(&parent).Elem()
	for _, f := range fieldsOf(to.Type()) {
		if child.Places[f.key].Line == 0 {
			to.Field(f.index).Set(from.Field(f.index))
		}
	}
	out.Name, out.Extends = child.Name, child.Extends
	out.Steps = merge(parent.Steps, child.Steps, func(s Step) string { return s.ID })
	out.Template = merge(parent.Template, child.Template, func(s Step) string { return s.ID })
	out.Legs = merge(parent.Legs, child.Legs, func(l Leg) string { return l.ID })
	out.Aspects = merge(parent.Aspects, child.Aspects, func(l Leg) string { return l.ID })
	out.Vars = merge(parent.Vars, child.Vars, func(v Var) string { return v.Name })
	out.Inputs = merge(parent.Inputs, child.Inputs, func(v Var) string { return v.Name })
	out.Presets = merge(parent.Presets, child.Presets, func(p Preset) string { return p.Name })
	out.Prompts = merge(parent.Prompts, child.Prompts, func(t Named) string { return t.Name })
	out.Advice = append(slices.Clone(parent.Advice), child.Advice...)
	out.Compose = joined(parent.Compose, child.Compose)
	out.Places = joinedPlaces(parent.Places, child.Places)
	return out
}

func merge[T any](parent, child []T, name func(T) string) []T {
	out := slices.Clone(parent)
	inherited := len(out)
	for _, c := range child {
		i := slices.IndexFunc(out[:inherited], func(p T) bool { return name(p) == name(c) })
		if i < 0 {
			out = append(out, c) // a name twice in the child is for Check to say
		} else {
			out[i] = c
		}
	}
	return out
}

func joined(a, b *Compose) *Compose {
	if a == nil || b == nil {
		return firstOf(a, b)
	}
	return &Compose{
		Expand:  append(slices.Clone(a.Expand), b.Expand...),
		Map:     append(slices.Clone(a.Map), b.Map...),
		Aspects: union(slices.Clone(a.Aspects), b.Aspects...),
		Branch:  append(slices.Clone(a.Branch), b.Branch...),
		Gate:    append(slices.Clone(a.Gate), b.Gate...),
		Places:  b.Places,
	}
}

func firstOf[T any](a, b *T) *T {
	if b != nil {
		return b
	}
	return a
}

func joinedPlaces(a, b Places) Places {
	out := Places{}
	for _, p := range []Places{a, b} {
		for k, at := range p {
			out[k] = at
		}
	}
	return out
}
