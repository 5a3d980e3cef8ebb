package formula

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"custos/internal/nearest"
)

// Render makes of a resolved formula what is run: values are put into texts,
// conditions are decided, and loops, children and legs become plain steps with
// needs. vars are the values given for this run; what is missing, unknown or
// not allowed is an error. Nothing is run. The result keeps the values in
// Formula.Values and Step.Values, for the environment of scripts.
func Render(f Formula, vars map[string]string) (Formula, []Problem) {
	r := &renderer{f: f, left: 10 * maxSteps, instead: map[string][]string{}}
	if n := countSteps(f); n > maxSteps {
		r.wrong(f.Places.of("steps"), "the formula has %d steps: at most %d are run", n, maxSteps)
		return f, r.sorted()
	}
	if f.Type == expansion || f.Type == aspect && len(f.Aspects) == 0 {
		r.wrong(f.Places.of("type"), "this is an %s: it is used by other formulas, and not run by itself", f.Type)
		return f, r.sorted()
	}
	r.values = r.given(vars)
	out := f
	out.Steps = r.unfold(r.start(), r.values, 0)
	r.reconnect(out.Steps)
	out.Values = r.own(r.values)
	out.Description = r.filled(f.Places.of("description"), "description", f.Description, r.values)
	out.Legs, out.Synthesis, out.Template, out.Aspects, out.Presets = nil, nil, nil, nil, nil
	r.final(out)
	return out, r.sorted()
}

type renderer struct {
	problems
	f       Formula
	values  map[string]string
	instead map[string][]string // who waited for the one waits for the others
	left    int                 // steps and rounds that may still be made
	full    bool
}

// given checks the values and adds the defaults.
func (r *renderer) given(vars map[string]string) map[string]string {
	values := map[string]string{}
	asked := r.asked()
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if _, ok := r.f.variable(name); !ok && !asked[name] {
			r.wrong(Place{File: r.f.File}, "there is no variable %q%s", name, nearest.Hint(name, slices.Sorted(maps.Keys(asked))))
			continue
		}
		values[name] = vars[name]
		if err := (Var{}).check(vars[name]); err != nil {
			r.wrong(Place{File: r.f.File}, "variable %q: %v", name, err)
		}
	}
	for _, list := range [][]Var{r.f.Vars, r.f.Inputs} {
		for _, v := range list {
			r.value(v, vars, values)
		}
	}
	return values
}

// asked is every variable that is declared or that a text reads.
func (r *renderer) asked() map[string]bool {
	asked := map[string]bool{}
	if len(r.f.Presets) > 0 {
		asked["preset"] = true
	}
	look := func(_, text string) string {
		if t, err := readTemplate(text, r.f.Type == convoy); err == nil {
			for _, n := range t.names() {
				asked[n] = true
			}
		}
		return text
	}
	for _, list := range [][]Var{r.f.Vars, r.f.Inputs} {
		for _, v := range list {
			asked[v.Name] = true
		}
	}
	for _, s := range r.start() {
		every([]Step{s}, func(s *Step) { s.mapTexts(look) })
	}
	return asked
}

func (r *renderer) value(v Var, given, values map[string]string) {
	value, ok := given[v.Name]
	if !ok && v.Default != nil {
		value, ok = *v.Default, true
	}
	values[v.Name] = value
	if value == "" && r.required(v, given) {
		r.wrong(v.Places[""], "variable %q is required: give it a value", v.Name)
		return
	}
	if err := v.check(value); err != nil {
		r.wrong(v.Places[""], "variable %q: %v", v.Name, err)
	}
}

func (r *renderer) required(v Var, given map[string]string) bool {
	if len(v.RequiredUnless) > 0 {
		return !slices.ContainsFunc(v.RequiredUnless, func(o string) bool { return given[o] != "" })
	}
	return v.Required
}

// own leaves out what the engine of convoys adds.
func (r *renderer) own(values map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range values {
		if !strings.Contains(k, ".") {
			out[k] = v
		}
	}
	return out
}

// isTold says whether a text of a step is only ever shown, and never part
// of what is run. What stands there in braces without being a variable is left for
// the agent: many formulas in the wild name so what it is to find out.
func isTold(key string) bool {
	return key == "title" || key == "description" || key == "acceptance" || key == "notes"
}

// text puts values into one text.
func (r *renderer) text(at Place, text string, values map[string]string) string {
	return r.filled(at, "", text, values)
}

func (r *renderer) filled(at Place, key, text string, values map[string]string) string {
	t, err := readTemplate(text, r.f.Type == convoy)
	if err != nil {
		r.wrong(at, "%v", err)
		return text
	}
	s, missing := t.render(func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	})
	for _, name := range missing {
		if isTold(key) {
			continue // Check warned of it
		}
		r.wrong(at, "undefined variable %q%s", name, nearest.Hint(name, slices.Sorted(maps.Keys(values))))
	}
	if len(s) > MaxBytes {
		r.wrong(at, "the text has more than %d bytes when its values are put in", MaxBytes)
	}
	return s
}

// final checks what came out.
func (r *renderer) final(f Formula) {
	if r.full || len(f.Steps) > maxSteps {
		r.wrong(f.Places.of("steps"), "the formula becomes more than %d steps", maxSteps)
		return
	}
	if len(f.Steps) == 0 && !Refused(r.problems) {
		r.warn(f.Places[""], "with these values nothing is left to do")
	}
	k := &checker{f: f}
	k.twice(idsOf(f.Steps), func(i int) Place { return f.Steps[i].Places.of("id") }, "steps")
	ids := idsOf(f.Steps)
	for _, s := range f.Steps {
		k.id(s.Places.of("id"), s.ID, "step")
		k.known(s.Places.of("needs"), fmt.Sprintf("step %q", s.ID), s.Needs, ids)
	}
	if at, cycle := findCycle(f.Steps); len(cycle) > 0 {
		k.wrong(at, "the steps wait for each other: %s", strings.Join(cycle, " → "))
	}
	r.problems = append(r.problems, k.problems...)
}
