package formula

import (
	"maps"
	"slices"
)

// every yields a step and all below it, and says whether each is in the body
// of a loop.
func every(steps []Step, visit func(s *Step)) {
	for i := range steps {
		s := &steps[i]
		visit(s)
		every(s.Children, visit)
		if s.Loop != nil {
			every(s.Loop.Body, visit)
		}
	}
}

// copySteps returns steps that share nothing that is ever written to.
func copySteps(steps []Step) []Step {
	out := slices.Clone(steps)
	for i := range out {
		out[i] = copyStep(out[i])
	}
	return out
}

func copyStep(s Step) Step {
	s.Needs, s.Env = slices.Clone(s.Needs), slices.Clone(s.Env)
	s.With, s.Values, s.ExpandVars = maps.Clone(s.With), maps.Clone(s.Values), maps.Clone(s.ExpandVars)
	s.WaitsFor.Steps = slices.Clone(s.WaitsFor.Steps)
	s.Children = copySteps(s.Children)
	if s.Run != nil {
		s.Run = &Run{s.Run.Script, slices.Clone(s.Run.Argv)}
	}
	if s.Gate != nil {
		g := *s.Gate
		s.Gate = &g
	}
	if s.Loop != nil {
		l := *s.Loop
		l.Body = copySteps(l.Body)
		s.Loop = &l
	}
	return s
}

// mapTexts changes every text of a step but its script, and those below it. A
// script is the shell's text: nothing is ever put into it.
func (s *Step) mapTexts(change func(key, text string) string) {
	for key, t := range map[string]*string{"id": &s.ID, "title": &s.Title, "description": &s.Description, "acceptance": &s.Acceptance,
		"notes": &s.Notes, "dir": &s.Dir, "uses": &s.Uses, "condition": &s.Condition} {
		*t = change(key, *t)
	}
	mapList(s.Needs, "needs", change)
	mapList(s.WaitsFor.Steps, "waits_for", change)
	mapTable(s.With, "with", change)
	mapTable(s.Values, "run", change)
	mapTable(s.ExpandVars, "expand_vars", change)
	if s.Run != nil {
		mapList(s.Run.Argv, "run", change)
	}
	if s.Gate != nil {
		for _, t := range []*string{&s.Gate.ID, &s.Gate.Condition, &s.Gate.From, &s.Gate.To, &s.Gate.Subject} {
			*t = change("gate", *t)
		}
	}
	if s.Loop != nil {
		s.Loop.Range, s.Loop.Until = change("loop", s.Loop.Range), change("loop", s.Loop.Until)
	}
}

func mapList(list []string, key string, change func(key, text string) string) {
	for i := range list {
		list[i] = change(key, list[i])
	}
}

func mapTable(m map[string]string, key string, change func(key, text string) string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		m[k] = change(key, m[k])
	}
}

// waits is all that a step itself says it comes after.
func (s Step) waits() []string { return append(slices.Clone(s.Needs), s.WaitsFor.Steps...) }

// rewire lets what waits for a step wait for others instead.
func rewire(steps []Step, id string, to []string) {
	every(steps, func(s *Step) {
		s.Needs = replaced(s.Needs, id, to)
		s.WaitsFor.Steps = replaced(s.WaitsFor.Steps, id, to)
	})
}

// replaced puts others in the place of one, each once.
func replaced(list []string, one string, others []string) []string {
	if !slices.Contains(list, one) {
		return list
	}
	var out []string
	for _, x := range list {
		for _, y := range oneOr(x, one, others) {
			if !slices.Contains(out, y) {
				out = append(out, y)
			}
		}
	}
	return out
}

func oneOr(x, one string, others []string) []string {
	if x == one {
		return others
	}
	return []string{x}
}

// ends returns the steps of a group that no other of the group waits for, and
// starts those that wait for none of it.
func ends(group []Step) (out []string) {
	for _, s := range group {
		if !slices.ContainsFunc(group, func(o Step) bool { return slices.Contains(o.waits(), s.ID) }) {
			out = append(out, s.ID)
		}
	}
	return out
}

func starts(group []Step) (out []int) {
	ids := idsOf(group)
	for i, s := range group {
		if !slices.ContainsFunc(s.waits(), func(n string) bool { return slices.Contains(ids, n) }) {
			out = append(out, i)
		}
	}
	return out
}

func idsOf(steps []Step) (out []string) {
	for _, s := range steps {
		out = append(out, s.ID)
	}
	return out
}

// union adds what is missing.
func union(list []string, more ...string) []string {
	for _, m := range more {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}
