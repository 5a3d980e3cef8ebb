package formula

import (
	"maps"
	"path"
	"slices"
	"strings"

	"custos/internal/nearest"
)

// compose expands steps, lays aspects over them, and wires what compose wires.
func (r *resolver) compose(f Formula) Formula {
	f.Steps = copySteps(f.Steps)
	c := f.Compose
	if c == nil {
		c = &Compose{}
	}
	for _, e := range c.Expand {
		r.expand(&f, e, func(s Step) bool { return s.ID == e.Target }, e.Target)
	}
	for _, e := range c.Map {
		r.expand(&f, e, func(s Step) bool { return matches(e.Select, s.ID) }, e.Select)
	}
	r.expandSteps(&f)
	for _, name := range c.Aspects {
		if a, ok := r.find(name, c.Places.of("aspects")); ok {
			r.advise(&f, a.Advice, a.Pointcuts, a.File)
			f.Vars = merge(a.Vars, f.Vars, func(v Var) string { return v.Name })
		}
	}
	if f.Type != aspect {
		r.advise(&f, f.Advice, f.Pointcuts, f.File)
		f.Advice, f.Pointcuts = nil, nil
	}
	r.wire(&f, c)
	f.Compose = nil
	return f
}

// matches is a glob over step ids.
func matches(glob, id string) bool {
	ok, err := path.Match(glob, id)
	return err == nil && ok
}

// expandSteps does what a step asks for itself by expand = "NAME". A template
// may ask again; how many formulas are read for one has an end.
func (r *resolver) expandSteps(f *Formula) {
	for {
		i := slices.IndexFunc(f.Steps, func(s Step) bool { return s.Expand != "" })
		if i < 0 {
			return
		}
		s := f.Steps[i]
		f.Steps[i].Expand = ""
		e := Expand{Target: s.ID, With: s.Expand, Vars: s.ExpandVars, Places: Places{"": s.Places.of("expand")}}
		r.expand(f, e, func(o Step) bool { return o.ID == s.ID }, s.ID)
	}
}

// expand puts the template of an expansion in the place of every step chosen.
func (r *resolver) expand(f *Formula, e Expand, chosen func(Step) bool, spoken string) {
	at := e.Places.of("with")
	if !slices.ContainsFunc(f.Steps, chosen) {
		r.problems.wrong(e.Places.of("target"), "cannot expand: there is no step %q%s", spoken, nearest.Hint(spoken, idsOf(f.Steps)))
		return
	}
	x, ok := r.find(e.With, at)
	if !ok {
		return
	}
	x = r.inherit(x, []string{x.Name})
	if len(x.Template) == 0 {
		r.problems.wrong(at, "cannot expand with %q: it has no template", e.With)
		return
	}
	values := r.templateValues(x, e)
	for _, s := range slices.Clone(f.Steps) {
		if chosen(s) && len(f.Steps) <= maxSteps {
			r.replace(f, s, fill(x.Template, aboutTarget(s, values), &r.problems))
		}
	}
}

// templateValues are the variables of an expansion: its defaults, then what
// the formula that uses it gives.
func (r *resolver) templateValues(x Formula, e Expand) map[string]string {
	values := map[string]string{}
	for _, v := range x.Vars {
		_, given := e.Vars[v.Name]
		if v.Default != nil {
			values[v.Name] = *v.Default
		} else if v.Required && !given {
			r.problems.wrong(e.Places.of("vars"), "expansion %q needs the variable %q", e.With, v.Name)
		}
	}
	maps.Copy(values, e.Vars)
	return values
}

func aboutTarget(s Step, values map[string]string) map[string]string {
	out := maps.Clone(values)
	out["target"], out["target.id"], out["target.title"], out["target.description"] = s.ID, s.ID, s.Title, s.Description
	return out
}

// fill puts values into copies of steps: into texts by {name}, and beside
// scripts as values of their environment.
func fill(steps []Step, values map[string]string, wrong *problems) []Step {
	out := copySteps(steps)
	every(out, func(s *Step) {
		s.mapTexts(func(_, text string) string { return braced(text, values) })
		if s.Run == nil {
			return
		}
		if s.Values == nil {
			s.Values = map[string]string{}
		}
		for name, v := range values {
			if changed := braces(s.Run.Script, map[string]string{name: ""}); changed != s.Run.Script {
				wrong.wrong(s.Places.of("run"), `a script may not contain {%s}: write "$%s"`, name, EnvName(name))
			}
			s.Values[name] = v
		}
	})
	return out
}

// braced is braces, and {{name}} for the same names.
func braced(text string, values map[string]string) string {
	t, err := readTemplate(text, false)
	if err != nil || len(t.names()) == 0 {
		return braces(text, values)
	}
	if slices.ContainsFunc(t, func(p piece) bool { return p.block != "" }) {
		return braces(text, values) // blocks are for Render
	}
	var b strings.Builder
	for _, p := range t {
		v, ok := values[p.name]
		switch {
		case p.name == "":
			b.WriteString(braces(p.text, values))
		case ok:
			b.WriteString(v)
		default:
			b.WriteString("{{" + p.name + "}}")
		}
	}
	return b.String()
}

// replace puts a group in the place of a step: what starts the group needs
// what the step needed, who needed the step needs what ends the group.
func (r *resolver) replace(f *Formula, s Step, group []Step) {
	last := ends(group)
	for _, i := range starts(group) {
		group[i].Needs = union(group[i].Needs, s.waits()...)
		if group[i].Gate == nil {
			group[i].Gate = s.Gate
		}
	}
	for i := range group {
		group[i].Condition = both(group[i].Condition, s.Condition)
	}
	at := slices.IndexFunc(f.Steps, func(o Step) bool { return o.ID == s.ID })
	rest := slices.Delete(f.Steps, at, at+1)
	rewire(rest, s.ID, last)
	f.Steps = slices.Insert(rest, at, group...)
}

// advise puts steps before, after and around those that the advice is about.
func (r *resolver) advise(f *Formula, advice []Advice, cuts []Cut, file string) {
	for _, a := range advice {
		about := 0
		for _, id := range idsOf(f.Steps) {
			if matches(a.Target, id) && cut(cuts, id) && len(f.Steps) <= maxSteps {
				about++
				r.around(f, id, a)
			}
		}
		if about == 0 {
			r.problems.warn(a.Places.of("target"), "advice %q of %s is about no step", a.Target, file)
		}
	}
}

func cut(cuts []Cut, id string) bool {
	return len(cuts) == 0 || slices.ContainsFunc(cuts, func(c Cut) bool { return matches(c.Glob, id) })
}

func (r *resolver) around(f *Formula, id string, a Advice) {
	var before, after []Step
	if a.Around != nil {
		before, after = a.Around.Before, a.Around.After
	}
	if a.Before != nil {
		before = append([]Step{*a.Before}, before...)
	}
	if a.After != nil {
		after = append(slices.Clone(after), *a.After)
	}
	at := slices.IndexFunc(f.Steps, func(s Step) bool { return s.ID == id })
	s := f.Steps[at]
	values := map[string]string{"step.id": s.ID, "step.title": s.Title, "step.description": s.Description}
	r.before(f, at, fill(before, values, &r.problems))
	r.after(f, id, fill(after, values, &r.problems))
}

func (r *resolver) before(f *Formula, at int, group []Step) {
	if len(group) == 0 {
		return
	}
	s := &f.Steps[at]
	for _, i := range starts(group) {
		group[i].Needs = union(group[i].Needs, s.waits()...)
	}
	s.Needs, s.WaitsFor.Steps = ends(group), nil
	f.Steps = slices.Insert(f.Steps, at, group...)
}

func (r *resolver) after(f *Formula, id string, group []Step) {
	if len(group) == 0 {
		return
	}
	rewire(f.Steps, id, ends(group))
	for _, i := range starts(group) {
		group[i].Needs = union(group[i].Needs, id)
	}
	at := slices.IndexFunc(f.Steps, func(s Step) bool { return s.ID == id })
	f.Steps = slices.Insert(f.Steps, at+1, group...)
}

// wire adds the needs of branches and the conditions of gates.
func (r *resolver) wire(f *Formula, c *Compose) {
	for _, b := range c.Branch {
		for _, id := range b.Steps {
			if s := r.step(f, id, b.Places.of("steps")); s != nil && b.From != "" {
				s.Needs = union(s.Needs, b.From)
			}
		}
		if b.Join == "" {
			continue
		}
		if s := r.step(f, b.Join, b.Places.of("join")); s != nil {
			s.Needs = union(s.Needs, b.Steps...)
		}
	}
	for _, g := range c.Gate {
		if s := r.step(f, g.Before, g.Places.of("before")); s != nil {
			s.Condition = both(s.Condition, g.Condition)
		}
	}
}

// both joins two conditions that must hold together, alternative by
// alternative: "x || y" and "z" are "x && z || y && z".
func both(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	var all []string
	for _, x := range strings.Split(a, "||") {
		for _, y := range strings.Split(b, "||") {
			all = append(all, strings.TrimSpace(x)+" && "+strings.TrimSpace(y))
		}
	}
	return strings.Join(all, " || ")
}

func (r *resolver) step(f *Formula, id string, at Place) *Step {
	i := slices.IndexFunc(f.Steps, func(s Step) bool { return s.ID == id })
	if i < 0 {
		r.problems.wrong(at, "there is no step %q%s", id, nearest.Hint(id, idsOf(f.Steps)))
		return nil
	}
	return &f.Steps[i]
}
