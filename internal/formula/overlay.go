package formula

import (
	"reflect"
	"slices"

	"custos/internal/nearest"
)

// overlay is what a project lays over a formula: changed steps, other defaults,
// more context.
type overlay struct {
	StepOverrides []stepOverride `toml:"step-overrides|step_overrides"`
	Vars          []Var          `toml:"vars"`
	Context       Context        `toml:"context"`
	Places        Places         `json:"-"`
}

// stepOverride changes one step: replace its description, append to it, or
// skip the step.
type stepOverride struct {
	StepID      string `toml:"step_id"`
	Mode        string `toml:"mode"`
	Description string `toml:"description"`
	Places      Places `json:"-"`
}

// overlay applies "NAME.overlay", when there is one. A step that is not there
// any more is a warning: formulas change under the overlays of projects.
func (r *resolver) overlay(f Formula) Formula {
	text, file, ok := r.lookup(f.Name + ".overlay")
	if !ok {
		return f
	}
	var o overlay
	in := open(file, text, &o.Places)
	if in.doc != nil {
		in.table(reflect.ValueOf(&o).Elem(), in.doc, nil)
	}
	r.problems = append(r.problems, in.problems...)
	for _, c := range o.StepOverrides {
		r.override(&f, c)
	}
	f.Vars = merge(f.Vars, o.Vars, func(v Var) string { return v.Name })
	f.Context.Files = union(slices.Clone(f.Context.Files), o.Context.Files...)
	f.Context.Run = union(slices.Clone(f.Context.Run), o.Context.Run...)
	return f
}

func (r *resolver) override(f *Formula, c stepOverride) {
	i := slices.IndexFunc(f.Steps, func(s Step) bool { return s.ID == c.StepID })
	if i < 0 {
		r.problems.warn(c.Places.of("step_id"), "the overlay is about step %q, which is not there%s", c.StepID, nearest.Hint(c.StepID, idsOf(f.Steps)))
		return
	}
	s := &f.Steps[i]
	switch c.Mode {
	case "replace":
		s.Description = c.Description
	case "append":
		s.Description += "\n\n" + c.Description
	case "skip":
		needs := s.waits()
		rest := slices.Delete(f.Steps, i, i+1)
		rewire(rest, c.StepID, needs)
		f.Steps = rest
	default:
		r.problems.wrong(c.Places.of("mode"), "mode %q of an overlay: want replace, append or skip%s", c.Mode, nearest.Hint(c.Mode, []string{"replace", "append", "skip"}))
	}
}
