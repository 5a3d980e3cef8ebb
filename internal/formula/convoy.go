package formula

import (
	"path"
	"slices"
)

// start returns what is unfolded: the steps of a workflow, or those that the
// legs of a convoy or the lenses of an aspect become.
func (r *renderer) start() []Step {
	if len(r.f.Steps) > 0 || r.f.Type == workflow {
		return r.f.Steps
	}
	legs := r.chosen()
	if r.f.Type == aspect {
		legs = r.f.Aspects
	}
	var steps []Step
	for _, l := range legs {
		steps = append(steps, r.leg(l))
	}
	if s := r.f.Synthesis; s != nil {
		steps = append(steps, r.synthesis(*s, idsOf(steps)))
	}
	return steps
}

// chosen are the legs of the preset that the variable "preset" names, or all.
func (r *renderer) chosen() []Leg {
	name := r.values["preset"]
	if name == "" {
		return r.f.Legs
	}
	i := slices.IndexFunc(r.f.Presets, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		r.wrong(r.f.Places.of("presets"), "there is no preset %q", name)
		return nil
	}
	var legs []Leg
	for _, l := range r.f.Legs {
		if slices.Contains(r.f.Presets[i].Legs, l.ID) {
			legs = append(legs, l)
		}
	}
	return legs
}

// leg makes a step: what every leg is told, its focus, its own description,
// and where its findings go.
func (r *renderer) leg(l Leg) Step {
	values := r.about(l)
	text := l.Description
	if l.Focus != "" {
		text = paragraphs("Focus: "+l.Focus, text)
	}
	for _, p := range r.f.Prompts {
		if p.Name == "base" {
			text = paragraphs(p.Value, text)
		}
	}
	if to := values["output_path"]; to != "" {
		text = paragraphs(text, "Write your findings to "+to)
	}
	return Step{ID: l.ID, Title: l.Title, Description: putDotted(text, values), Needs: l.Needs, Places: l.Places}
}

func (r *renderer) synthesis(l Leg, legs []string) Step {
	values := r.about(l)
	text := l.Description
	if o := r.f.Output; o != nil && o.Synthesis != "" {
		text = paragraphs(text, "Write the synthesis to "+path.Join(o.Directory, o.Synthesis))
	}
	s := Step{ID: "synthesis", Title: l.Title, Description: putDotted(text, values), Places: l.Places}
	for _, id := range l.Needs {
		if slices.Contains(legs, id) || len(r.f.Presets) == 0 {
			s.Needs = append(s.Needs, id)
		}
	}
	if len(l.Needs) == 0 {
		s.Needs = legs
	}
	return s
}

// about are the names that a convoy's engine defines for one leg.
func (r *renderer) about(l Leg) map[string]string {
	v := map[string]string{"leg.id": l.ID, "leg.title": l.Title, "leg.focus": l.Focus, "leg.description": l.Description,
		"name": r.f.Name, "formula": r.f.Name, "formula_name": r.f.Name}
	if o := r.f.Output; o != nil {
		v["output.directory"], v["output.leg_pattern"], v["output.synthesis"] = o.Directory, putDotted(o.LegPattern, v), o.Synthesis
		if o.LegPattern != "" {
			v["output_path"] = path.Join(o.Directory, v["output.leg_pattern"])
		}
	}
	return v
}

// putDotted puts in what is known of the leg; the rest is for the values.
func putDotted(text string, values map[string]string) string {
	return tagRE.ReplaceAllStringFunc(text, func(tag string) string {
		m := tagRE.FindStringSubmatch(tag)
		if tag[0] == '$' || !nameRE.MatchString(m[2]) {
			return tag
		}
		name := m[2]
		if name[0] == '.' {
			name = name[1:]
		}
		if v, ok := values[name]; ok {
			return v
		}
		return tag
	})
}
